#include "prediction/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"

namespace fathom {
namespace {

constexpr double kNotableLine = 0.1;   // of the measured time: a line worth a sentence
constexpr size_t kMostLines = 3;       // that are told
constexpr double kUneven = 1.5;        // slowest launch / fastest one
constexpr double kShort = 5;           // microseconds: what starts and ends a kernel counts
constexpr double kNotableShare = 0.5;  // of the launches
constexpr double kClockStep = 0.03;    // a different clock, not a rounded one
constexpr uint32_t kRegisterUnit = 8;  // the driver tells what it gives: rounded up
constexpr double kFewSamples = 100;    // below, shares of lines are chance

std::string place(const SourceLocation& at) {
  if (at.line == 0) return "code without a line";
  return at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line);
}

std::string time_text(double us) {
  return human_seconds(us / 1e6);
}

/// What most samples of a line wait for; empty if it is busy issuing.
std::string wait_of(const StallCounts& samples) {
  const auto most = std::max_element(samples.all.begin(), samples.all.end());
  const auto reason = static_cast<StallReason>(most - samples.all.begin());
  return *most == 0 || reason == StallReason::selected ? "" : std::string(explain(reason));
}

class Comparer {
 public:
  Comparer(const KernelPrediction& prediction, const MeasuredLaunches& measured,
           const DeviceFacts& device, const MachineModel& machine, bool arguments_decide)
      : prediction_(prediction),
        measured_(measured),
        device_(device),
        machine_(machine),
        arguments_decide_(arguments_decide) {}

  Comparison run() {
    // Recorded times have in them what it takes to start and end a kernel on the device (about what
    // lies between two kernels of a graph), but not what the host does.
    const LaunchFigures launch =
        machine_.prediction ? machine_.prediction->launch : LaunchFigures{};
    const double between = launch.between_us > 0 ? launch.between_us : launch.graph_launch_us;
    out_.predicted_us =
        prediction_.time_us - prediction_.launch_us + std::min(between, prediction_.launch_us);
    out_.limit_us =
        std::max(prediction_.activity[Count::compute_us], prediction_.activity[Count::memory_us]);
    time_ = measured_.median_us;
    if (time_ > 0) out_.ratio = out_.predicted_us / time_;
    if (out_.ratio > 0 && out_.ratio < 1 / (1 + kAgreement)) out_.verdict = Verdict::slower;
    if (out_.ratio > 1 + kAgreement) out_.verdict = Verdict::faster;
    if (out_.verdict != Verdict::agrees && arguments_decide_) out_.verdict = Verdict::unknown;
    if (measured_.samples.total() > 0 && !prediction_.lines.empty()) {
      compare_lines();
      compare_states();
    }
    if (out_.verdict == Verdict::unknown) {
      tell_arguments();
    } else {
      if (is_off()) tell_gap();
      tell_lines();
      tell_states();
    }
    tell_circumstances();
    return std::move(out_);
  }

 private:
  void compare_lines() {
    struct Both {
      StallCounts samples;
      LineShare predicted;
    };
    std::map<SourceLocation, Both> by_line;
    for (const LineSamples& each : measured_.lines) by_line[each.at].samples += each.samples;
    for (const LineShare& each : prediction_.lines) by_line[each.at].predicted = each;
    double all = 0;
    for (const auto& [at, both] : by_line) all += static_cast<double>(both.samples.total());
    if (all <= 0) return;
    for (const auto& [at, both] : by_line) {
      LineGap gap;
      gap.at = at;
      gap.measured_share = static_cast<double>(both.samples.total()) / all;
      gap.predicted_share = both.predicted.share;
      gap.gap_us = gap.measured_share * time_ - gap.predicted_share * out_.predicted_us;
      gap.measured_waits_for = wait_of(both.samples);
      gap.predicted_waits_for = both.predicted.waits_for;
      out_.lines.push_back(std::move(gap));
    }
    std::stable_sort(out_.lines.begin(), out_.lines.end(), [](const LineGap& a, const LineGap& b) {
      return std::abs(a.gap_us) > std::abs(b.gap_us);
    });
  }

