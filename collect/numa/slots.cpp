#include "numa/slots.h"

#include "numa/alone.h"
#include "numa/options.h"
#include "numa/pages.h"

namespace fathom::numa {
namespace {

uint32_t life_of(const Share& share) {
  const bool has_lines = share.lines.load(std::memory_order_relaxed) != nullptr;
  return has_lines ? share.page_lines->life.load(std::memory_order_relaxed) : 0;
}

/// How a page is used. Another thread that changes it takes back after that what may be counted
/// without coming here; who gives leave looks once more after that: one of the two sees the other.
struct Standing {
  bool several, written, alone;
  bool operator==(const Standing&) const = default;
};
Standing standing_of(const Share& share) {
  return {share.several.load(), share.written.load(), is_alone(share)};
}

/// A counter is barred as the slot's bits say.
void set_bars(PageSlot& slot, uint64_t line) {
  LineCounter& counter = slot.counts[line & slot.mask];
  counter.reads = (counter.reads & ~kBarred) | ((slot.readable & bit_of(line)) ? 0 : kBarred);
  counter.writes = (counter.writes & ~kBarred) | ((slot.writable & bit_of(line)) ? 0 : kBarred);
}
void set_all_bars(PageSlot& slot) {
  if (slot.mask != 0 && (slot.readable & slot.writable) == ~uint64_t(0)) {
    for (unsigned line = 0; line < kLinesOfPage; ++line) {
      slot.counts[line].reads &= ~kBarred;
      slot.counts[line].writes &= ~kBarred;
    }
    return;
  }
  for (uint64_t line = 0; line <= slot.mask; ++line) set_bars(slot, line);
}

/// The counts of one line go to another share than before.
void change_line_share(Thread& thread, uint64_t line, Share*& from, Share& to,
                       LineCounter& counter) {
  if (from == &to) return;
  const LineCounter counts = counted(counter);
  if (from != nullptr && has_counted(counter) && thread.work->counting)
    count_into(thread, *from, line, counts.reads, counts.writes);
  clear(counter);
  from = &to;
}

uint64_t take_lines(Thread& thread, SlotTable& table, unsigned index) {
  const SlotUse& use = table.uses[index];
  const bool is_past =
      !use.by_line && life_of(*use.share) != use.life;  // then its lines are others' by now
  if (!use.by_line && !is_past && thread.work->counting)
    return count_lines(thread, *use.share, use.counts->lines);
  uint64_t found = 0;
  for (unsigned line = 0; line < kLinesOfPage; ++line) {
    LineCounter& counter = use.counts->lines[line];
    if (!has_counted(counter)) continue;
    const LineCounter counts = counted(counter);
    Share* share = use.by_line ? use.shares->lines[line] : use.share;
    if (thread.work->counting && is_past)
      count_in_page(thread, *share, counts.reads, counts.writes);
    else if (thread.work->counting)
      count_into(thread, *share, line, counts.reads, counts.writes);
    if (!is_past) found |= bit_of(line);
    clear(counter);
  }
  return found;
}

struct Taken {
  bool any;
  uint64_t lines;  ///< that had counts, if the page's lines are counted one by one
};
/// The counts of a slot go to its shares.
Taken take_counts(Thread& thread, PageSlot& slot, unsigned index) {
  SlotTable& table = *thread.work->slots;
  if (slot.mask != 0) {
    const uint64_t lines = take_lines(thread, table, index);
    return {lines != 0, lines};
  }
  const LineCounter counts = counted(slot.whole);
  const SlotUse& use = table.uses[index];
  const bool any = has_counted(slot.whole);
  if (any && thread.work->counting && use.is_alone && life_of(*use.share) == use.life)
    count_alone(thread, *use.share, counts.reads, counts.writes);
  else if (any && thread.work->counting)
    count_in_page(thread, *use.share, counts.reads, counts.writes);
  clear(slot.whole);
  return {any, 0};
}

/// A spare piece or a new one, zeroed; null if memory is short.
template <class Piece>
Piece* take_piece(Piece*& spare, Slab& slab) {
  Piece* piece = spare;
  if (piece == nullptr) return slab.make<Piece>();
  spare = piece->next;
  *piece = {};
  return piece;
}
template <class Piece>
void give_back(Piece*& spare, Piece*& piece) {
  if (piece == nullptr) return;
  piece->next = spare;
  spare = piece;
  piece = nullptr;
}

/// The slot is of nothing.
void drop(SlotTable& table, SlotUse& use) {
  give_back(table.spare_counts, use.counts);
  give_back(table.spare_shares, use.shares);
  use.share = nullptr;
}

/// Lists a slot whose use has been set.
void list(SlotTable& table, unsigned index) {
  SlotUse& use = table.uses[index];
  const UsedSlots::One one{index, use.counts != nullptr};
  if (use.is_listed) return table.used.set(use.position, one);
  use.is_listed = true;
  use.position = table.used.size();
  table.used.set(use.position, one);
  table.used.resize(use.position + 1);
}

/// Leaves those slots in the list of which keeps(index) is true.
template <class Keeps>
void filter(SlotTable& table, Keeps keeps) {
  uint32_t left = 0;
  for (uint32_t n = 0; n < table.used.size(); ++n) {
    const UsedSlots::One one = table.used[n];
    if (!keeps(one)) {
      table.uses[one.index].is_listed = false;
      continue;
    }
    table.uses[one.index].position = left;
    table.used.set(left++, one);
  }
  table.used.resize(left);
}

/// Between two phases in which a page is used, others and barriers may be.
constexpr uint8_t kMostIdle = 6;

/// Whether the slot would be the same if the thread came to the page in its next phase.
bool may_stay(const SlotUse& use, PageSlot& slot) {
  if (page_in(slot) != use.page) return false;
  const Share& share = *use.share;
  const bool written = share.written.load(std::memory_order_relaxed);
  if (!use.by_line) return slot.mask == 0 || written;
  // The first write in each phase makes the page's lines interesting.
  if (!written && share.several.load(std::memory_order_relaxed)) {
    slot.writable = 0;
    set_all_bars(slot);
  }
  return share.granules != nullptr &&
         share.granules->changes.load(std::memory_order_acquire) == use.changes;
}

/// Takes the counts of a slot that may stay. Whether it does.
bool stays(Thread& thread, PageSlot& slot, unsigned index) {
  SlotUse& use = thread.work->slots->uses[index];
  if (use.share == nullptr || !may_stay(use, slot)) return false;
  use.idle = take_counts(thread, slot, index).any ? 0 : uint8_t(use.idle + 1);
  return use.idle < kMostIdle;
}

/// The counts in entries go to their shares.
void take_pending(Thread& thread, SlotTable& table) {
  constexpr uint32_t kAhead = 8;
  for (uint32_t i = 0; i < table.pending_count; ++i) {
    if (i + kAhead < table.pending_count) __builtin_prefetch(table.pending[i + kAhead].share);
    const auto [entry, share] = table.pending[i];
    if (thread.work->counting && share != nullptr)
      count_in_page(thread, *share, entry->counts.reads, entry->counts.writes);
    entry->counts = {};
  }
  table.pending_count = 0;
}

}  // namespace

LineCounter* take_up(Thread& thread, uintptr_t address, Share& share) {
  SlotTable& table = *thread.work->slots;
  const uint64_t page = address >> kPageBits, line = address >> kLineBits;
  const auto index = static_cast<unsigned>(page % kCachedPages);
  PageSlot& slot = __fathom_numa_table[index];
  SlotUse& use = table.uses[index];
  const bool by_line = share.granules != nullptr;
  const Standing before = standing_of(share);
  const bool has_lines = counts_by_lines(thread, share);
  const uint32_t life = by_line ? 0 : life_of(share);
  const bool alone = has_lines && before.alone;
  const uint64_t mask = by_line || (has_lines && !alone) ? kLinesOfPage - 1 : 0;
  const uint32_t changes = by_line ? share.granules->changes.load(std::memory_order_acquire) : 0;
  const bool fits = use.share != nullptr && use.page == page && use.by_line == by_line &&
                    slot.mask == mask && use.life == life && use.changes == changes &&
                    use.is_alone == alone && (by_line || use.share == &share);
  if (!fits) {
    empty_slot(thread, __fathom_numa_table, index);
    use = {page, &share, life,    by_line,      alone,   use.is_listed,
           0,    0,      changes, use.position, nullptr, nullptr};
    if (mask != 0) use.counts = take_piece(table.spare_counts, thread.work->slab);
    if (by_line) use.shares = take_piece(table.spare_shares, thread.work->slab);
    if ((mask != 0 && use.counts == nullptr) || (by_line && use.shares == nullptr)) {
      drop(table, use);
      return nullptr;
    }
    list(table, index);
    slot.counts = mask == 0 ? &slot.whole : use.counts->lines;
    slot.mask = mask;
  }
  const bool begins = !fits || page_in(slot) != page;
  if (begins) slot.readable = slot.writable = 0;
  if (by_line)
    change_line_share(thread, line, use.shares->lines[line % kLinesOfPage], share,
                      slot.counts[line % kLinesOfPage]);
  const uint64_t known = has_lines ? hot_lines(share) : 0;
  const uint64_t lines = (by_line ? bit_of(line) : ~uint64_t(0)) & ~known;
  slot.readable |= lines;
  if (has_lines || !before.several) slot.writable |= lines;
  if (begins || !by_line)
    set_all_bars(slot);
  else
    set_bars(slot, line);
  __atomic_store_n(&slot.first_line, page << (kPageBits - kLineBits), __ATOMIC_SEQ_CST);
  if (!(standing_of(share) == before)) __atomic_store_n(&slot.first_line, 0, __ATOMIC_RELAXED);
  return &slot.counts[line & mask];
}

uint64_t empty_slot(Thread& thread, PageSlot* slots, unsigned index) {
  SlotTable& table = *thread.work->slots;
  SlotUse& use = table.uses[index];
  if (use.share == nullptr) return 0;
  PageSlot& slot = slots[index];
  __atomic_store_n(&slot.first_line, 0, __ATOMIC_RELAXED);
  slot.readable = slot.writable = 0;  // and barred when the slot is taken up again
  const uint64_t found = take_counts(thread, slot, index).lines;
  drop(table, use);
  return found;
}

void drop_slots(SlotTable& table, PageSlot* slots) {
  filter(table, [&](UsedSlots::One one) {
    drop(table, table.uses[one.index]);
    slots[one.index] = {};
    return false;
  });
  table.pending_count = 0;
}

bool is_taken(Thread& thread, uintptr_t address, const Share& share) {
  constexpr uint8_t kMostChallenges = 6;
  SlotUse& use = thread.work->slots->uses[address >> kPageBits & (kCachedPages - 1)];
  return use.share != nullptr && use.page != address >> kPageBits &&
         (share.granules != nullptr || counts_by_lines(thread, share)) &&
         ++use.challenges < kMostChallenges;
}

void count_in_entry(Thread& thread, PageEntry& entry, bool is_write, uint64_t count) {
  SlotTable& table = *thread.work->slots;
  LineCounter& counts = entry.counts;
  if ((counts.reads | counts.writes) == 0) {
    if (table.pending_count == kMostPending) take_pending(thread, table);
    table.pending[table.pending_count++] = {&entry, entry.share()};
  }
  (is_write ? counts.writes : counts.reads) += static_cast<uint32_t>(count);
}

void mark_entry(Thread& thread, uintptr_t address, const Share& share) {
  PageEntry* entry = thread.work->shares.find_entry(address);
  if (entry == nullptr || entry->share() != &share) return;
  if (share.granules != nullptr || counts_by_lines(thread, share)) return entry->unmark();
  const Standing before = standing_of(share);
  entry->mark(before.several ? PageEntry::reads : PageEntry::reads | PageEntry::writes);
  if (!(standing_of(share) == before)) entry->unmark();
}

void flush_slots(Thread& thread, PageSlot* slots, bool but_alone) {
  SlotTable& table = *thread.work->slots;
  take_pending(thread, table);
  const bool is_own = this_thread.thread == &thread;
  filter(table, [&](UsedSlots::One one) {
    const SlotUse& use = table.uses[one.index];
    if (but_alone && use.is_alone && page_in(slots[one.index]) == use.page) return true;
    if (is_own && stays(thread, slots[one.index], one.index)) return true;
    empty_slot(thread, slots, one.index);
    return false;
  });
}

namespace {

void look_at_lines(Thread& thread, unsigned index) {
  const SlotUse use = thread.work->slots->uses[index];
  if (!use.by_line) {
    if (const uint64_t lines = empty_slot(thread, __fathom_numa_table, index); lines != 0)
      look_for_hot_lines(thread, *use.share, lines);
    return;
  }
  const LineShares shares = *use.shares;
  for (uint64_t left = empty_slot(thread, __fathom_numa_table, index); left != 0; left &= left - 1)
    look_for_hot_lines(thread, *shares.lines[__builtin_ctzll(left)], left & -left);
}

/// A page that is counted as one keeps its slot if it is in use, and comes for one access.
bool keeps_slot(Thread& thread, unsigned index) {
  PageSlot& slot = __fathom_numa_table[index];
  SlotUse& use = thread.work->slots->uses[index];
  __atomic_store_n(&slot.first_line, 0, __ATOMIC_RELAXED);
  use.idle = take_counts(thread, slot, index).any ? 0 : uint8_t(use.idle + 1);
  if (use.idle < kMostIdle) return true;
  empty_slot(thread, __fathom_numa_table, index);
  return false;
}

}  // namespace

void look_around_slots(Thread& thread) {
  SlotTable& table = *thread.work->slots;
  take_pending(thread, table);
  const uint64_t now = thread.work->epoch;
  filter(table, [&](UsedSlots::One one) {
    if (!is_turn(one, now)) return true;
    if (table.uses[one.index].share == nullptr) return false;
    if (!one.is_lined) return keeps_slot(thread, one.index);
    look_at_lines(thread, one.index);
    return false;
  });
}

void forget_page(uint64_t number) {
  PageSlot& slot = slot_of(number << kPageBits);
  if (page_in(slot) == number) __atomic_store_n(&slot.first_line, 0, __ATOMIC_RELAXED);
}

void forget_lines(uintptr_t low, uintptr_t high) {
  PageSlot& slot = slot_of(low);
  if (page_in(slot) != low >> kPageBits) return;
  for (uint64_t line = low >> kLineBits; line <= (high - 1) >> kLineBits; ++line) {
    slot.readable &= ~bit_of(line);
    slot.writable &= ~bit_of(line);
    set_bars(slot, line);
  }
}

}  // namespace fathom::numa
