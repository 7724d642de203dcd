#include "numa/share_table.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>

#include "numa/slab.h"

namespace fathom::numa {
namespace {

template <class T>
T* grow(std::atomic<T*>& place) {
  T* there = place.load(std::memory_order_relaxed);
  if (there != nullptr) return there;
  there = static_cast<T*>(map_memory(sizeof(T)));
  place.store(there, std::memory_order_release);
  return there;
}

}  // namespace

ShareTable::Leaf* ShareTable::peek_leaf(uint64_t region) const {
  const Root* root = root_.load(std::memory_order_acquire);
  if (root == nullptr || region >> (2 * kLevelBits) != 0) return nullptr;
  const Middle* middle = root->middles[region >> kLevelBits].load(std::memory_order_acquire);
  return middle == nullptr ? nullptr
                           : middle->leaves[region & kMask].load(std::memory_order_acquire);
}

ShareTable::Leaf* ShareTable::find_leaf(uint64_t region) {
  Leaf* leaf = peek_leaf(region);
  if (leaf != nullptr) cache_[region % kCachedLeaves] = {region + 1, leaf};
  return leaf;
}

void ShareTable::set(uintptr_t address, Share* share) {
  const uint64_t region = address >> (kPageBits + kLevelBits);
  if (region >> (2 * kLevelBits) != 0) return;
  Root* root = grow(root_);
  Middle* middle = root == nullptr ? nullptr : grow(root->middles[region >> kLevelBits]);
  Leaf* leaf = middle == nullptr ? nullptr : grow(middle->leaves[region & kMask]);
  if (leaf != nullptr) leaf->pages[address >> kPageBits & kMask].set(share);
}

template <class Change>
void ShareTable::change(uintptr_t low, uintptr_t high, Change change) {
  constexpr unsigned kShift = kPageBits + kLevelBits;
  for (uintptr_t at = low >> kPageBits << kPageBits; at < high;) {
    const uintptr_t end = std::min(((at >> kShift) + 1) << kShift, high);
    Leaf* leaf = peek_leaf(at >> kShift);
    for (; leaf != nullptr && at < end; at += uintptr_t(1) << kPageBits)
      change(leaf->pages[at >> kPageBits & kMask]);
    at = end;
  }
}

void ShareTable::erase(uintptr_t low, uintptr_t high) {
  change(low, high, [](PageEntry& page) { page.set(nullptr); });
}

void ShareTable::unmark(uintptr_t low, uintptr_t high) {
  change(low, high, [](PageEntry& page) { page.unmark(); });
}

void ShareTable::clear() {
  Root* root = root_.exchange(nullptr, std::memory_order_acq_rel);
  std::fill(std::begin(cache_), std::end(cache_), Cached{});
  if (root == nullptr) return;
  for (auto& place : root->middles) {
    Middle* middle = place.load(std::memory_order_relaxed);
    if (middle == nullptr) continue;
    for (auto& leaf : middle->leaves)
      if (leaf.load(std::memory_order_relaxed) != nullptr)
        unmap_memory(leaf.load(std::memory_order_relaxed), sizeof(Leaf));
    unmap_memory(middle, sizeof(Middle));
  }
  unmap_memory(root, sizeof(Root));
}

}  // namespace fathom::numa
