#pragma once

#include <cstdint>

#include "numa/abi.h"

namespace fathom::numa {

struct SlotTable;

/// Tells reads of a spin-wait: consecutive atomic or volatile reads of one address that find the
/// same value, with no other access of the calling thread between.
class SpinWatch {
 public:
  /// An atomic or volatile read of at most eight bytes.
  bool is_spinning(uintptr_t address, uint32_t size, uintptr_t place, const SlotTable& table);
  /// The access has been counted: what the slots hold now is where the next read begins.
  void counted(const SlotTable& table) {
    if (wants_count_) take_count(table);
  }
  /// Any other access that came to the runtime.
  void other_access() {
    address_ = 0;
    wants_count_ = false;
  }

 private:
  void take_count(const SlotTable& table);

  uintptr_t address_ = 0;
  uint64_t value_ = 0;
  uint64_t counted_ = 0;  ///< accesses in the slots at the last read
  bool has_counted_ = false, wants_count_ = false;
  // A place that polls while it works: looking for its other accesses each time would be slow.
  uintptr_t busy_place_ = 0;
  uint32_t misses_ = 0, skips_ = 0;
};

}  // namespace fathom::numa
