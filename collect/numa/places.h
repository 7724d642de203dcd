#pragma once

#include <cstddef>
#include <cstdint>

#include "numa/lock.h"
#include "numa/slab.h"

namespace fathom::numa {

/// Counts samples of (object, place in the code, read or write).
class Places {
 public:
  struct Entry {
    uintptr_t place;  ///< inside the instruction that calls; 0: empty
    uint32_t object;
    uint32_t is_write;
    uint64_t samples;
  };

  void add(uint32_t object, uintptr_t place, bool is_write, uint64_t samples);
  /// Adds all of `other`, and forgets them there.
  void take(Places& other);
  template <class Visit>
  void for_each(Visit visit) const {
    Held held(lock_);
    for (size_t i = 0; i < capacity_; ++i)
      if (entries_[i].place != 0) visit(entries_[i]);
  }

 private:
  void grow();
  Entry* find(uint32_t object, uintptr_t place, uint32_t is_write);
  void add_locked(uint32_t object, uintptr_t place, bool is_write, uint64_t samples);

  mutable SpinLock lock_;
  Entry* entries_ = nullptr;
  size_t capacity_ = 0, size_ = 0;
};

}  // namespace fathom::numa
