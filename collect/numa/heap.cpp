#include "numa/heap.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "numa/lock.h"
#include "numa/slab.h"

namespace fathom::numa {
namespace {

constexpr uint64_t kMark = 0x9a7c15fa7403d31bu;
constexpr size_t kClasses = 12, kSmallest = 32, kPageBytes = 4096;

/// Before each block. The mark is where every allocator keeps something readable.
struct Header {
  uint64_t reserved;
  uint64_t size;        ///< of the piece
  uint64_t mark;        ///< kMark ^ the block's address
  uint32_t size_class;  ///< kClasses: a mapping of its own
  uint32_t offset;      ///< from the start of the piece to the block
};
static_assert(sizeof(Header) == 32);

struct Piece {
  Piece* next;
};

SpinLock lock;
Slab slab;
Piece* free_pieces[kClasses];
std::atomic<bool> abandoned{false};

Header* header_of(const void* block) {
  return reinterpret_cast<Header*>(reinterpret_cast<uintptr_t>(block) - sizeof(Header));
}

void* take_piece(size_t& size, uint32_t& size_class) {
  size_t bytes = kSmallest;
  for (size_class = 0; bytes < size && size_class < kClasses; ++size_class) bytes *= 2;
  if (size_class == kClasses) {
    size = (size + kPageBytes - 1) & ~(kPageBytes - 1);
    return map_memory(size);
  }
  size = bytes;
  Held held(lock);
  if (Piece* piece = free_pieces[size_class]; piece != nullptr) {
    free_pieces[size_class] = piece->next;
    return piece;
  }
  return slab.take(size);
}

}  // namespace

void* own_allocate(size_t size, size_t alignment) {
  if (alignment < 16) alignment = 16;
  if (size > (size_t(1) << 46) || alignment >= kPageBytes) return nullptr;
  size_t whole = size + sizeof(Header) + 2 * alignment;
  uint32_t size_class = 0;
  const auto piece = reinterpret_cast<uintptr_t>(take_piece(whole, size_class));
  if (piece == 0) return nullptr;
  uintptr_t block = (piece + sizeof(Header) + alignment - 1) & ~(alignment - 1);
  if (block % kPageBytes == 0) block += alignment;  // see is_own
  auto* header = header_of(reinterpret_cast<void*>(block));
  *header = {0, whole, kMark ^ block, size_class, static_cast<uint32_t>(block - piece)};
  return reinterpret_cast<void*>(block);
}

bool is_own(const void* block) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  // Another allocator's block that begins a page may have nothing before it.
  return address % 16 == 0 && address % kPageBytes != 0 &&
         header_of(block)->mark == (kMark ^ address);
}

size_t own_size(const void* block) {
  const Header* header = header_of(block);
  return header->size - header->offset;
}

void own_free(void* block) {
  if (abandoned.load(std::memory_order_relaxed)) return;
  Header* header = header_of(block);
  header->mark = 0;
  const uint32_t size_class = header->size_class;
  void* piece = static_cast<uint8_t*>(block) - header->offset;
  if (size_class == kClasses) {
    syscall(SYS_munmap, piece, header->size);
    return;
  }
  Held held(lock);
  auto* spare = static_cast<Piece*>(piece);
  spare->next = free_pieces[size_class];
  free_pieces[size_class] = spare;
}

void abandon_own_heap() {
  abandoned.store(true, std::memory_order_relaxed);
}

}  // namespace fathom::numa
