#pragma once

#include <atomic>
#include <cstdint>

#include "numa/page.h"

namespace fathom::numa {

/// What a thread knows of a page: its share, and accesses that it has counted here for now, where
/// no line is of interest.
class PageEntry {
 public:
  enum Mark : uintptr_t { none = 0, reads = 1, writes = 2 };  ///< what may be counted here

  Share* share() const {
    return reinterpret_cast<Share*>(value_.load(std::memory_order_relaxed) & ~kMarks);
  }
  bool may_count(bool is_write) const {
    return (value_.load(std::memory_order_relaxed) & (is_write ? writes : reads)) != 0;
  }
  void set(Share* share) {
    value_.store(reinterpret_cast<uintptr_t>(share), std::memory_order_relaxed);
  }
  void mark(uintptr_t marks) { value_.fetch_or(marks); }
  void unmark() { value_.fetch_and(~kMarks); }

  LineCounter counts;  ///< of which a PendingEntry tells

 private:
  static constexpr uintptr_t kMarks = reads | writes;
  std::atomic<uintptr_t> value_;
};

/// One thread's shares by page: a radix tree of its own, since pages that are used at random would
/// cost a search each time. The thread fills it; others may take entries out.
class ShareTable {
 public:
  static constexpr unsigned kLevelBits = 12, kCachedLeaves = 16;

  /// Null if the page is not there.
  Share* find(uintptr_t address) {
    const PageEntry* entry = find_entry(address);
    return entry == nullptr ? nullptr : entry->share();
  }
  /// Null if no page near it is there.
  PageEntry* find_entry(uintptr_t address) {
    const uint64_t region = address >> (kPageBits + kLevelBits);
    const Cached& cached = cache_[region % kCachedLeaves];
    Leaf* leaf = cached.region == region + 1 ? cached.leaf : find_leaf(region);
    if (leaf == nullptr) return nullptr;
    return &leaf->pages[address >> kPageBits & kMask];
  }
  /// Forgotten at once if memory is short.
  void set(uintptr_t address, Share* share);
  /// Takes out the pages in [low, high); any thread may.
  void erase(uintptr_t low, uintptr_t high);
  /// Accesses to the pages in [low, high) are not counted here any longer; any thread may.
  void unmark(uintptr_t low, uintptr_t high);
  /// Gives all memory back.
  void clear();

 private:
  static constexpr unsigned kFanOut = 1u << kLevelBits;
  static constexpr uintptr_t kMask = kFanOut - 1;
  struct Leaf {
    PageEntry pages[kFanOut];
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
  template <class Change>
  void change(uintptr_t low, uintptr_t high, Change change);
  Leaf* find_leaf(uint64_t region);
  Leaf* peek_leaf(uint64_t region) const;

  std::atomic<Root*> root_{nullptr};
  Cached cache_[kCachedLeaves]{};
};

}  // namespace fathom::numa
