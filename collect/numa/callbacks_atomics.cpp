// Atomic operations: compilers with -fsanitize=thread call these instead of doing them. All are
// done as sequentially consistent, which is at least what was asked for. A read-modify-write counts
// as one write, a compare-exchange that fails as a read.

#include "numa/callbacks.h"

using namespace fathom::numa;

namespace {

template <class T>
__attribute__((always_inline)) inline void seen(const volatile T* at, uint32_t flags,
                                                const void* place) {
  __fathom_numa_access_at(reinterpret_cast<uintptr_t>(at),
                          static_cast<uint32_t>(sizeof(T)) | kIsAtomic | flags,
                          reinterpret_cast<uintptr_t>(place));
}

template <class T>
__attribute__((always_inline)) inline bool exchange_if(volatile T* at, T* expected, T desired,
                                                       const void* place) {
  const bool done =
      __atomic_compare_exchange_n(at, expected, desired, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  seen(at, done ? kIsWrite : 0, place);
  return done;
}

}  // namespace

#define FATHOM_PLACE __builtin_return_address(0)

#define FATHOM_FETCH(bits, T, name, builtin)                                           \
  FATHOM_CALLBACK T __tsan_atomic##bits##_fetch_##name(volatile T* at, T value, int) { \
    seen(at, kIsWrite, FATHOM_PLACE);                                                  \
    return builtin(at, value, __ATOMIC_SEQ_CST);                                       \
  }

#define FATHOM_ATOMIC(bits, T)                                                                   \
  FATHOM_CALLBACK T __tsan_atomic##bits##_load(const volatile T* at, int) {                      \
    seen(at, 0, FATHOM_PLACE);                                                                   \
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                \
  }                                                                                              \
  FATHOM_CALLBACK void __tsan_atomic##bits##_store(volatile T* at, T value, int) {               \
    seen(at, kIsWrite, FATHOM_PLACE);                                                            \
    __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                               \
  }                                                                                              \
  FATHOM_CALLBACK T __tsan_atomic##bits##_exchange(volatile T* at, T value, int) {               \
    seen(at, kIsWrite, FATHOM_PLACE);                                                            \
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                     \
  }                                                                                              \
  FATHOM_FETCH(bits, T, add, __atomic_fetch_add)                                                 \
  FATHOM_FETCH(bits, T, sub, __atomic_fetch_sub)                                                 \
  FATHOM_FETCH(bits, T, and, __atomic_fetch_and)                                                 \
  FATHOM_FETCH(bits, T, or, __atomic_fetch_or)                                                   \
  FATHOM_FETCH(bits, T, xor, __atomic_fetch_xor)                                                 \
  FATHOM_FETCH(bits, T, nand, __atomic_fetch_nand)                                               \
  FATHOM_CALLBACK int __tsan_atomic##bits##_compare_exchange_strong(volatile T* at, T* expected, \
                                                                    T desired, int, int) {       \
    return exchange_if(at, expected, desired, FATHOM_PLACE);                                     \
  }                                                                                              \
  FATHOM_CALLBACK int __tsan_atomic##bits##_compare_exchange_weak(volatile T* at, T* expected,   \
                                                                  T desired, int, int) {         \
    return exchange_if(at, expected, desired, FATHOM_PLACE);                                     \
  }                                                                                              \
  FATHOM_CALLBACK T __tsan_atomic##bits##_compare_exchange_val(volatile T* at, T expected,       \
                                                               T desired, int, int) {            \
    exchange_if(at, &expected, desired, FATHOM_PLACE);                                           \
    return expected;                                                                             \
  }

FATHOM_ATOMIC(8, uint8_t)
FATHOM_ATOMIC(16, uint16_t)
FATHOM_ATOMIC(32, uint32_t)
FATHOM_ATOMIC(64, uint64_t)

FATHOM_CALLBACK void __tsan_atomic_thread_fence(int) {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
FATHOM_CALLBACK void __tsan_atomic_signal_fence(int) {
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
}
