#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "views/advice.h"
#include "views/finding_kinds.h"
#include "views/lookups.h"

namespace fathom {
namespace {

constexpr size_t kIndent = 5;
constexpr size_t kLabelWidth = 11;
constexpr uint32_t kNeighbours = 2;

/// More digits where two would hide the gain.
std::string times(double speedup) {
  if (speedup > 1 && speedup < 1.0005) return "<1.001x";
  return format(std::fabs(speedup - 1) < 0.01 ? "%.3fx" : "%.2fx", speedup);
}

/// "1.31x (1.18x to 1.45x)"
std::string range_text(const SpeedupRange& range) {
  if (times(range.low) == times(range.high)) return times(range.mid);
  return times(range.mid) + " (" + times(range.low) + " to " + times(range.high) + ")";
}

std::string speedup_text(const Finding& finding, bool is_kernel) {
  std::string text;
  if (finding.speedup)
    text = range_text(*finding.speedup) + (is_kernel ? " for the kernel" : " for this part");
  if (finding.program_speedup) {
    if (!text.empty()) text += ", ";
    text += (finding.speedup ? times(finding.program_speedup->mid)
                             : range_text(*finding.program_speedup)) +
            " for the program";
  }
  return text;
}

/// "1,747 samples", "31.2%"; a unit that the name tells already is not repeated.
std::string evidence_text(const Evidence& evidence) {
  double value = evidence.value;
  const std::string& unit = evidence.unit;
  if (unit == "fraction") return human_percent(value);
  if (unit == "s") return human_seconds(value);
  if (unit == "bytes") return human_bytes(value);
  bool whole = value >= 0 && value < 1e15 && (value >= 1000 || value == std::floor(value));
  std::string number = whole ? human_count(uint64_t(std::llround(value))) : format("%.4g", value);
  if (unit.empty() || evidence.name.find(unit) != std::string::npos) return number;
  bool singular = value == 1 && ends_with(unit, "s");
  return number + " " + printable(singular ? unit.substr(0, unit.size() - 1) : unit);
}

class AdvicePrinter {
 public:
  AdvicePrinter(const Profile& profile, const Advice& advice, const Style& style)
      : profile_(profile), advice_(advice), style_(style), places_(profile) {}

  std::string print() {
    number_findings();
    text_ = paint(style_, Paint::strong, "Advice for " + printable(profile_.run.command)) + "\n";
    basis();
    if (numbered_.empty()) {
      nothing_found();
    } else {
      summary();
      for (const AdviceGroup& group : advice_.groups) print_group(group);
      closing();
    }
    return std::move(text_);
  }

 private:
  struct Numbered {
    const Finding* finding;
    size_t number;
  };

  void number_findings() {
    for (const AdviceGroup& group : advice_.groups)
      for (const Finding* finding : group.findings)
        numbered_.push_back({finding, numbered_.size() + 1});
  }

  /// What the advice rests on, and what was wrong with it.
  void basis() {
    for (const NumaFacts& numa : profile_.numa)
      text_ += paint(style_, Paint::dim,
                     "  memory accesses of " + counted(numa.threads, "thread", "threads") + " to " +
                         counted(numa.objects.size(), "object", "objects") +
                         "; gains for the topology " + printable(numa.topology)) +
               "\n";
    if (is_about_gpu(profile_)) basis_of_gpu();
    for (const Warning& warning : profile_.warnings)
      if (warning.severity != WarningSeverity::note)
        text_ += paragraph("  " + paint(style_, Paint::bad, "!") + " ", printable(warning.what), 4,
                           style_.width);
  }

  void basis_of_gpu() {
    const RunFacts& run = profile_.run;
    std::string text = counted(run.samples_attributed, "sample", "samples") + " in " +
                       counted(profile_.kernels.size(), "kernel", "kernels");
    if (!profile_.devices.empty()) text += ", on " + printable(profile_.devices[0].name);
    text_ += paint(style_, Paint::dim, "  " + text) + "\n";
  }

