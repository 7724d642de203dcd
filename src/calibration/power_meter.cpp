#include "calibration/power_meter.h"

#include <dlfcn.h>

namespace fathom {

std::optional<PowerMeter> PowerMeter::open(const std::string& pci_bus) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) return std::nullopt;
  auto load = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(library, name));
    return function != nullptr;
  };
  int (*init)() = nullptr;
  int (*handle)(const char*, Device*) = nullptr;
  PowerMeter meter;
  if (!load(init, "nvmlInit_v2") || !load(handle, "nvmlDeviceGetHandleByPciBusId_v2") ||
      init() != 0 || handle(pci_bus.c_str(), &meter.device_) != 0)
    return std::nullopt;
  load(meter.energy_, "nvmlDeviceGetTotalEnergyConsumption");
  load(meter.limit_, "nvmlDeviceGetEnforcedPowerLimit");
  load(meter.heat_, "nvmlDeviceGetTemperature");
  return meter;
}

uint64_t PowerMeter::energy_mj() const {
  unsigned long long value = 0;
  return energy_ && energy_(device_, &value) == 0 ? value : 0;
}

double PowerMeter::limit_watts() const {
  unsigned value = 0;
  return limit_ && limit_(device_, &value) == 0 ? value / 1e3 : 0;
}

unsigned PowerMeter::celsius() const {
  unsigned value = 0;
  return heat_ && heat_(device_, 0, &value) == 0 ? value : 0;
}

double watts_of(const std::vector<EnergySample>& samples, double from) {
  const EnergySample *first = nullptr, *last = nullptr;
  for (size_t i = 1; i < samples.size(); ++i) {
    if (samples[i].seconds < from || samples[i].millijoules == samples[i - 1].millijoules) continue;
    if (!first) first = &samples[i];
    last = &samples[i];
  }
  if (!first || last->seconds <= first->seconds) return 0;
  return static_cast<double>(last->millijoules - first->millijoules) / 1e3 /
         (last->seconds - first->seconds);
}

}  // namespace fathom
