#include "numa/heap.h"

#include <atomic>
#include <cstddef>
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
constexpr size_t kMarkBefore = sizeof(Header) - offsetof(Header, mark);

struct Piece {
  Piece* next;
};

SpinLock lock;
Slab slab;
Piece* free_pieces[kClasses];
std::atomic<bool> abandoned{false};
uint8_t* reserve = nullptr;
size_t reserve_left = 0;

void* take_from_reserve(size_t size) {
  if (size > reserve_left) return nullptr;
  void* out = reserve;
  reserve += size;
  reserve_left -= size;
  return out;
}

Header* header_of(const void* block) {
  return reinterpret_cast<Header*>(reinterpret_cast<uintptr_t>(block) - sizeof(Header));
}

void* take_piece(size_t& size, uint32_t& size_class) {
  size_t bytes = kSmallest;
  for (size_class = 0; bytes < size && size_class < kClasses; ++size_class) bytes *= 2;
  if (size_class == kClasses) {
    size = (size + kPageBytes - 1) & ~(kPageBytes - 1);
    if (void* piece = map_memory(size); piece != nullptr) return piece;
    Held held(lock);
    reserve_left = reserve_left / kPageBytes * kPageBytes;
    reserve += -reinterpret_cast<uintptr_t>(reserve) & (kPageBytes - 1);
    return take_from_reserve(size);
  }
  size = bytes;
  Held held(lock);
  if (Piece* piece = free_pieces[size_class]; piece != nullptr) {
    free_pieces[size_class] = piece->next;
    return piece;
  }
  void* piece = slab.take(size);
  return piece != nullptr ? piece : take_from_reserve(size);
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

/// What lies before another allocator's block is poisoned for the sanitizers.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
__attribute__((no_sanitize("address", "thread"), noinline))
#endif
bool is_own(const void* block) {
  const auto address = reinterpret_cast<uintptr_t>(block);
  // Another allocator's block that begins a page may have nothing before it.
  return address % 16 == 0 && address % kPageBytes != 0 &&
         *reinterpret_cast<const uint64_t*>(address - kMarkBefore) == (kMark ^ address);
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
    unmap_memory(piece, header->size);
    return;
  }
  Held held(lock);
  auto* spare = static_cast<Piece*>(piece);
  spare->next = free_pieces[size_class];
  free_pieces[size_class] = spare;
}

void reserve_own_heap() {
  constexpr size_t kReserve = 4u << 20;
  Held held(lock);
  reserve = static_cast<uint8_t*>(map_memory(kReserve));
  reserve_left = reserve == nullptr ? 0 : kReserve;
}

void abandon_own_heap() {
  abandoned.store(true, std::memory_order_relaxed);
}

}  // namespace fathom::numa