  void nothing_found() {
    const char* why = "Nothing to advise here: no known pattern of lost time is large enough.";
    if (!is_about_gpu(profile_))
      why = profile_.numa.empty() ? "Nothing to advise: no memory access was recorded."
                                  : "Nothing to advise: no score of remote accesses, shared lines, "
                                    "waits or uneven work "
                                    "is above its threshold and worth a change.";
    else if (profile_.run.samples_attributed == 0)
      why =
          "Nothing to advise: no instruction was sampled. Record with `-e gpu=cuda,pc` to see "
          "inside "
          "the kernels.";
    text_ += "\n" + paragraph("  ", why, 2, style_.width);
    omitted();
  }

  void omitted() {
    if (advice_.too_small)
      text_ += "\n" + paragraph("  ",
                                counted(advice_.too_small, "finding", "findings") +
                                    " below --min-speedup or without a number left out.",
                                2, style_.width);
  }

  /// The three changes that would help the program most.
  void summary() {
    std::vector<Numbered> best = numbered_;
    std::erase_if(best, [](const Numbered& n) { return !n.finding->program_speedup; });
    std::stable_sort(best.begin(), best.end(), [](const Numbered& a, const Numbered& b) {
      return a.finding->program_speedup->mid > b.finding->program_speedup->mid;
    });
    if (best.size() > 3) best.resize(3);
    if (best.empty()) return;
    text_ +=
        heading(style_, best.size() == 1 ? "The most valuable change" : "The most valuable changes",
                "estimated speedups");
    size_t room = style_.width > 74 ? style_.width - 54 : 22, widest = 0;
    for (const Numbered& n : best) widest = std::max(widest, columns(printable(n.finding->title)));
    widest = std::min(widest, room);
    const char* header = is_about_gpu(profile_) ? "  program   kernel" : "  program     part";
    text_ += paint(style_, Paint::dim, header) + "\n";
    for (const Numbered& n : best) {
      std::string place = places_.show(n.finding->location);
      if (place.empty()) place = show_function(n.finding->subject);
      std::string own = n.finding->speedup ? times(n.finding->speedup->mid) : "";
      std::string title = pad_right(shorten_end(printable(n.finding->title), room), widest);
      text_ += paint(style_, Paint::good, pad_left(times(n.finding->program_speedup->mid), 9)) +
               pad_left(own, 9) + format("  %2zu  ", n.number) + title + "  " +
               paint(style_, Paint::accent, shorten_middle(place, 28)) + "\n";
    }
  }

  void print_group(const AdviceGroup& group) {
    std::string remark;
    if (group.kernel)
      remark =
          format("%s of the time in kernels: %s in %s", human_percent(group.kernel->share).c_str(),
                 human_seconds(group.kernel->seconds).c_str(),
                 counted(group.kernel->launches, "launch", "launches").c_str());
    std::string subject = group.kernel ? show_function(group.subject) : printable(group.subject);
    subject =
        shorten_middle(subject, style_.width - std::min(style_.width - 20, columns(remark) + 2));
    text_ += heading(style_, subject, remark);
    text_.pop_back();
    text_ += paint(style_, Paint::dim, rule()) + "\n";
    for (const Finding* finding : group.findings) print_finding(*finding, group.kernel != nullptr);
    if (group.left_out)
      text_ += format("\n  … and %zu more for it; --top 0 shows all\n", group.left_out);
  }

  std::string rule() const {
    std::string line;
    for (size_t i = 0; i < style_.width; ++i) line += "─";
    return line;
  }

  void print_finding(const Finding& finding, bool is_kernel) {
    ++number_;
    std::string lead = pad_left(std::to_string(number_), 3) + "  ";
    std::string title = paint(style_, Paint::strong, printable(finding.title));
    text_ += "\n" + paragraph(lead, title, kIndent, style_.width);
    gain(finding, is_kernel);
    where(finding);
    field("Why", printable(finding.text));
    std::vector<std::string> numbers;
    for (const Evidence& evidence : finding.evidence)
      numbers.push_back(printable(evidence.name) + ": " + evidence_text(evidence));
    list("Numbers", numbers, false);
    list("Change", finding.suggestions, true);
    related(finding);
    list("Assuming", finding.assumptions, false);
  }

