#pragma once
// The fast path of abi.h for the callbacks that a compiler with -fsanitize=thread writes into code.

#include <cstdint>

#include "numa/abi.h"

#define FATHOM_CALLBACK extern "C" __attribute__((visibility("hidden"), used))

namespace fathom::numa {

/// An access of `size` bytes. Where the runtime must come, this is the last call, so that the
/// compiler makes it a jump: the runtime then sees the program's own return address.
template <uint32_t size, bool is_write>
__attribute__((always_inline)) inline void touch(const volatile void* pointer) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  constexpr uint64_t kInLine = (1u << kLineBits) - 1;
  LineSlot& slot = __fathom_numa_lines[(address >> kLineBits) % kCachedLines];
  if (__builtin_expect(__atomic_load_n(&slot.tag, __ATOMIC_RELAXED) == address >> kLineBits &&
                           (address & kInLine) + size <= kInLine + 1,
                       1)) {
    ++(is_write ? slot.writes : slot.reads);
    return;
  }
  __fathom_numa_access(address, size | (is_write ? kIsWrite : 0));
}

}  // namespace fathom::numa
