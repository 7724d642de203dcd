#include "views/advice.h"

#include <algorithm>
#include <map>

#include "views/lookups.h"

namespace fathom {
namespace {

bool is_large_enough(const Finding& finding, double min_speedup) {
  if (min_speedup <= 1) return true;
  const std::optional<SpeedupRange>& gain =
      finding.speedup ? finding.speedup : finding.program_speedup;
  return gain && gain->mid >= min_speedup;
}

}  // namespace

Result<Advice> choose_advice(const Profile& profile, const AdviceOptions& options) {
  Advice advice;
  // Kernels keep the profile's order (longest first), whatever order the findings have.
  for (const KernelSummary& kernel : profile.kernels) {
    auto same = [&](const AdviceGroup& g) { return g.subject == kernel.name; };
    if (std::none_of(advice.groups.begin(), advice.groups.end(), same))
      advice.groups.push_back({kernel.name, &kernel, {}, 0});
  }
  std::map<std::string, size_t> group_of;
  for (size_t i = 0; i < advice.groups.size(); ++i) group_of[advice.groups[i].subject] = i;
  bool any_subject = !find_kernels(profile, options.kernel).empty();
  for (const Finding& finding : profile.findings) {
    if (finding.subject.find(options.kernel) == std::string::npos) continue;
    any_subject = true;
    if (!is_large_enough(finding, options.min_speedup)) {
      ++advice.too_small;
      continue;
    }
    auto [entry, is_new] = group_of.try_emplace(finding.subject, advice.groups.size());
    if (is_new) advice.groups.push_back({finding.subject, nullptr, {}, 0});
    AdviceGroup& group = advice.groups[entry->second];
    if (options.top && group.findings.size() >= options.top)
      ++group.left_out;
    else
      group.findings.push_back(&finding);
  }
  if (!options.kernel.empty() && !any_subject) return no_such_kernel(profile, options.kernel);
  std::erase_if(advice.groups, [](const AdviceGroup& g) { return g.findings.empty(); });
  return advice;
}

}  // namespace fathom
