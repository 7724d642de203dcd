// Atomic operations of 16 bytes, by the processor's own instruction: no library is needed for them.
// Compiled with -mcx16.

#include "numa/callbacks.h"

using namespace fathom::numa;

namespace {

using Wide = __attribute__((mode(TI))) unsigned int;

void seen(const volatile Wide* at, uint32_t flags, const void* place) {
  __fathom_numa_access_at(reinterpret_cast<uintptr_t>(at), 16 | kIsAtomic | flags,
                          reinterpret_cast<uintptr_t>(place));
}

/// The old value; the new one is there if it was `expected`.
Wide exchange_if(volatile Wide* at, Wide expected, Wide desired) {
  return __sync_val_compare_and_swap(at, expected, desired);
}

/// Replaces the value by make(old), and returns the old one.
template <class Make>
Wide change(volatile Wide* at, Make make) {
  Wide old = exchange_if(at, 0, 0);
  for (;;) {
    const Wide found = exchange_if(at, old, make(old));
    if (found == old) return old;
    old = found;
  }
}

}  // namespace

#define FATHOM_PLACE __builtin_return_address(0)
#define FATHOM_WIDE_FETCH(name, result)                                              \
  FATHOM_CALLBACK Wide __tsan_atomic128_##name(volatile Wide* at, Wide value, int) { \
    seen(at, kIsWrite, FATHOM_PLACE);                                                \
    return change(at, [value]([[maybe_unused]] Wide old) { return Wide(result); });  \
  }

FATHOM_WIDE_FETCH(exchange, value)
FATHOM_WIDE_FETCH(fetch_add, old + value)
FATHOM_WIDE_FETCH(fetch_sub, old - value)
FATHOM_WIDE_FETCH(fetch_and, old& value)
FATHOM_WIDE_FETCH(fetch_or, old | value)
FATHOM_WIDE_FETCH(fetch_xor, old ^ value)
FATHOM_WIDE_FETCH(fetch_nand, ~(old& value))

FATHOM_CALLBACK Wide __tsan_atomic128_load(const volatile Wide* at, int) {
  seen(at, 0, FATHOM_PLACE);
  return exchange_if(const_cast<volatile Wide*>(at), 0, 0);
}
FATHOM_CALLBACK void __tsan_atomic128_store(volatile Wide* at, Wide value, int) {
  seen(at, kIsWrite, FATHOM_PLACE);
  change(at, [value](Wide) { return value; });
}
FATHOM_CALLBACK Wide __tsan_atomic128_compare_exchange_val(volatile Wide* at, Wide expected,
                                                           Wide desired, int, int) {
  const Wide old = exchange_if(at, expected, desired);
  seen(at, old == expected ? kIsWrite : 0, FATHOM_PLACE);
  return old;
}
FATHOM_CALLBACK int __tsan_atomic128_compare_exchange_strong(volatile Wide* at, Wide* expected,
                                                             Wide desired, int, int) {
  const Wide old = exchange_if(at, *expected, desired);
  const bool done = old == *expected;
  *expected = old;
  seen(at, done ? kIsWrite : 0, FATHOM_PLACE);
  return done;
}
FATHOM_CALLBACK int __tsan_atomic128_compare_exchange_weak(volatile Wide* at, Wide* expected,
                                                           Wide desired, int, int) {
  const Wide old = exchange_if(at, *expected, desired);
  const bool done = old == *expected;
  *expected = old;
  seen(at, done ? kIsWrite : 0, FATHOM_PLACE);
  return done;
}
