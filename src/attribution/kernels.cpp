#include "attribution/kernels.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {

void KernelTable::add(const GpuOperation& launch, const std::string& program, uint32_t device,
                      uint32_t function, uint32_t launch_context) {
  uint64_t duration = launch.end_ns > launch.start_ns ? launch.end_ns - launch.start_ns : 0;
  Kernel& kernel = kernels_[{program, launch.name, device, function}];
  ++kernel.launches;
  kernel.nanoseconds += duration;
  kernel.shortest = std::min(kernel.shortest, duration);
  kernel.longest = std::max(kernel.longest, duration);
  Group& group = kernel.groups[launch.shape];
  ++group.launches;
  group.nanoseconds += duration;
  kernel.contexts.insert(launch_context);
}

Occupancy KernelTable::occupancy(uint32_t device, const LaunchShape& shape) const {
  if (device == kNoId) return {};
  const DeviceFacts& facts = devices_[device];
  const MachineModel* machine = machine_for(facts.compute_major * 10 + facts.compute_minor).model;
  return occupancy_of(limits_of(*machine, facts), shape);
}

std::vector<KernelSummary> KernelTable::summaries() const {
  std::vector<KernelSummary> result;
  double total = 0;
  for (const auto& [key, kernel] : kernels_) {
    KernelSummary summary;
    std::tie(summary.program, summary.mangled, summary.device, summary.function) = key;
    summary.name = demangle(summary.mangled);
    summary.launches = kernel.launches;
    summary.seconds = double(kernel.nanoseconds) * 1e-9;
    summary.min_seconds = double(kernel.shortest) * 1e-9;
    summary.max_seconds = double(kernel.longest) * 1e-9;
    summary.launch_contexts.assign(kernel.contexts.begin(), kernel.contexts.end());
    for (const auto& [shape, group] : kernel.groups) {
      LaunchGroup launches{shape, group.launches, double(group.nanoseconds) * 1e-9,
                           occupancy(summary.device, shape), 0};
      double resident = summary.device == kNoId ? 0
                                                : double(launches.occupancy.active_blocks) *
                                                      devices_[summary.device].multiprocessors;
      launches.waves = resident > 0 ? double(shape.blocks()) / resident : 0;
      summary.groups.push_back(launches);
    }
    std::stable_sort(
        summary.groups.begin(), summary.groups.end(),
        [](const LaunchGroup& a, const LaunchGroup& b) { return a.seconds > b.seconds; });
    total += summary.seconds;
    result.push_back(std::move(summary));
  }
  for (KernelSummary& summary : result) summary.share = total > 0 ? summary.seconds / total : 0;
  std::stable_sort(
      result.begin(), result.end(),
      [](const KernelSummary& a, const KernelSummary& b) { return a.seconds > b.seconds; });
  return result;
}

}  // namespace fathom
