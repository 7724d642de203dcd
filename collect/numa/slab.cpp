#include "numa/slab.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace fathom::numa {
namespace {

constexpr int kProtection = PROT_READ | PROT_WRITE, kFlags = MAP_PRIVATE | MAP_ANONYMOUS;

#ifdef __SANITIZE_THREAD__
// The sanitizer must see that memory is new.
long system_map(size_t bytes) {
  return reinterpret_cast<long>(mmap(nullptr, bytes, kProtection, kFlags, -1, 0));
}
void system_unmap(void* memory, size_t bytes) {
  munmap(memory, bytes);
}
#else
// The system calls themselves: the library's functions are intercepted.
long system_map(size_t bytes) {
  return syscall(SYS_mmap, nullptr, bytes, kProtection, kFlags, -1, 0);
}
void system_unmap(void* memory, size_t bytes) {
  syscall(SYS_munmap, memory, bytes);
}
#endif

}  // namespace

void* map_memory(size_t bytes) {
  const int saved = errno;
  const long at = system_map(bytes);
  errno = saved;
  return at == -1 ? nullptr : reinterpret_cast<void*>(at);
}

void unmap_memory(void* memory, size_t bytes) {
  const int saved = errno;
  system_unmap(memory, bytes);
  errno = saved;
}

void* Slab::take(size_t bytes, size_t alignment) {
  bytes = (bytes + 15) & ~size_t(15);
  if (bytes > kPiece) return map_memory(bytes);
  size_t skip = -reinterpret_cast<uintptr_t>(at_) & (alignment - 1);
  if (skip + bytes > left_) {
    auto* piece = static_cast<uint8_t*>(map_memory(kPiece));
    if (piece == nullptr) return nullptr;
    at_ = piece;
    left_ = kPiece;
    skip = 0;
  }
  void* out = at_ + skip;
  at_ += skip + bytes;
  left_ -= skip + bytes;
  return out;
}

}  // namespace fathom::numa