  void compare_states() {
    double predicted = 0;
    for (double each : prediction_.waits) predicted += each;
    if (predicted <= 0) return;
    std::array<StateGap, kWarpStates> states;
    for (size_t i = 0; i < kWarpStates; ++i) states[i].state = static_cast<WarpState>(i);
    const auto all = static_cast<double>(measured_.samples.total());
    for (size_t r = 0; r < kStallReasonCount; ++r)
      states[static_cast<size_t>(state_of(static_cast<StallReason>(r)))].measured_share +=
          static_cast<double>(measured_.samples.all[r]) / all;
    for (size_t w = 0; w < kWaits; ++w)
      states[static_cast<size_t>(state_of(static_cast<Wait>(w)))].predicted_share +=
          prediction_.waits[w] / predicted;
    for (StateGap& each : states) {
      each.gap_us = each.measured_share * time_ - each.predicted_share * out_.predicted_us;
      out_.states.push_back(each);
    }
    std::stable_sort(out_.states.begin(), out_.states.end(),
                     [](const StateGap& a, const StateGap& b) {
                       return std::abs(a.gap_us) > std::abs(b.gap_us);
                     });
  }

  bool is_off() const { return out_.verdict == Verdict::slower || out_.verdict == Verdict::faster; }
  double gap() const { return time_ - out_.predicted_us; }

  Finding& add(const std::string& kind, const std::string& title, const std::string& text) {
    Finding finding;
    finding.kind = kind;
    finding.subject = prediction_.name;
    finding.title = title;
    finding.text = text;
    out_.differs.push_back(std::move(finding));
    return out_.differs.back();
  }

  void tell_arguments() {
    add("arguments", "an argument is not known",
        "the recording does not hold all arguments, and those that were guessed decide: what the "
        "ratio says of the kernel shows with --arg POSITION=VALUE (see assumed).");
  }

  void tell_gap() {
    const bool slower = out_.verdict == Verdict::slower;
    std::string text = format("measured %s, predicted %s: ", time_text(time_).c_str(),
                              time_text(out_.predicted_us).c_str());
    const double factor = slower ? 1 / out_.ratio : out_.ratio;
    text += format("%.2f times as %s", factor, slower ? "long" : "fast");
    if (measured_.samples.total() == 0)
      text += "; there are no samples that would tell on which lines: record with -e gpu=cuda,pc";
    else if (out_.lines.empty())
      text += "; only --model sim predicts lines";
    else if (out_.lines.size() == 1 && out_.lines.front().at.line == 0)
      text += "; compile with -lineinfo to see on which lines";
    else if (const LineGap* line = largest(gap() > 0))
      text += format("; most of it at %s (%s)", place(line->at).c_str(), gap_text(*line).c_str());
    Finding& finding =
        add(slower ? "slower-than-predicted" : "faster-than-predicted",
            slower ? "takes longer than predicted" : "is faster than predicted", text + ".");
    finding.evidence = {{"measured", time_, "us"},
                        {"predicted", out_.predicted_us, "us"},
                        {"ratio", out_.ratio, "fraction"}};
    if (const LineGap* line = largest(gap() > 0)) finding.location = line->at;
  }

  const LineGap* largest(bool positive) const {
    for (const LineGap& each : out_.lines)
      if (each.at.line != 0 && (each.gap_us > 0) == positive) return &each;
    return nullptr;
  }

  static std::string gap_text(const LineGap& line) {
    return (line.gap_us > 0 ? "+" : "-") + time_text(std::abs(line.gap_us));
  }

  /// Those in the direction of the whole difference first.
  void tell_lines() {
    if (static_cast<double>(measured_.samples.total()) < kFewSamples) return;
    size_t told = 0;
    for (const bool longer : {gap() > 0, gap() <= 0})
      for (const LineGap& each : out_.lines) {
        if (told == kMostLines || each.at.line == 0 || (each.gap_us > 0) != longer) continue;
        if (std::abs(each.gap_us) < kNotableLine * std::max(time_, out_.predicted_us)) break;
        ++told;
        tell_line(each);
      }
  }

