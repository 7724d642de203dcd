// The hottest source lines and instructions.

#include <algorithm>

#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

constexpr size_t kBarWidth = 12;
constexpr size_t kIndent = 2 + 6 + 2 + kBarWidth + 2;
constexpr size_t kMostCauses = 3;
constexpr double kLeastCause = 0.01;  ///< of the line's samples

double fraction(uint64_t part, uint64_t whole) {
  return whole ? double(part) / double(whole) : 0;
}

/// "67.3% of its samples: waiting for ..."
std::string mostly(const StallCounts& samples) {
  std::optional<StallReason> reason = main_stall(samples);
  uint64_t issued = samples.issued(), total = samples.total();
  if (!reason || samples.all[size_t(*reason)] < issued)
    return human_percent(fraction(issued, total)) + " of its samples: at work";
  return human_percent(fraction(samples.all[size_t(*reason)], total)) +
         " of its samples: " + std::string(explain(*reason));
}

/// What a producer of each class made the line wait for.
std::string cause_text(StallClass kind) {
  switch (kind) {
    case StallClass::global_memory:
      return "a value from global memory";
    case StallClass::local_memory:
      return "a spilled register or a local array";
    case StallClass::constant_memory:
      return "a constant";
    case StallClass::shared_memory:
      return "a value from shared memory";
    case StallClass::write_after_read:
      return "a register that is still being read";
    case StallClass::arithmetic:
      return "the result of a computation";
    case StallClass::synchronization:
      return "other warps";
    case StallClass::instruction_fetch:
      return "the instructions themselves";
    case StallClass::throttle:
      return "room in a queue";
    case StallClass::other:
      return "something else";
  }
  return "";
}

std::string causes_text(const Places& places, const HotLine& line, const Style& style) {
  std::string text;
  double total = double(line.samples.total());
  for (size_t i = 0; i < line.causes.size() && i < kMostCauses; ++i) {
    const LineCause& cause = line.causes[i];
    if (cause.stalls < kLeastCause * total) break;
    std::string place = cause.at == line.at ? "here" : places.show(cause.at);
    text += std::string(kIndent, ' ') + pad_right(i ? "" : "waits for", 11) +
            pad_left(human_percent(cause.stalls / total), 6) + "  " +
            pad_right(cause_text(cause.kind), 37) +
            shorten_middle(place, style.width - kIndent - 11 - 8 - 37) + "\n";
  }
  return paint(style, Paint::dim, text);
}

std::string function_text(const Profile& profile, const HotLine& line) {
  if (line.function == kNoId) return "";
  std::string function = shorten_middle(show_function(profile.functions[line.function].name), 40);
  if (line.inlined.empty()) return "  in " + function;
  return "  in " + shorten_middle(show_function(line.inlined), 30) + ", inlined into " + function;
}

std::string line_text(const Profile& profile, const Places& places, const HotLine& line,
                      uint64_t all, const Style& style) {
  double share = fraction(line.samples.total(), all);
  std::string place = places.show(line.at);
  if (place.empty()) place = "no source line known";
  std::string text = "  " + pad_left(human_percent(share), 6) + "  " +
                     pad_right(bar(share, kBarWidth), kBarWidth) + "  " +
                     paint(style, Paint::accent, place) + function_text(profile, line) + "\n";
  std::string source = source_text(profile, line.at);
  if (!source.empty())
    text += std::string(kIndent, ' ') +
            paint(style, Paint::strong, shorten_end(source, style.width - kIndent)) + "\n";
  text += paragraph(std::string(kIndent, ' '), mostly(line.samples), kIndent, style.width);
  return text + causes_text(places, line, style) + "\n";
}

/// How many lines are worth printing: the hottest ones, at least one.
size_t count_shown(const std::vector<HotLine>& lines, uint64_t all, const ReportOptions& options) {
  size_t shown = options.top ? std::min(options.top, lines.size()) : lines.size();
  while (shown > 1 && fraction(lines[shown - 1].samples.total(), all) < options.threshold) --shown;
  return shown;
}

}  // namespace

std::string lines_section(const Profile& profile, const Scope& scope,
                          const ReportOptions& options) {
  std::vector<HotLine> lines = hot_lines(profile, scope.instructions);
  Places places(profile);
  size_t shown = count_shown(lines, scope.samples, options);
  std::string text = heading(options.style, "Hottest source lines of " + scope.title,
                             "shares of " + counted(scope.samples, "sample", "samples"));
  for (size_t i = 0; i < shown; ++i)
    text += line_text(profile, places, lines[i], scope.samples, options.style);
  if (shown == lines.size()) {
    text.pop_back();
    return text;
  }
  uint64_t rest = 0;
  for (size_t i = shown; i < lines.size(); ++i) rest += lines[i].samples.total();
  return text + paint(options.style, Paint::dim,
                      format("  … and %s with %s of the samples; --top 0 --threshold 0 lists all\n",
                             counted(lines.size() - shown, "more line", "more lines").c_str(),
                             human_percent(fraction(rest, scope.samples)).c_str()));
}

std::string instructions_section(const Profile& profile, const Scope& scope,
                                 const ReportOptions& options) {
  Places places(profile);
  std::vector<uint32_t> hottest = scope.instructions;
  auto samples_of = [&](uint32_t i) { return profile.instructions[i].samples.total(); };
  std::stable_sort(hottest.begin(), hottest.end(),
                   [&](uint32_t a, uint32_t b) { return samples_of(a) > samples_of(b); });
  if (options.top && hottest.size() > options.top) hottest.resize(options.top);
  std::string text = heading(options.style, "Hottest instructions of " + scope.title,
                             "exposed: nothing else ran meanwhile");
  text += paint(options.style, Paint::dim,
                "   share  samples  exposed    offset  instruction                             "
                "source line") +
          "\n";
  for (uint32_t id : hottest) {
    const InstructionFacts& i = profile.instructions[id];
    uint64_t total = i.samples.total();
    if (total == 0) break;
    std::optional<StallReason> reason = main_stall(i.samples);
    text += "  " + pad_left(human_percent(fraction(total, scope.samples)), 6) +
            pad_left(human_count(total), 9) + pad_left(human_count(i.samples.total_latency()), 9) +
            pad_left(format("0x%llx", (unsigned long long)i.offset), 10) + "  " +
            pad_right(shorten_end(printable(i.text), 38), 38) + "  " +
            paint(options.style, Paint::accent,
                  shorten_middle(
                      places.show(i.at),
                      options.style.width - std::min<size_t>(options.style.width - 20, 78))) +
            "\n";
    if (reason && i.samples.all[size_t(*reason)] >= i.samples.issued())
      text += paint(options.style, Paint::dim,
                    paragraph(std::string(38, ' '), explain(*reason), 38, options.style.width));
  }
  return text;
}

}  // namespace fathom
