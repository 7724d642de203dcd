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
  const uint64_t line = address >> kLineBits;
  PageSlot& slot = __fathom_numa_table[(address >> kPageBits) % kCachedPages];
  const uint64_t within = line - __atomic_load_n(&slot.first_line, __ATOMIC_RELAXED);
  const uint64_t ready = is_write ? slot.writable : slot.readable;
  if (__builtin_expect(within < kLinesOfPage && (ready >> within % kLinesOfPage & 1) != 0, 1)) {
    LineCounter& counter = slot.counts[within & slot.mask];
    ++(is_write ? counter.writes : counter.reads);
    return;
  }
  __fathom_numa_access(address, size | (is_write ? kIsWrite : 0));
}

}  // namespace fathom::numa