  void tell_line(const LineGap& line) {
    std::string text =
        format("%s of the samples, %s predicted (%s)", human_percent(line.measured_share).c_str(),
               human_percent(line.predicted_share).c_str(), gap_text(line).c_str());
    if (line.gap_us > 0 && !line.measured_waits_for.empty()) text += ": " + line.measured_waits_for;
    if (line.gap_us < 0 && !line.predicted_waits_for.empty())
      text += ": the prediction waits for " + line.predicted_waits_for;
    text += ".";
    for (const std::string& each : assumed_at(line.at)) text += " Assumed there: " + each + ".";
    Finding& finding = add("line",
                           place(line.at) + (line.gap_us > 0 ? ": more time than predicted"
                                                             : ": less time than predicted"),
                           text);
    finding.location = line.at;
    finding.evidence = {{"measured share", line.measured_share, "fraction"},
                        {"predicted share", line.predicted_share, "fraction"},
                        {"gap", line.gap_us, "us"}};
  }

  /// What the prediction took for granted at a line: such texts name it.
  std::vector<std::string> assumed_at(const SourceLocation& at) const {
    std::vector<std::string> found;
    const std::string name = place(at);
    for (const std::string& each : prediction_.assumed) {
      const size_t where = each.find(name);
      if (where == each.npos) continue;
      const size_t end = where + name.size();
      if (end < each.size() && std::isdigit(static_cast<unsigned char>(each[end]))) continue;
      found.push_back(each);
    }
    return found;
  }

  void tell_states() {
    if (!is_off() || static_cast<double>(measured_.samples.total()) < kFewSamples) return;
    const bool slower = out_.verdict == Verdict::slower;
    for (const StateGap& each : out_.states) {
      if ((each.gap_us > 0) != slower) continue;
      if (std::abs(each.gap_us) < 2 * kNotableLine * std::max(time_, out_.predicted_us)) break;
      std::string text =
          format("%s of the samples, %s predicted", human_percent(each.measured_share).c_str(),
                 human_percent(each.predicted_share).c_str());
      const std::string why = slower ? reason_for(each.state) : "";
      text += (why.empty() ? "" : "; " + why) + ".";
      Finding& finding = add("state",
                             std::string(slower ? "more" : "less") + " time than predicted " +
                                 std::string(name_of(each.state)),
                             text);
      finding.evidence = {{"measured share", each.measured_share, "fraction"},
                          {"predicted share", each.predicted_share, "fraction"},
                          {"gap", each.gap_us, "us"}};
      return;
    }
  }

  bool assumes(std::string_view what) const {
    return std::any_of(prediction_.assumed.begin(), prediction_.assumed.end(),
                       [&](const std::string& each) { return each.find(what) != each.npos; });
  }

  /// Why warps may spend more time so than predicted: what the prediction leaves out there.
  std::string reason_for(WarpState state) const {
    switch (state) {
      case WarpState::memory:
        if (assumes("depends on data"))
          return "addresses depend on data, and how they spread over caches is assumed";
        if (assumes("fit into L2") && mostly(measured_.after_others))
          return "the data were taken to be in L2, but other work ran before the launches";
        return "memory answers later, or caches hold less, than predicted";
      case WarpState::fetch:
        return "the prediction leaves out misses of the instruction cache";
      case WarpState::barrier:
        return "the warps of a block reach barriers further apart than those that were followed";
      case WarpState::queue:
        return "requests leave the queue more slowly than predicted";
      case WarpState::scheduler:
        return "more warps are ready than can issue: issuing is nearer to its limit";
      case WarpState::unit:
        return "the unit takes instructions at a lower rate than the machine's figures say";
      default:
        return "";
    }
  }

