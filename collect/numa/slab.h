#pragma once

#include <cstddef>
#include <cstdint>

#include "numa/lock.h"

namespace fathom::numa {

/// Memory from the system, zeroed; null if there is none.
void* map_memory(size_t bytes);
void unmap_memory(void* memory, size_t bytes);

/// Hands out zeroed memory that is never given back. Takes small pieces from the system, so that it
/// works under a memory limit. The owner locks.
class Slab {
 public:
  void* take(size_t bytes, size_t alignment = 16);
  template <class T>
  T* make() {
    return static_cast<T*>(take(sizeof(T), alignof(T) > 16 ? alignof(T) : 16));
  }
  template <class T>
  T* make_array(size_t count) {
    return static_cast<T*>(take(sizeof(T) * count));
  }

 private:
  static constexpr size_t kPiece = 64u << 10;
  uint8_t* at_ = nullptr;
  size_t left_ = 0;
};

}  // namespace fathom::numa
