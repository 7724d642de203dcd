// What compilers with -fsanitize=thread call, but for the atomic operations. Linked into each
// module of the program, hidden: other modules have their own, and the sanitizer's run-time library
// is not there.

#include "numa/callbacks.h"

#include <cstring>

using namespace fathom::numa;

namespace {

/// A block; of a huge one in pieces.
void visit_range(const void* address, unsigned long size, uint32_t flags, const void* place) {
  constexpr unsigned long kPiece = (kSizeMask + 1) / 2;
  auto at = reinterpret_cast<uintptr_t>(address);
  for (unsigned long left = size; left > 0;) {
    const unsigned long piece = left > kSizeMask ? kPiece : left;
    __fathom_numa_access_at(at, static_cast<uint32_t>(piece) | flags,
                            reinterpret_cast<uintptr_t>(place));
    at += piece;
    left -= piece;
  }
}

__attribute__((constructor)) void tell_of_module() {
  __fathom_numa_module(reinterpret_cast<const void*>(&tell_of_module));
}

}  // namespace

#define FATHOM_PLAIN(size)                                                   \
  FATHOM_CALLBACK void __tsan_read##size(void* at) {                         \
    touch<size, false>(at);                                                  \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_write##size(void* at) {                        \
    touch<size, true>(at);                                                   \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_unaligned_read##size(void* at) {               \
    touch<size, false>(at);                                                  \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_unaligned_write##size(void* at) {              \
    touch<size, true>(at);                                                   \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_read_write##size(void* at) {                   \
    touch<size, false>(at);                                                  \
    touch<size, true>(at);                                                   \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_unaligned_read_write##size(void* at) {         \
    touch<size, false>(at);                                                  \
    touch<size, true>(at);                                                   \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_volatile_read##size(void* at) {                \
    __fathom_numa_access(reinterpret_cast<uintptr_t>(at), size | kIsAtomic); \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_volatile_write##size(void* at) {               \
    touch<size, true>(at);                                                   \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_unaligned_volatile_read##size(void* at) {      \
    __fathom_numa_access(reinterpret_cast<uintptr_t>(at), size | kIsAtomic); \
  }                                                                          \
  FATHOM_CALLBACK void __tsan_unaligned_volatile_write##size(void* at) {     \
    touch<size, true>(at);                                                   \
  }

FATHOM_PLAIN(1)
FATHOM_PLAIN(2)
FATHOM_PLAIN(4)
FATHOM_PLAIN(8)
FATHOM_PLAIN(16)

FATHOM_CALLBACK void __tsan_init() {
  tell_of_module();
}
FATHOM_CALLBACK void __tsan_func_entry(void*) {}
FATHOM_CALLBACK void __tsan_func_exit() {}
FATHOM_CALLBACK void __tsan_ignore_thread_begin() {}
FATHOM_CALLBACK void __tsan_ignore_thread_end() {}

FATHOM_CALLBACK void __tsan_vptr_update(void** at, void*) {
  touch<8, true>(at);
}
FATHOM_CALLBACK void __tsan_vptr_read(void** at) {
  touch<8, false>(at);
}

FATHOM_CALLBACK void __tsan_read_range(void* at, unsigned long size) {
  visit_range(at, size, 0, __builtin_return_address(0));
}
FATHOM_CALLBACK void __tsan_write_range(void* at, unsigned long size) {
  visit_range(at, size, kIsWrite, __builtin_return_address(0));
}

FATHOM_CALLBACK void* __tsan_memcpy(void* to, const void* from, unsigned long size) {
  visit_range(from, size, 0, __builtin_return_address(0));
  visit_range(to, size, kIsWrite, __builtin_return_address(0));
  return std::memcpy(to, from, size);
}
FATHOM_CALLBACK void* __tsan_memmove(void* to, const void* from, unsigned long size) {
  visit_range(from, size, 0, __builtin_return_address(0));
  visit_range(to, size, kIsWrite, __builtin_return_address(0));
  return std::memmove(to, from, size);
}
FATHOM_CALLBACK void* __tsan_memset(void* to, int value, unsigned long size) {
  visit_range(to, size, kIsWrite, __builtin_return_address(0));
  return std::memset(to, value, size);
}