  bool mostly(uint64_t launches) const {
    return static_cast<double>(launches) > kNotableShare * static_cast<double>(measured_.launches);
  }

  void tell_circumstances() {
    tell_sets();
    tell_device();
    tell_shape();
    tell_times();
    if (measured_.share_of_kernel < 0.95 && !out_.lines.empty() && !out_.differs.empty())
      add("mixed-samples", "samples are of all shapes",
          format("samples do not tell launches apart: the shares are those of all launches of the "
                 "kernel, of whose time these take %s.",
                 human_percent(measured_.share_of_kernel).c_str()));
  }

  void tell_sets() {
    if (measured_.argument_sets > 1)
      add("argument-sets", "launches have different arguments",
          format("%s different ones; the prediction is for those of a launch that took the median "
                 "time.",
                 human_count(measured_.argument_sets).c_str()));
    if (measured_.without_arguments > 0)
      add("arguments-of-others", "arguments of other launches",
          format("%s of %s have no recorded arguments (graphs launch without them, and a kernel's "
                 "sets "
                 "are kept up to a number): those that it was given most often are taken.",
                 human_count(measured_.without_arguments).c_str(), launches().c_str()));
  }

  void tell_device() {
    if (device_.name != machine_.name) {
      add("device", "another device",
          "measured on " + device_.name + ", predicted for " + machine_.name +
              ": the times are not to be equal.");
      return;
    }
    if (device_.multiprocessors != 0 && device_.multiprocessors != machine_.multiprocessors)
      add("device", "a different number of multiprocessors",
          format("the recorded device has %u multiprocessors, the machine model %u: a part of the "
                 "device (MIG) or another variant; calibrate it (fathom calibrate).",
                 device_.multiprocessors, machine_.multiprocessors));
    const double clock = device_.core_clock_khz / 1e3,
                 assumed = machine_.prediction ? machine_.prediction->clock_mhz : 0;
    if (clock > 0 && assumed > 0 && std::abs(clock / assumed - 1) > kClockStep)
      add("clock", "another clock",
          format("the driver names %.0f MHz at most, the machine model was measured at %.0f MHz.",
                 clock, assumed));
  }

