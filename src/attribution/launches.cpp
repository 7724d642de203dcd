#include "attribution/launches.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

#include "attribution/arguments.h"
#include "base/text.h"

namespace fathom {
namespace {

constexpr double kMicroseconds = 1e-3;  // in a nanosecond

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

bool occupies_device(GpuOperationKind kind) {
  return kind == GpuOperationKind::kernel || kind == GpuOperationKind::copy ||
         kind == GpuOperationKind::memory_set;
}

/// Which stored binary a kernel of a process lies in.
class BinaryFinder {
 public:
  BinaryFinder(const Measurement& measurement, const Attribution& attribution)
      : measurement_(measurement), attribution_(attribution) {}

  std::string find(const Process& process, const GpuOperation& launch) {
    std::string found;
    for (const LoadedGpuBinary& binary : process.binaries) {
      if (!functions(binary.sha256).count(launch.name)) continue;
      if (binary.context == launch.context) return binary.sha256;
      if (found.empty()) found = binary.sha256;
    }
    return found;
  }

 private:
  const std::set<std::string>& functions(const std::string& sha256) {
    const auto [entry, is_new] = functions_.try_emplace(sha256);
    if (!is_new) return entry->second;
    const auto open = attribution_.images.find(sha256);
    if (open != attribution_.images.end()) {
      add(*open->second, entry->second);
    } else if (const auto stored = measurement_.binaries.find(sha256);
               stored != measurement_.binaries.end()) {
      // A binary that cannot be read has no kernels; attribution tells of those that matter.
      const Result<GpuBinary> binary = open_gpu_binary(stored->second.bytes, stored->second.path);
      if (binary) add(*binary, entry->second);
    }
    return entry->second;
  }

  static void add(const GpuBinary& binary, std::set<std::string>& names) {
    for (const GpuSymbol& each : binary.functions)
      if (each.is_kernel) names.insert(each.name);
  }

  const Measurement& measurement_;
  const Attribution& attribution_;
  std::map<std::string, std::set<std::string>> functions_;
};

class LaunchTable {
 public:
  LaunchTable(const Measurement& measurement, const Attribution& attribution)
      : measurement_(measurement), attribution_(attribution), finder_(measurement, attribution) {}

  std::vector<MeasuredLaunches> run() {
    for (const Process& process : measurement_.processes) add(process);
    std::vector<MeasuredLaunches> all;
    for (auto& [key, by_arguments] : groups_) {
      if (by_arguments.size() > kMostSets) merge(by_arguments);
      for (auto& [arguments, group] : by_arguments) {
        MeasuredLaunches facts = finish(std::move(group));
        facts.argument_sets = std::max(facts.argument_sets, std::min<size_t>(1, arguments.size()));
        all.push_back(std::move(facts));
      }
    }
    std::stable_sort(all.begin(), all.end(),
                     [](const MeasuredLaunches& a, const MeasuredLaunches& b) {
                       return a.total_us > b.total_us;
                     });
    return all;
  }

 private:
  using Key = std::tuple<std::string, std::string, std::string, uint32_t, LaunchShape>;
  using Arguments = std::vector<KnownArgument>;
  struct Group {
    MeasuredLaunches facts;
    std::vector<double> times;
    uint64_t first_ns = UINT64_MAX;
  };
  /// More sets of arguments of one kernel and shape are one group: a step's number, say.
  static constexpr size_t kMostSets = 8;

  /// What the device did last, and until when it is known to be busy with a kernel.
  struct DeviceState {
    std::string last;
    LaunchShape shape;
    uint64_t kernel_end = 0;
    MeasuredLaunches* running = nullptr;  ///< of the kernel that ends then
    bool counted = false;                 ///< it is known to overlap another
  };

  void add(const Process& process) {
    std::map<uint32_t, DeviceState> devices;
    RecordedArguments arguments(process);
    for (const GpuOperation& operation : process.operations) {
      if (!occupies_device(operation.kind)) continue;
      DeviceState& device = devices[device_number(process, operation)];
      if (operation.kind == GpuOperationKind::kernel) add(process, operation, device, arguments);
      device.last = operation.kind == GpuOperationKind::kernel ? operation.name : "";
      device.shape = operation.shape;
    }
  }

  void add(const Process& process, const GpuOperation& launch, DeviceState& device,
           RecordedArguments& arguments) {
    const Key key{file_name(process.executable), launch.name, finder_.find(process, launch),
                  device_index(process, launch), launch.shape};
    const RecordedArguments::Known known = arguments.of(launch);
    const Arguments given = known.arguments ? *known.arguments : Arguments{};
    Group& group = groups_[key][given];
    MeasuredLaunches& facts = group.facts;
    if (group.times.empty()) {
      std::tie(facts.program, facts.mangled, facts.binary, facts.device, facts.shape) = key;
      facts.name = demangle(launch.name);
      facts.arguments = given;
    }
    const double time = static_cast<double>(launch.end_ns - launch.start_ns) * kMicroseconds;
    group.times.push_back(time);
    if (launch.start_ns < group.first_ns) {
      group.first_ns = launch.start_ns;
      facts.first_us = time;
    }
    facts.in_graphs += launch.graph != kNoId;
    facts.without_arguments += known.of_others;
    facts.after_others += device.last != launch.name || device.shape != launch.shape;
    const bool overlaps = launch.start_ns < device.kernel_end;
    facts.overlapped += overlaps;
    if (overlaps && device.running && !device.counted) ++device.running->overlapped;
    if (launch.end_ns > device.kernel_end) {
      device.kernel_end = launch.end_ns;
      device.running = &facts;
      device.counted = overlaps;
    } else {
      device.counted = true;
    }
  }

