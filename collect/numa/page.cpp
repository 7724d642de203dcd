#include "numa/page.h"

#include <algorithm>

#include "numa/slab.h"

namespace fathom::numa {
namespace {

constexpr unsigned kLevelBits = 12;
constexpr unsigned kFanOut = 1u << kLevelBits;
constexpr unsigned kAddressBits = kPageBits + 3 * kLevelBits;

struct Leaf {
  Page pages[kFanOut];
};
struct Middle {
  std::atomic<Leaf*> leaves[kFanOut];
};
std::atomic<Middle*> root[kFanOut];

/// Another thread may be faster; then our piece is left unused.
template <class T>
T* grow(std::atomic<T*>& place) {
  T* there = place.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  static SpinLock lock;
  Held held(lock);
  there = place.load(std::memory_order_acquire);
  if (there != nullptr) return there;
  there = static_cast<T*>(map_memory(sizeof(T)));
  place.store(there, std::memory_order_release);
  return there;
}

unsigned part(uintptr_t address, unsigned level) {
  return static_cast<unsigned>(address >> (kPageBits + level * kLevelBits)) & (kFanOut - 1);
}

}  // namespace

Page* make_page(uintptr_t address) {
  if (address >> kAddressBits != 0) return nullptr;
  Middle* middle = grow(root[part(address, 2)]);
  if (middle == nullptr) return nullptr;
  Leaf* leaf = grow(middle->leaves[part(address, 1)]);
  return leaf == nullptr ? nullptr : &leaf->pages[part(address, 0)];
}

Page* find_page(uintptr_t address) {
  if (address >> kAddressBits != 0) return nullptr;
  const Middle* middle = root[part(address, 2)].load(std::memory_order_acquire);
  if (middle == nullptr) return nullptr;
  Leaf* leaf = middle->leaves[part(address, 1)].load(std::memory_order_acquire);
  return leaf == nullptr ? nullptr : &leaf->pages[part(address, 0)];
}

void visit_pages(uintptr_t low, uintptr_t high, void (*visit)(uint64_t, Page&, void*), void* data) {
  high = std::min(high, uintptr_t(1) << kAddressBits);
  for (uintptr_t at = low >> kPageBits << kPageBits; at < high;) {
    const Middle* middle = root[part(at, 2)].load(std::memory_order_acquire);
    if (middle == nullptr) {
      const unsigned shift = kPageBits + 2 * kLevelBits;
      at = ((at >> shift) + 1) << shift;
      continue;
    }
    Leaf* leaf = middle->leaves[part(at, 1)].load(std::memory_order_acquire);
    const unsigned shift = kPageBits + kLevelBits;
    const uintptr_t end = std::min(((at >> shift) + 1) << shift, high);
    if (leaf == nullptr) {
      at = ((at >> shift) + 1) << shift;
      continue;
    }
    for (; at < end; at += uintptr_t(1) << kPageBits) {
      Page& page = leaf->pages[part(at, 0)];
      if (page.uses.load(std::memory_order_acquire) != nullptr ||
          page.granules.load(std::memory_order_acquire) != nullptr)
        visit(at >> kPageBits, page, data);
    }
  }
}

}  // namespace fathom::numa
