// The allocator's functions: blocks become objects by the call path that allocated them.

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "numa/heap.h"
#include "numa/objects.h"
#include "numa/real.h"
#include "numa/thread.h"

namespace fathom::numa {
namespace {

FATHOM_REAL(malloc);
FATHOM_REAL(calloc);
FATHOM_REAL(realloc);
FATHOM_REAL(free);
FATHOM_REAL(posix_memalign);
FATHOM_REAL(aligned_alloc);
FATHOM_REAL(memalign);
FATHOM_REAL(valloc);
FATHOM_REAL(pvalloc);
FATHOM_REAL(malloc_usable_size);

std::atomic<uintptr_t> heap_top{0};

/// Not later: the loader frees the text of its last error while it looks for a symbol.
__attribute__((constructor(101))) void find_real_ones() {
  real_free.get();
  real_malloc_usable_size.get();
}

void note(void* block, size_t size) {
  if (block == nullptr) return;
  const Hook hook;
  if (hook)
    note_allocation(*hook, reinterpret_cast<uintptr_t>(block), size, record::ObjectKind::heap);
}

/// The C library gives the end of its heap back by itself.
void look_at_heap_top() {
  const auto now = reinterpret_cast<uintptr_t>(sbrk(0));
  if (now == heap_top.load(std::memory_order_relaxed)) return;
  const uintptr_t before = heap_top.exchange(now, std::memory_order_relaxed);
  if (now >= before) return;
  const Hook hook;
  if (hook) note_unmapped(now, before, true);
}

/// Before a block is freed or moved: nobody else can have its memory yet.
void note_free(void* block) {
  if (!is_recording() || this_thread.depth > 0) return;
  if (real_malloc_usable_size(block) < kLargeBlock) return;
  const Hook hook;
  if (hook) note_release(reinterpret_cast<uintptr_t>(block));
}

void* own_zeroed(size_t count, size_t size) {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) return nullptr;
  void* block = own_allocate(bytes, 16);
  if (block != nullptr) std::memset(block, 0, bytes);
  return block;
}

bool inside() {
  return this_thread.depth > 0;
}

void* move_own(void* block, size_t size) {
  void* to = malloc(size);
  if (to == nullptr) return nullptr;
  std::memcpy(to, block, std::min(size, own_size(block)));
  own_free(block);
  return to;
}

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

FATHOM_HOOK void* malloc(size_t size) noexcept {
  if (inside()) return own_allocate(size, 16);
  void* block = real_malloc(size);
  note(block, size);
  return block;
}

FATHOM_HOOK void* calloc(size_t count, size_t size) noexcept {
  if (inside()) return own_zeroed(count, size);
  void* block = real_calloc(count, size);
  note(block, count * size);
  return block;
}

FATHOM_HOOK void free(void* block) noexcept {
  if (block == nullptr) return;
  if (is_own(block)) return own_free(block);
  note_free(block);
  real_free(block);
  if (is_recording() && !inside()) look_at_heap_top();
}

FATHOM_HOOK void* realloc(void* block, size_t size) noexcept {
  if (block != nullptr && is_own(block)) {
    if (size > 0) return move_own(block, size);
    own_free(block);
    return nullptr;
  }
  if (block == nullptr) return malloc(size);
  if (inside()) return real_realloc(block, size);
  const size_t before = is_recording() ? real_malloc_usable_size(block) : 0;
  note_free(block);
  void* moved = real_realloc(block, size);
  if (moved != nullptr)
    note(moved, size);
  else if (size > 0)
    note(block, before);
  return moved;
}

FATHOM_HOOK void* reallocarray(void* block, size_t count, size_t size) noexcept {
  size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}

FATHOM_HOOK int posix_memalign(void** block, size_t alignment, size_t size) noexcept {
  if (inside()) return (*block = own_allocate(size, alignment)) == nullptr ? ENOMEM : 0;
  const int result = real_posix_memalign(block, alignment, size);
  if (result == 0) note(*block, size);
  return result;
}

FATHOM_HOOK void* aligned_alloc(size_t alignment, size_t size) noexcept {
  if (inside()) return own_allocate(size, alignment);
  void* block = real_aligned_alloc(alignment, size);
  note(block, size);
  return block;
}

FATHOM_HOOK void* memalign(size_t alignment, size_t size) noexcept {
  if (inside()) return own_allocate(size, alignment);
  void* block = real_memalign(alignment, size);
  note(block, size);
  return block;
}

FATHOM_HOOK void* valloc(size_t size) noexcept {
  void* block = real_valloc(size);
  note(block, size);
  return block;
}

FATHOM_HOOK void* pvalloc(size_t size) noexcept {
  void* block = real_pvalloc(size);
  note(block, size);
  return block;
}

FATHOM_HOOK size_t malloc_usable_size(void* block) noexcept {
  if (block == nullptr) return 0;
  return is_own(block) ? own_size(block) : real_malloc_usable_size(block);
}
