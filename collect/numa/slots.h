#pragma once
// The slots of a thread's table (abi.h), and from their counts to what is known of pages and lines.

#include <cstdint>

#include "numa/page.h"
#include "numa/thread.h"

namespace fathom::numa {

inline constexpr uint32_t kMostPending = 1u << 15;

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
};

/// A page whose accesses are counted in the thread's PageEntry, and where they go.
struct PendingPage {
  PageEntry* entry;
  Share* share;
};

/// A thread's slots beside what the fast path needs of them.
struct SlotTable {
  uint32_t used_count;
  uint16_t used[kCachedPages];  ///< slots that may have counts
  SlotUse uses[kCachedPages];
  LineCounter counts[kCachedPages][kLinesOfPage];
  Share* line_shares[kCachedPages][kLinesOfPage];  ///< of slots by line
  uint32_t pending_count;
  PendingPage pending[kMostPending];
};

inline PageSlot& slot_of(uintptr_t address) {
  return __fathom_numa_pages[address >> kPageBits & (kCachedPages - 1)];
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
/// of interest from the first write on.
LineCounter& take_up(Thread& thread, uintptr_t address, Share& share);

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
/// The counts of all slots. Slots of the calling thread stay if what they let it count is the same
/// in its next phase, until they are not used any longer.
/// `but_alone`: what is counted as one may wait.
void flush_slots(Thread& thread, PageSlot* slots, bool but_alone = false);
/// All slots of the calling thread; lines that are worth it are tracked by words from now on.
void look_around_slots(Thread& thread);

/// The calling thread comes to the runtime with its next access to the lines in [low, high), which
/// lie in one page.
void forget_lines(uintptr_t low, uintptr_t high);
/// The same for a page, by its number.
void forget_page(uint64_t number);

}  // namespace fathom::numa
