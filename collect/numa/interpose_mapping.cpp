// Memory that the program maps itself, and memory that it gives back.

#include <sys/mman.h>

#include <cstdarg>

#include "numa/objects.h"
#include "numa/real.h"
#include "numa/thread.h"

namespace fathom::numa {
namespace {

constinit Real<void*(void*, size_t, int, int, int, off_t)> real_mmap{"mmap"};
constinit Real<int(void*, size_t)> real_munmap{"munmap"};
constinit Real<int(void*, size_t, int)> real_madvise{"madvise"};
constinit Real<void*(void*, size_t, size_t, int, void*)> real_mremap{"mremap"};

void note_mapping(void* at, size_t size) {
  if (at == MAP_FAILED) return;
  const Hook hook;
  if (hook)
    note_allocation(*hook, reinterpret_cast<uintptr_t>(at), size, record::ObjectKind::mapping);
}

void note_gone(void* at, size_t size, bool unmapped) {
  const Hook hook;
  const auto low = reinterpret_cast<uintptr_t>(at);
  if (hook) note_unmapped(low, low + size, unmapped);
}

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

FATHOM_HOOK void* mmap(void* at, size_t size, int protection, int flags, int file,
                       off_t offset) noexcept {
  void* mapped = real_mmap(at, size, protection, flags, file, offset);
  note_mapping(mapped, size);
  return mapped;
}

FATHOM_HOOK void* mmap64(void* at, size_t size, int protection, int flags, int file,
                         off64_t offset) noexcept {
  return mmap(at, size, protection, flags, file, offset);
}

FATHOM_HOOK int munmap(void* at, size_t size) noexcept {
  note_gone(at, size, true);  // before another thread can map there
  return real_munmap(at, size);
}

FATHOM_HOOK int madvise(void* at, size_t size, int advice) noexcept {
  if (advice == MADV_DONTNEED || advice == MADV_FREE || advice == MADV_REMOVE)
    note_gone(at, size, false);
  return real_madvise(at, size, advice);
}

FATHOM_HOOK void* mremap(void* at, size_t size, size_t new_size, int flags, ...) noexcept {
  va_list rest;
  va_start(rest, flags);
  void* wanted = (flags & MREMAP_FIXED) != 0 ? va_arg(rest, void*) : nullptr;
  va_end(rest);
  void* moved = real_mremap(at, size, new_size, flags, wanted);
  if (moved == MAP_FAILED) return moved;
  auto* bytes = static_cast<char*>(moved);
  if (moved != at) {
    note_gone(at, size, true);
    note_mapping(moved, new_size);
  } else if (new_size > size) {
    note_mapping(bytes + size, new_size - size);
  } else if (new_size < size) {
    note_gone(bytes + new_size, size - new_size, true);
  }
  return moved;
}
