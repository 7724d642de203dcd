// The compilers' callbacks that the test programs need, on top of counting_runtime.cpp.

#include "collect/numa/abi.h"

using namespace fathom::numa;

#define PLAIN(size)                                                   \
  void __tsan_read##size(void* at) {                                  \
    __fathom_numa_access(uintptr_t(at), size);                        \
  }                                                                   \
  void __tsan_write##size(void* at) {                                 \
    __fathom_numa_access(uintptr_t(at), size | kIsWrite);             \
  }                                                                   \
  void __tsan_volatile_read##size(void* at) {                         \
    __fathom_numa_access(uintptr_t(at), size | kIsAtomic);            \
  }                                                                   \
  void __tsan_volatile_write##size(void* at) {                        \
    __fathom_numa_access(uintptr_t(at), size | kIsWrite | kIsAtomic); \
  }

extern "C" {
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
void __tsan_read_range(void* at, unsigned long size) {
  __fathom_numa_strided(uintptr_t(at), 8, size / 8, 8);
}
void __tsan_write_range(void* at, unsigned long size) {
  __fathom_numa_strided(uintptr_t(at), 8 | kIsWrite, size / 8, 8);
}
}
