#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fathom {

/// A GPU's power by NVML, which is loaded at run time (libnvidia-ml.so.1).
class PowerMeter {
 public:
  /// Nothing where there is no NVML or no such device.
  static std::optional<PowerMeter> open(const std::string& pci_bus);

  uint64_t energy_mj() const;  ///< since the driver was loaded; 0 if the device does not tell
  double limit_watts() const;  ///< 0 if the device does not tell
  unsigned celsius() const;

 private:
  using Device = void*;
  Device device_ = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  int (*limit_)(Device, unsigned*) = nullptr;
  int (*heat_)(Device, int, unsigned*) = nullptr;
};

struct EnergySample {
  double seconds = 0;
  uint64_t millijoules = 0;
};
/// Watts between the counter's first and last change at or after `from` seconds; 0 where it did not
/// change twice. The counter moves only every 20 to 100 ms, so that its own steps are the clock.
double watts_of(const std::vector<EnergySample>& samples, double from);

}  // namespace fathom
