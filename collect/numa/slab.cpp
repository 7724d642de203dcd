#include "numa/slab.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace fathom::numa {

void* map_memory(size_t bytes) {
  // The system call itself: the library's own mmap is intercepted.
  const int saved = errno;
  const long at =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  errno = saved;
  return at == -1 ? nullptr : reinterpret_cast<void*>(at);
}

void* Slab::take(size_t bytes) {
  bytes = (bytes + 15) & ~size_t(15);
  if (bytes > kPiece) return map_memory(bytes);
  if (bytes > left_) {
    auto* piece = static_cast<uint8_t*>(map_memory(kPiece));
    if (piece == nullptr) return nullptr;
    at_ = piece;
    left_ = kPiece;
  }
  void* out = at_;
  at_ += bytes;
  left_ -= bytes;
  return out;
}

}  // namespace fathom::numa
