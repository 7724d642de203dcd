#pragma once

#include <map>
#include <set>

#include "attribution/attribution.h"

namespace fathom {

/// Gathers the launches of each kernel: by program, name and device.
class KernelTable {
 public:
  explicit KernelTable(const std::vector<DeviceFacts>& devices) : devices_(devices) {}

  /// `device` is an index in Profile::devices or kNoId, `function` one in Profile::functions or
  /// kNoId.
  void add(const GpuOperation& launch, const std::string& program, uint32_t device,
           uint32_t function, uint32_t launch_context);
  Occupancy occupancy(uint32_t device, const LaunchShape& shape) const;
  /// Longest first. Samples are filled in later.
  std::vector<KernelSummary> summaries() const;

 private:
  using Key =
      std::tuple<std::string, std::string, uint32_t, uint32_t>;  // program, name, device, function
  struct Group {
    uint64_t launches = 0;
    uint64_t nanoseconds = 0;
  };
  struct Kernel {
    uint64_t launches = 0, nanoseconds = 0, shortest = UINT64_MAX, longest = 0;
    std::map<LaunchShape, Group> groups;
    std::set<uint32_t> contexts;
  };
  const std::vector<DeviceFacts>& devices_;
  std::map<Key, Kernel> kernels_;
};

}  // namespace fathom
