#pragma once
// What the driver asks of NVML, loaded at run time: only its library is needed, no header.

#include <cstdint>
#include <string>

namespace bench {

class Nvml {
 public:
  /// Whether the library and the device were found; `error` says why not.
  bool open(int device, std::string& error);
  /// Millijoules since the driver was loaded; 0 if it does not tell.
  uint64_t energy_mj() const;
  /// Watts at this moment; 0 if it does not tell.
  double power_w() const;
  unsigned sm_mhz() const;
  unsigned memory_mhz() const;
  unsigned temperature() const;
  /// Why the clocks are not higher, as NVML's bits.
  uint64_t throttle() const;

 private:
  struct FieldValue {  // nvmlFieldValue_t
    unsigned id = 0, scope = 0;
    long long timestamp = 0, latency = 0;
    int type = 0, result = 0;
    union {
      double d;
      unsigned u;
      unsigned long long ull;
    } value{};
  };
  using Device = void*;
  Device device_ = nullptr;
  int (*energy_)(Device, unsigned long long*) = nullptr;
  int (*fields_)(Device, int, FieldValue*) = nullptr;
  int (*usage_)(Device, unsigned*) = nullptr;
  int (*clock_)(Device, int, unsigned*) = nullptr;
  int (*heat_)(Device, int, unsigned*) = nullptr;
  int (*reasons_)(Device, unsigned long long*) = nullptr;
};

}  // namespace bench