  void tell_shape() {
    const LaunchShape &ran = measured_.shape, &taken = prediction_.shape;
    const uint32_t given =
        (taken.registers_per_thread + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    if (ran.registers_per_thread != 0 && ran.registers_per_thread != taken.registers_per_thread &&
        ran.registers_per_thread != given)
      add("registers", "other registers",
          format("the driver gave each thread %u registers, the binary names %u.",
                 ran.registers_per_thread, taken.registers_per_thread));
    if (ran.cluster[0] * ran.cluster[1] * ran.cluster[2] > 1)
      add("cluster", "launched in clusters",
          "the blocks run in clusters, which the prediction leaves out.");
    const double resident =
        static_cast<double>(prediction_.occupancy.active_blocks) * machine_.multiprocessors;
    const double waves = resident > 0 ? static_cast<double>(ran.blocks()) / resident : 0;
    if (is_off() && waves > 1 && waves < 4 && waves - std::floor(waves) > 0 &&
        waves - std::floor(waves) < 0.25)
      add("tail", "a short last wave",
          format(
              "%.0f blocks are %.2f waves: the last one uses a small part of the device, and when "
              "it starts depends on which blocks end first.",
              static_cast<double>(ran.blocks()), waves));
  }

  void tell_times() {
    if (mostly(measured_.overlapped))
      add("overlap", "other kernels ran at the same time",
          format("%s of %s ran beside another kernel; the prediction has the device to itself.",
                 human_count(measured_.overlapped).c_str(),
                 human_count(measured_.launches).c_str()));
    if (measured_.launches > 1 && measured_.max_us > kUneven * measured_.min_us) {
      const bool first = measured_.first_us > kUneven * measured_.median_us;
      add("uneven-launches", "launches take different times",
          format("%s to %s, the first %s: ", time_text(measured_.min_us).c_str(),
                 time_text(measured_.max_us).c_str(), time_text(measured_.first_us).c_str()) +
              (first ? "it finds neither its code nor its data in the caches."
                     : "what they do depends on data, or on what ran before; one prediction is for "
                       "all of them."));
    }
    if (out_.verdict == Verdict::slower && assumes("fit into L2") && mostly(measured_.after_others))
      add("cold-cache", "data may not be in L2",
          format("the data fit into L2 and are taken to be there from an earlier launch; before %s "
                 "of %s the device did something else.",
                 human_count(measured_.after_others).c_str(), launches().c_str()));
    if (is_off() && time_ < kShort)
      add("short", "a short kernel",
          "below 5 us, starting blocks, fetching code and ending count as much as what the kernel "
          "does.");
    if (out_.verdict == Verdict::slower && measured_.sampled_share > 0 &&
        measured_.sampled_share < 0.8)
      add("idle", "multiprocessors idle, or a lower clock",
          format("%s of the samples that busy multiprocessors give at the driver's clock: some had "
                 "no warp, or the clock was lower.",
                 human_percent(measured_.sampled_share).c_str()));
  }

  std::string launches() const {
    return human_count(measured_.launches) + (measured_.launches == 1 ? " launch" : " launches");
  }

  const KernelPrediction& prediction_;
  const MeasuredLaunches& measured_;
  const DeviceFacts& device_;
  const MachineModel& machine_;
  const bool arguments_decide_;
  double time_ = 0;
  Comparison out_;
};

}  // namespace

std::string_view name_of(WarpState state) {
  static constexpr std::string_view kNames[] = {"issuing",
                                                "ready while another warp was chosen",
                                                "waiting for results of fixed latency",
                                                "waiting for global or local memory",
                                                "waiting for shared memory or special functions",
                                                "waiting for a busy unit",
                                                "waiting for room in a queue",
                                                "waiting at barriers",
                                                "waiting for instructions or constants",
                                                "otherwise"};
  return kNames[static_cast<size_t>(state)];
}

WarpState state_of(StallReason reason) {
  switch (reason) {
    case StallReason::selected:
      return WarpState::issuing;
    case StallReason::not_selected:
      return WarpState::scheduler;
    case StallReason::wait:
      return WarpState::fixed_latency;
    case StallReason::long_scoreboard:
      return WarpState::memory;
    case StallReason::short_scoreboard:
      return WarpState::short_wait;
    case StallReason::math_pipe_throttle:
      return WarpState::unit;
    case StallReason::lg_throttle:
    case StallReason::mio_throttle:
    case StallReason::tex_throttle:
      return WarpState::queue;
    case StallReason::barrier:
      return WarpState::barrier;
    case StallReason::imc_miss:
    case StallReason::no_instructions:
    case StallReason::branch_resolving:
      return WarpState::fetch;
    default:
      return WarpState::other;
  }
}

WarpState state_of(Wait wait) {
  switch (wait) {
    case Wait::none:
      return WarpState::issuing;
    case Wait::scheduler:
      return WarpState::scheduler;
    case Wait::dependency:
      return WarpState::fixed_latency;
    case Wait::l1:
    case Wait::l2:
    case Wait::dram:
      return WarpState::memory;
    case Wait::shared:
    case Wait::special:
      return WarpState::short_wait;
    case Wait::unit:
      return WarpState::unit;
    case Wait::queue:
      return WarpState::queue;
    case Wait::barrier:
      return WarpState::barrier;
    case Wait::constant:
      return WarpState::fetch;
    case Wait::start:
      return WarpState::other;
  }
  return WarpState::other;
}

std::string_view name_of(Verdict verdict) {
  static constexpr std::string_view kNames[] = {"agrees", "slower", "faster", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

Comparison compare(const KernelPrediction& prediction, const MeasuredLaunches& measured,
                   const DeviceFacts& device, const MachineModel& machine, bool arguments_decide) {
  return Comparer(prediction, measured, device, machine, arguments_decide).run();
}

}  // namespace fathom
