#include "advice/program_advice.h"

#include <algorithm>

#include "advice/estimators.h"
#include "advice/kernel_view.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Of the device's time; less is not worth advice on the program.
constexpr double kLeastShare = 0.08;
/// Kernels that run shorter than this are dominated by their launch.
constexpr double kShortKernel = 20e-6;
/// Runs that occupy the device for less say nothing about a program's habits.
constexpr double kLeastSpan = 1e-3;
/// Between two kernels of a graph at most this much time goes by: string_waves of benchmarks/advice
/// on an H200.
constexpr double kGapInGraph = 0.1e-6;
/// Recording makes a launch this many times as long (docs/performance.md, tiny launches: the
/// median, and the extremes of all that was measured).
constexpr double kRecordingFactor = 1.9, kLeastRecordingFactor = 1.5, kMostRecordingFactor = 2.1;

std::string subject_of(const Profile& profile) {
  std::string command = profile.run.command;
  return command.empty() ? "the program" : "the program: " + command;
}

/// The line of a "<gpu kernel>" or "<gpu copy>" context's caller that took most of a metric.
SourceLocation heaviest_caller(const Profile& profile, const std::string& metric) {
  uint32_t wanted = kNoId;
  for (uint32_t m = 0; m < profile.metrics.size(); ++m)
    if (profile.metrics[m].name == metric) wanted = m;
  std::map<SourceLocation, double> callers;
  for (const MetricValue& value : profile.values) {
    if (value.metric != wanted || value.exclusive <= 0) continue;
    for (uint32_t c = value.context; c != kNoId; c = profile.contexts[c].parent) {
      const Context& context = profile.contexts[c];
      bool is_host = context.kind == ContextKind::cpu_function ||
                     context.kind == ContextKind::cpu_inlined ||
                     context.kind == ContextKind::cpu_line;
      if (!is_host || context.at.line == 0 || is_launch_glue(context, "")) continue;
      callers[context.at] += value.exclusive;
      break;
    }
  }
  SourceLocation best;
  double most = 0;
  for (const auto& [at, amount] : callers)
    if (amount > most) best = at, most = amount;
  return best;
}

/// `speedup` is that of `seconds` of the device's time.
Finding finding_of(const Profile& profile, const GpuTimeline& timeline, std::string kind,
                   const SpeedupRange& speedup, double seconds) {
  Finding finding;
  finding.kind = std::move(kind);
  finding.subject = subject_of(profile);
  finding.speedup = speedup;
  if (profile.run.wall_seconds > 0)
    finding.program_speedup = of_whole(speedup, std::min(1.0, seconds / profile.run.wall_seconds));
  finding.evidence = {
      {"time from the first to the last GPU operation", timeline.span, "s"},
      {"a kernel runs", timeline.kernels / timeline.span, "fraction"},
      {"only copies run", timeline.copies / timeline.span, "fraction"},
      {"idle beside copies", timeline.copy_gaps / timeline.span, "fraction"},
      {"short gaps before kernels", timeline.short_gaps / timeline.span, "fraction"},
      {"long gaps", timeline.long_gaps / timeline.span, "fraction"}};
  return finding;
}

/// How many times as fast all of the device's work is if so many seconds of it go away.
SpeedupRange saved(const GpuTimeline& timeline, double low, double mid, double high) {
  auto gain = [&](double seconds) {
    return timeline.span / std::max(0.02 * timeline.span, timeline.span - seconds);
  };
  return {gain(low), gain(mid), gain(high)};
}

