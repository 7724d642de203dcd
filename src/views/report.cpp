#include "views/report.h"

#include <algorithm>

#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

std::string without_samples(const Profile& profile, const Style& style) {
  if (profile.kernels.empty()) return "";
  const char* text =
      profile.run.sampling_period_log2 == 0
          ? "No instructions were sampled, so nothing can be said about what happens inside the "
            "kernels. Record with `-e gpu=cuda,pc` to find out."
          : "Sampling was on, but no sample fell on an instruction here. Kernels may be too short "
            "for "
            "the sampling period: record with a smaller one, such as `-e gpu=cuda,pc@10`.";
  return heading(style, "Inside the kernels") + paragraph("  ", text, 2, style.width);
}

std::string next_steps(const Scope& scope, bool has_findings, const Style& style) {
  if (!scope.whole || (scope.kernels.empty() && !has_findings)) return "";
  if (scope.kernels.empty())
    return heading(style, "Next") + "  fathom advise FILE    what to change, and what it brings\n";
  // Up to the template arguments: shells take "<" for themselves.
  std::string name = short_name(scope.kernels[0]->name);
  std::string detail = "fathom report FILE --kernel " +
                       printable(name.substr(0, std::min<size_t>(name.find('<'), 30))) +
                       " --instructions";
  size_t width = columns(detail) + 4;
  return heading(style, "Next") + "  " + pad_right("fathom advise FILE", width) +
         "what to change, and what it brings\n  " + pad_right(detail, width) +
         "the slowest kernel in detail\n";
}

}  // namespace

Result<std::string> report_text(const Profile& profile, const ReportOptions& options) {
  Result<Scope> scope = find_scope(profile, options.kernel, options.loop, options.line);
  if (!scope) return scope.error();
  std::string text = run_section(profile, options.style) + warnings_section(profile, options.style);
  if (scope->whole) {
    if (is_about_gpu(profile)) {
      text += operations_section(profile, options.style);
      text += kernels_section(profile, options);
      text += contexts_section(profile, options);
    }
    text += numa_section(profile, options);
  } else if (!options.kernel.empty()) {
    for (const KernelSummary* kernel : scope->kernels)
      text += kernel_section(profile, *kernel, options.style);
  }
  if (scope->topdown.inclusive()[TopDown::cycles] > 0)
    text += topdown_section(profile, *scope, options.style);
  if (scope->samples == 0) {
    text += without_samples(profile, options.style);
  } else {
    text += lines_section(profile, *scope, options);
    if (options.instructions) text += instructions_section(profile, *scope, options);
  }
  return without_trailing_spaces(text +
                                 next_steps(*scope, !profile.findings.empty(), options.style));
}

}  // namespace fathom
