#pragma once
// The slots of a thread's table (abi.h), and from their counts to what is known of pages and lines.

#include <cstdint>

#include "numa/options.h"
#include "numa/page.h"
#include "numa/thread.h"

namespace fathom::numa {

inline constexpr uint32_t kMostPending = 1u << 15;

/// The counters of a slot's lines, and where they go, while it is of a page that needs them.
union LineCounts {
  LineCounts* next;  ///< spare ones
  LineCounter lines[kLinesOfPage];
};
union LineShares {
  LineShares* next;
  Share* lines[kLinesOfPage];
};

/// What a slot is of, and where its counts go.
struct SlotUse {
  uint64_t page;
  Share* share;        ///< null: of nothing
  uint32_t life;       ///< of the page (PageLines), unless by_line
  bool by_line;        ///< each line has its own share: small objects lie in the page
  bool is_alone;       ///< all lines are counted as one, though they are of interest
  bool is_listed;      ///< in SlotTable::used
  uint8_t idle;        ///< how often it had nothing to hand in
  uint8_t challenges;  ///< how often another page wanted its place
  uint32_t changes;    ///< by_line: of the page's granules
  uint32_t position;   ///< in SlotTable::used, if it is listed
  LineCounts* counts;  ///< null: the page's lines are counted as one
  LineShares* shares;  ///< by_line
};

/// The slots that may have counts. The list is its thread's; others may read it.
class UsedSlots {
 public:
  struct One {
    unsigned index;
    bool is_lined;  ///< the page's lines are counted one by one
  };
  uint32_t size() const { return size_.load(std::memory_order_acquire); }
  One operator[](uint32_t position) const {
    const uint16_t both = all_[position].load(std::memory_order_relaxed);
    return {both & (kCachedPages - 1u), (both & kLined) != 0};
  }
  void set(uint32_t position, One one) {
    all_[position].store(static_cast<uint16_t>(one.index | (one.is_lined ? kLined : 0u)),
                         std::memory_order_relaxed);
  }
  void resize(uint32_t size) { size_.store(size, std::memory_order_release); }

 private:
  static constexpr unsigned kLined = kCachedPages;
  static_assert(2 * kCachedPages <= 1u << 16);
  std::atomic<uint32_t> size_;
  std::atomic<uint16_t> all_[kCachedPages];
};

/// Of pages that are counted as one only some are looked at in each epoch: not so in runs that
/// count in some epochs only.
inline bool is_turn(UsedSlots::One one, uint64_t in_epoch) {
  constexpr uint64_t kTurns = 8;
  return one.is_lined || (one.index + in_epoch) % kTurns == 0 || options().sampling > 0;
}

/// A page whose accesses are counted in the thread's PageEntry, and where they go.
struct PendingPage {
  PageEntry* entry;
  Share* share;
};

/// A thread's slots beside what the fast path needs of them.
struct SlotTable {
  UsedSlots used;
  SlotUse uses[kCachedPages];
  LineCounts* spare_counts;
  LineShares* spare_shares;
  uint32_t pending_count;
  PendingPage pending[kMostPending];
};

inline PageSlot& slot_of(uintptr_t address) {
  return __fathom_numa_table[address >> kPageBits & (kCachedPages - 1)];
}
/// The page's number; 0: of none.
inline uint64_t page_in(const PageSlot& slot) {
  return __atomic_load_n(&slot.first_line, __ATOMIC_RELAXED) >> (kPageBits - kLineBits);
}
inline uint64_t bit_of(uint64_t line) {
  return uint64_t(1) << line % kLinesOfPage;
}

/// What a counter has counted.
inline LineCounter counted(const LineCounter& counter) {
  return {counter.reads & ~kBarred, counter.writes & ~kBarred};
}
inline bool has_counted(const LineCounter& counter) {
  return ((counter.reads | counter.writes) & ~kBarred) != 0;
}
/// Its counts have been taken.
inline void clear(LineCounter& counter) {
  counter.reads &= kBarred;
  counter.writes &= kBarred;
}

/// The counter of a line whose accesses go to `share`. The fast path finds it from now on, as far
/// as it may: it leaves out lines that are tracked by words, and writes to a page whose lines are
/// of interest from the first write on. Null if memory is short.
LineCounter* take_up(Thread& thread, uintptr_t address, Share& share);

/// Whether another page has the address's slot, and may keep it for now: two that are used in turns
/// would push each other out all the time. (Pages with an entry have counted there for long.)
bool is_taken(Thread& thread, uintptr_t address, const Share& share);

/// Adds accesses to a page that may be counted in its entry.
void count_in_entry(Thread& thread, PageEntry& entry, bool is_write, uint64_t count);
/// From now on accesses to the page of `share` may be, if no line of it is of interest.
void mark_entry(Thread& thread, uintptr_t address, const Share& share);

/// Moves a slot's counts to its shares; the slot is of nothing then. Returns which lines it had
/// counts of.
uint64_t empty_slot(Thread& thread, PageSlot* slots, unsigned index);
/// The thread's slots are of nothing, whatever they have counted.
void drop_slots(SlotTable& table, PageSlot* slots);
/// The counts of all slots. Slots of the calling thread stay if what they let it count is the same
/// in its next phase, until they are not used any longer.
/// `but_alone`: what is counted as one may wait.
void flush_slots(Thread& thread, PageSlot* slots, bool but_alone = false);
/// The calling thread's slots whose turn it is; lines that are worth it are tracked by words from
/// now on.
void look_around_slots(Thread& thread);

/// The calling thread comes to the runtime with its next access to the lines in [low, high), which
/// lie in one page.
void forget_lines(uintptr_t low, uintptr_t high);
/// The same for a page, by its number.
void forget_page(uint64_t number);

}  // namespace fathom::numa