  void gain(const Finding& finding, bool is_kernel) {
    std::string kind = printable(finding.kind);
    if (!finding.fix.empty()) kind += ", " + printable(finding.fix);
    std::string text = speedup_text(finding, is_kernel);
    double mid = finding.speedup           ? finding.speedup->mid
                 : finding.program_speedup ? finding.program_speedup->mid
                                           : 1;
    if (text.empty())
      field("Speedup",
            "not estimated: the measurement shows the waiting, but not how much of it the change "
            "would remove");
    else
      field("Speedup", paint(style_, mid < 1 ? Paint::bad : Paint::good, text));
    field("Kind", paint(style_, Paint::dim, kind));
  }

  void where(const Finding& finding) {
    std::string place = places_.show_full(finding.location);
    if (place.empty()) return;
    field("Where", paint(style_, Paint::accent, place));
    const SourceText* source = find_source(profile_, finding.location.file);
    uint32_t line = finding.location.line;
    if (!source || !source->lines.count(line)) return;
    uint32_t first = line > kNeighbours ? line - kNeighbours : 1;
    for (auto at = source->lines.lower_bound(first);
         at != source->lines.end() && at->first <= uint64_t{line} + kNeighbours; ++at) {
      bool is_it = at->first == line;
      std::string quoted =
          shorten_end(printable(at->second), style_.width - kIndent - kLabelWidth - 10);
      text_ += std::string(kIndent + kLabelWidth, ' ') + (is_it ? "> " : "  ") +
               paint(style_, Paint::dim, pad_left(std::to_string(at->first), 5) + " │ ") +
               (is_it ? paint(style_, Paint::strong, quoted) : quoted) + "\n";
    }
  }

  void related(const Finding& finding) {
    bool first = true;
    size_t role_width = 0;
    for (const RelatedLocation& r : finding.related)
      role_width = std::max(role_width, columns(r.role));
    role_width = std::min<size_t>(role_width, 24);
    for (const RelatedLocation& r : finding.related) {
      std::string place = places_.show(r.at);
      std::string lead = label(first ? "Places" : "") + pad_right(printable(r.role), role_width) +
                         "  " + paint(style_, Paint::accent, pad_right(place, 20)) + "  ";
      text_ += paragraph(lead, printable(r.what), columns(lead), style_.width);
      first = false;
    }
  }

  std::string label(std::string_view name) const {
    return std::string(kIndent, ' ') +
           paint(style_, Paint::dim, pad_right(std::string(name), kLabelWidth));
  }
  void field(std::string_view name, const std::string& text) {
    if (!text.empty()) text_ += paragraph(label(name), text, kIndent + kLabelWidth, style_.width);
  }
  void list(std::string_view name, const std::vector<std::string>& items, bool numbered) {
    for (size_t i = 0; i < items.size(); ++i) {
      std::string bullet = numbered ? format("%zu. ", i + 1) : "· ";
      text_ += paragraph(label(i ? "" : name) + bullet, printable(items[i]),
                         kIndent + kLabelWidth + columns(bullet), style_.width);
    }
  }

  void closing() {
    omitted();
    std::string note =
        "A speedup of 1.25x means that the same work takes 1/1.25 of the time. Each estimate is "
        "for one change alone: gains of several changes overlap and do not multiply. ";
    note += is_about_gpu(profile_)
                ? "Ranges show the error of sampling (95%) and that of the model. "
                : "Ranges show how far the assumptions may be off. ";
    if (is_about_gpu(profile_) && !profile_.numa.empty())
      note += "For memory and threads of the CPU they show how far the assumptions may be off. ";
    note += "Change one thing, then measure again.";
    if (profile_.run.sampling_period_log2 && !profile_.run.sampling_serialized)
      note +=
          " Samples of a function that was launched from several places are shared among these by "
          "kernel time.";
    text_ += "\n" + paint(style_, Paint::dim, paragraph("", note, 0, style_.width));
  }

  const Profile& profile_;
  const Advice& advice_;
  Style style_;
  Places places_;
  std::vector<Numbered> numbered_;
  size_t number_ = 0;
  std::string text_;
};

}  // namespace

Result<std::string> advice_text(const Profile& profile, const AdviceOptions& options) {
  Result<Advice> advice = choose_advice(profile, options);
  if (!advice) return advice.error();
  return without_trailing_spaces(AdvicePrinter(profile, *advice, options.style).print());
}

}  // namespace fathom
