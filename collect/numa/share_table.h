#pragma once

#include <atomic>
#include <cstdint>

#include "numa/page.h"

namespace fathom::numa {

/// One thread's shares by page: a radix tree of its own, since pages that are used at random would
/// cost a search each time. The thread fills it; others may take entries out.
class ShareTable {
 public:
  static constexpr unsigned kLevelBits = 12, kCachedLeaves = 16;

  /// Null if the page is not there.
  Share* find(uintptr_t address) {
    const uint64_t region = address >> (kPageBits + kLevelBits);
    const Cached& cached = cache_[region % kCachedLeaves];
    const Leaf* leaf = cached.region == region + 1 ? cached.leaf : find_leaf(region);
    if (leaf == nullptr) return nullptr;
    return leaf->shares[address >> kPageBits & kMask].load(std::memory_order_relaxed);
  }
  /// Forgotten at once if memory is short.
  void set(uintptr_t address, Share* share);
  /// Takes out the pages in [low, high); any thread may.
  void erase(uintptr_t low, uintptr_t high);
  /// Gives all memory back.
  void clear();

 private:
  static constexpr unsigned kFanOut = 1u << kLevelBits;
  static constexpr uintptr_t kMask = kFanOut - 1;
  struct Leaf {
    std::atomic<Share*> shares[kFanOut];
  };
  struct Middle {
    std::atomic<Leaf*> leaves[kFanOut];
  };
  struct Root {
    std::atomic<Middle*> middles[kFanOut];
  };
  struct Cached {
    uint64_t region;  ///< + 1; 0: empty
    Leaf* leaf;
  };
  Leaf* find_leaf(uint64_t region);
  Leaf* peek_leaf(uint64_t region) const;

  std::atomic<Root*> root_{nullptr};
  Cached cache_[kCachedLeaves]{};
};

}  // namespace fathom::numa
