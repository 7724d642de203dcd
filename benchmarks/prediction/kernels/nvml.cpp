#include "nvml.h"

#include <dlfcn.h>

namespace bench {
namespace {

constexpr unsigned kPowerInstant = 186;  // NVML_FI_DEV_POWER_INSTANT
constexpr int kClockSm = 1, kClockMemory = 2;

template <class F>
bool load(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

}  // namespace

bool Nvml::open(int device, std::string& error) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  if (!library) {
    error = dlerror();
    return false;
  }
  int (*init)() = nullptr;
  int (*handle)(unsigned, Device*) = nullptr;
  if (!load(library, "nvmlInit_v2", init) ||
      !load(library, "nvmlDeviceGetHandleByIndex_v2", handle) || init() != 0 ||
      handle(static_cast<unsigned>(device), &device_) != 0) {
    error = "NVML does not give the device";
    return false;
  }
  load(library, "nvmlDeviceGetTotalEnergyConsumption", energy_);
  load(library, "nvmlDeviceGetFieldValues", fields_);
  load(library, "nvmlDeviceGetPowerUsage", usage_);
  load(library, "nvmlDeviceGetClockInfo", clock_);
  load(library, "nvmlDeviceGetTemperature", heat_);
  load(library, "nvmlDeviceGetCurrentClocksThrottleReasons", reasons_);
  return true;
}

uint64_t Nvml::energy_mj() const {
  unsigned long long value = 0;
  return energy_ && energy_(device_, &value) == 0 ? value : 0;
}

double Nvml::power_w() const {
  FieldValue field;
  field.id = kPowerInstant;
  if (fields_ && fields_(device_, 1, &field) == 0 && field.result == 0) return field.value.u / 1e3;
  unsigned milliwatts = 0;
  return usage_ && usage_(device_, &milliwatts) == 0 ? milliwatts / 1e3 : 0;
}

unsigned Nvml::sm_mhz() const {
  unsigned value = 0;
  return clock_ && clock_(device_, kClockSm, &value) == 0 ? value : 0;
}

unsigned Nvml::memory_mhz() const {
  unsigned value = 0;
  return clock_ && clock_(device_, kClockMemory, &value) == 0 ? value : 0;
}

unsigned Nvml::temperature() const {
  unsigned value = 0;
  return heat_ && heat_(device_, 0, &value) == 0 ? value : 0;
}

uint64_t Nvml::throttle() const {
  unsigned long long value = 0;
  return reasons_ && reasons_(device_, &value) == 0 ? value : 0;
}

}  // namespace bench