  static uint32_t device_number(const Process& process, const GpuOperation& operation) {
    const auto known = process.context_device.find(operation.context);
    return known == process.context_device.end() ? operation.device : known->second;
  }

  /// In Profile::devices, where devices of one number and name are one.
  uint32_t device_index(const Process& process, const GpuOperation& operation) const {
    const uint32_t number = device_number(process, operation);
    const auto& all = attribution_.profile.devices;
    for (const DeviceFacts& own : process.devices) {
      if (own.id != number) continue;
      for (uint32_t i = 0; i < all.size(); ++i)
        if (all[i].id == own.id && all[i].name == own.name) return i;
    }
    return kNoId;
  }

  /// All in one, with the arguments of a launch that took the median time.
  static void merge(std::map<Arguments, Group>& groups) {
    std::vector<std::pair<double, const Arguments*>> by_time;
    for (const auto& [arguments, group] : groups)
      for (double each : group.times) by_time.emplace_back(each, &arguments);
    std::stable_sort(by_time.begin(), by_time.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const Arguments middle = *by_time[by_time.size() / 2].second;
    Group all;
    all.facts = groups.begin()->second.facts;
    all.facts.argument_sets = groups.size();
    all.facts.arguments = middle;
    all.facts.after_others = all.facts.overlapped = all.facts.in_graphs = 0;
    all.facts.without_arguments = 0;
    for (const auto& [arguments, group] : groups) {
      all.times.insert(all.times.end(), group.times.begin(), group.times.end());
      all.facts.after_others += group.facts.after_others;
      all.facts.overlapped += group.facts.overlapped;
      all.facts.in_graphs += group.facts.in_graphs;
      all.facts.without_arguments += group.facts.without_arguments;
      if (group.first_ns < all.first_ns) {
        all.first_ns = group.first_ns;
        all.facts.first_us = group.facts.first_us;
      }
    }
    groups.clear();
    groups.emplace(middle, std::move(all));
  }

  MeasuredLaunches finish(Group group) const {
    MeasuredLaunches facts = std::move(group.facts);
    std::vector<double>& times = group.times;
    facts.launches = times.size();
    for (double each : times) facts.total_us += each;
    std::sort(times.begin(), times.end());
    facts.min_us = times.front();
    facts.max_us = times.back();
    const size_t middle = times.size() / 2;
    facts.median_us = times.size() % 2 ? times[middle] : (times[middle - 1] + times[middle]) / 2;
    add_samples(facts);
    return facts;
  }

  void add_samples(MeasuredLaunches& facts) const {
    const Profile& profile = attribution_.profile;
    for (size_t k = 0; k < profile.kernels.size(); ++k) {
      const KernelSummary& kernel = profile.kernels[k];
      if (kernel.mangled != facts.mangled || kernel.program != facts.program ||
          kernel.device != facts.device || kernel.function == kNoId ||
          profile.functions[kernel.function].binary != facts.binary)
        continue;
      facts.samples = kernel.samples;
      if (kernel.seconds > 0) facts.share_of_kernel = facts.total_us * 1e-6 / kernel.seconds;
      facts.lines = lines_of(k);
      facts.sampled_share = sampled_share(kernel);
    }
  }

  double sampled_share(const KernelSummary& kernel) const {
    const Profile& profile = attribution_.profile;
    if (kernel.device == kNoId || profile.run.sampling_period_log2 == 0) return 0;
    const DeviceFacts& device = profile.devices[kernel.device];
    const double expected =
        std::ldexp(kernel.seconds * 1e3 * device.core_clock_khz * device.multiprocessors,
                   -static_cast<int>(profile.run.sampling_period_log2));
    return expected > 0 ? static_cast<double>(kernel.samples.total()) / expected : 0;
  }

  /// Of a kernel's functions, each with its share.
  std::vector<LineSamples> lines_of(size_t kernel) const {
    std::map<SourceLocation, StallCounts> by_line;
    for (const FunctionShare& share : attribution_.kernel_functions[kernel]) {
      const AnalyzedFunction& function = attribution_.functions[share.function];
      for (size_t i = 0; i < function.instructions.size(); ++i) {
        StallCounts counts = function.samples[i];
        if (counts.total() == 0) continue;
        for (size_t r = 0; r < kStallReasonCount; ++r) {
          counts.all[r] = scaled(counts.all[r], share.fraction);
          counts.latency[r] = scaled(counts.latency[r], share.fraction);
        }
        by_line[attribution_.profile.instructions[function.first_instruction + i].at] += counts;
      }
    }
    std::vector<LineSamples> lines;
    for (const auto& [at, samples] : by_line) lines.push_back({at, samples});
    std::stable_sort(lines.begin(), lines.end(), [](const LineSamples& a, const LineSamples& b) {
      return a.samples.total() > b.samples.total();
    });
    return lines;
  }

  static uint64_t scaled(uint64_t count, double share) {
    return static_cast<uint64_t>(std::llround(static_cast<double>(count) * share));
  }

  const Measurement& measurement_;
  const Attribution& attribution_;
  BinaryFinder finder_;
  std::map<Key, std::map<Arguments, Group>> groups_;
};

}  // namespace

std::vector<MeasuredLaunches> launches_of(const Measurement& measurement,
                                          const Attribution& attribution) {
  return LaunchTable(measurement, attribution).run();
}

}  // namespace fathom