void add_launches(const Profile& profile, const GpuTimeline& timeline,
                  std::vector<Finding>& findings) {
  if (timeline.launches < 100 || timeline.gaps < timeline.launches / 2) return;
  double each = timeline.kernels / double(timeline.launches);
  if (each > kShortKernel || timeline.short_gaps < kLeastShare * timeline.span) return;
  // Without recording the gaps are shorter, and so is the whole.
  auto plain = [&](double factor) {
    GpuTimeline result = timeline;
    result.short_gaps = timeline.short_gaps / factor;
    result.span = timeline.span - timeline.short_gaps + result.short_gaps;
    return result;
  };
  // A graph changes the sequences of launches; what lies between them stays as it is.
  auto faster = [&](double factor, double left) {
    double gaps = timeline.short_gaps / factor;
    double then = timeline.kernels + std::min(gaps, left * double(timeline.gaps) * kGapInGraph);
    return (timeline.kernels + gaps) / then;
  };
  const GpuTimeline usual = plain(kRecordingFactor);
  SpeedupRange speedup{faster(kMostRecordingFactor, 3), faster(kRecordingFactor, 1),
                       faster(kLeastRecordingFactor, 0)};
  Finding finding =
      finding_of(profile, usual, "launch-overhead", speedup, timeline.kernels + usual.short_gaps);
  finding.fix = "cuda-graph";
  finding.location = heaviest_caller(profile, "GKER");
  finding.evidence.push_back({"kernels", double(timeline.launches), "launches"});
  finding.evidence.push_back({"mean time of a kernel", each, "s"});
  finding.title = "Many kernels that are shorter than their launch";
  finding.text = format(
      "%llu kernels run for %s on average, and the device is idle for %.0f%% of the time in short "
      "gaps between them, waiting for the next launch.",
      (unsigned long long)timeline.launches, human_seconds(each).c_str(),
      100 * timeline.short_gaps / timeline.span);
  finding.suggestions = {
      "capture the sequence of launches once into a CUDA graph and launch that",
      "fuse kernels that follow each other into one, or let one kernel loop over the steps",
      "let one launch handle several items (a batch)", "do not synchronize after each launch"};
  finding.assumptions = {"the sequence of kernels is the same each time",
                         format("recording makes the gaps %.1f times as long", kRecordingFactor)};
  findings.push_back(std::move(finding));
}

void add_copies(const Profile& profile, const GpuTimeline& timeline,
                std::vector<Finding>& findings) {
  double cost = timeline.copies + timeline.copy_gaps;
  if (cost < kLeastShare * timeline.span || timeline.copy_count == 0) return;
  Finding finding = finding_of(profile, timeline, "host-copies",
                               saved(timeline, 0.6 * cost, 0.95 * cost, cost), timeline.span);
  finding.fix = "keep-on-device";
  finding.location = heaviest_caller(profile, "GXCOPY");
  double rate = double(timeline.copied_bytes) / std::max(1e-9, timeline.copies);
  finding.evidence.push_back(
      {"bytes copied between host and device", double(timeline.copied_bytes), "bytes"});
  finding.evidence.push_back({"rate of the copies", rate, "bytes/s"});
  finding.title = "The device waits for copies between host and device";
  finding.text = format(
      "For %.0f%% of the time the device only copies, or waits before and after a copy: %s in %llu "
      "copies at %s/s, while no kernel runs.",
      100 * cost / timeline.span, human_bytes(double(timeline.copied_bytes)).c_str(),
      (unsigned long long)timeline.copy_count, human_bytes(rate).c_str());
  finding.suggestions = {
      "keep the data on the device between kernels; copy only what the host reads",
      "use pinned host memory (cudaMallocHost, cudaHostRegister): pageable copies are slower and "
      "cannot overlap",
      "overlap copies with kernels: cudaMemcpyAsync in a second stream, with double buffers",
      "copy larger pieces at once"};
  finding.assumptions = {"the copies can be left out or hidden behind kernels"};
  findings.push_back(std::move(finding));
}

void add_gaps(const Profile& profile, const GpuTimeline& timeline, std::vector<Finding>& findings) {
  if (timeline.long_gaps < 2 * kLeastShare * timeline.span) return;
  Finding finding = finding_of(
      profile, timeline, "host-gaps",
      saved(timeline, 0.2 * timeline.long_gaps, 0.7 * timeline.long_gaps, timeline.long_gaps),
      timeline.span);
  finding.location = heaviest_caller(profile, "GKER");
  finding.title = "The device waits for the host";
  finding.text = format(
      "For %.0f%% of the time between its first and its last operation the device has nothing to "
      "do: the host computes, allocates, reads files or synchronizes.",
      100 * timeline.long_gaps / timeline.span);
  finding.suggestions = {
      "launch the next kernels before working on the results of the last ones",
      "move the host's work to the device, or to other threads",
      "allocate once before the loop (cudaMalloc and cudaFree synchronize), or use "
      "cudaMallocAsync",
      "wait for events rather than for the whole device"};
  finding.assumptions = {"the host's work can be done beside the device's"};
  findings.push_back(std::move(finding));
}

}  // namespace

std::vector<Finding> advise_program(const Attribution& attribution) {
  std::vector<Finding> findings;
  const GpuTimeline& timeline = attribution.timeline;
  if (timeline.span < kLeastSpan) return findings;
  add_launches(attribution.profile, timeline, findings);
  add_copies(attribution.profile, timeline, findings);
  add_gaps(attribution.profile, timeline, findings);
  return findings;
}

}  // namespace fathom
