#include "numa/pages.h"

#include <algorithm>
#include <cstring>

#include "numa/lines.h"
#include "numa/objects.h"
#include "numa/options.h"
#include "numa/slots.h"
#include "numa/state.h"
#include "numa/words.h"

namespace fathom::numa {

std::atomic<uint64_t> epoch{1}, interval{0};

void next_epoch() {
  uint64_t now = epoch.load(std::memory_order_relaxed);
  while (now != kClosed && !epoch.compare_exchange_weak(now, now + 1, std::memory_order_acq_rel)) {
  }
}

namespace {

SpinLock memory_lock;  // guards what follows
Slab memory;
Granules* free_granules = nullptr;

Granules* take_granules() {
  Held held(memory_lock);
  Granules* granules = free_granules;
  if (granules == nullptr) return memory.make<Granules>();
  free_granules = granules->next;
  for (auto& object : granules->objects) object.store(0, std::memory_order_relaxed);
  return granules;
}

void give_back(Granules* granules) {
  Held held(memory_lock);
  granules->next = free_granules;
  free_granules = granules;
}

template <class Visit>
void for_each_share(Page& page, Visit visit) {
  for (auto* use = page.uses.load(std::memory_order_acquire); use != nullptr; use = use->next)
    for (auto* share = use->shares.load(std::memory_order_acquire); share != nullptr;
         share = share->next)
      visit(*share);
}

/// Sets a flag of a page, and has each thread come to the runtime at its next access there.
void announce(Page& page, std::atomic<bool> Page::*flag, std::atomic<bool> Share::*copy,
              uint64_t number) {
  {
    Held held(page.lock);
    if ((page.*flag).exchange(true, std::memory_order_relaxed)) return;
    for_each_share(page, [&](Share& share) { (share.*copy).store(true); });
  }
  clear_slots(number << kPageBits, (number + 1) << kPageBits);
}

/// The thread becomes the page's first if it has none. False: another is.
bool become_first(Page& page, const Thread& thread) {
  Held held(page.lock);
  if (page.first.load(std::memory_order_relaxed) != 0) return false;
  page.first.store(thread.index + 1, std::memory_order_release);
  for_each_share(page, [&](Share& share) {
    share.local.store(share.thread == thread.index, std::memory_order_relaxed);
  });
  return true;
}

void claim(Page& page, uint64_t number, const Thread& thread) {
  const uint32_t first = page.first.load(std::memory_order_acquire);
  if (first == thread.index + 1 || (first == 0 && become_first(page, thread))) return;
  if (!page.several.load(std::memory_order_relaxed))
    announce(page, &Page::several, &Share::several, number);
}

Use* use_of(Page& page, uint64_t number, uint32_t object, bool mixed, Slab& slab) {
  const auto find = [&]() -> Use* {
    for (auto* use = page.uses.load(std::memory_order_acquire); use != nullptr; use = use->next)
      if (use->object == object && use->mixed == mixed) return use;
    return nullptr;
  };
  if (Use* use = find(); use != nullptr) return use;
  Held held(page.lock);
  Use* use = find();
  if (use != nullptr) return use;
  use = slab.make<Use>();
  if (use == nullptr) return nullptr;
  use->next = page.uses.load(std::memory_order_relaxed);
  use->page = &page;
  use->number = number;
  use->object = object;
  use->mixed = mixed;
  page.uses.store(use, std::memory_order_release);
  return use;
}

void give_lines(Share& share, Slab& slab) {
  Use& use = *share.use;
  Held held(use.page->lock);
  auto& place = lines_of(use);
  PageLines* lines = place.load(std::memory_order_relaxed);
  if (lines == nullptr) {
    lines = slab.make<PageLines>();
    if (lines == nullptr) return;
    if (options().line_threshold == 0) lines->hot = ~uint64_t(0);
    place.store(lines, std::memory_order_release);
  }
  auto* counts = slab.make_array<LineCount>(kLinesOfPage);
  if (counts == nullptr) return;
  share.page_lines = lines;
  share.life = lines->life.load(std::memory_order_relaxed);
  share.lines.store(counts, std::memory_order_release);
}

Share* make_share(Thread& thread, Use& use) {
  Share* share = thread.work->slab.make<Share>();
  if (share == nullptr) return nullptr;
  share->use = &use;
  share->object = static_cast<uint16_t>(use.object);
  share->thread = static_cast<uint16_t>(thread.index);
  {
    Held held(use.page->lock);
    share->local = use.page->first.load(std::memory_order_relaxed) == thread.index + 1;
    // In a parallel phase others may come yet, and the counts until then are needed by line.
    share->several = thread.in_parallel || use.page->several.load(std::memory_order_relaxed);
    share->written = use.page->written.load(std::memory_order_relaxed);
    share->next = use.shares.load(std::memory_order_relaxed);
    use.shares.store(share, std::memory_order_release);
  }
  if (options().page_threshold == 0) give_lines(*share, thread.work->slab);
  return share;
}

void make_dirty(Thread& thread, Share& share) {
  share.reads_before = share.read_count();
  share.writes_before = share.write_count();
  share.dirty = true;
  share.next_dirty = thread.work->dirty;
  thread.work->dirty = &share;
}

/// The page is locked.
void open_phase(const Thread& thread, Share& share) {
  share.handed_in = false;
  share.phase = thread.phase.load(std::memory_order_relaxed);
  share.worded.store(0, std::memory_order_relaxed);
}

/// `touched`: lines that have counts already, those in `counters`.
void begin_phase(Thread& thread, Share& share, const LineCounter* counters = nullptr,
                 uint64_t touched = 0) {
  {
    Held held(share.use->page->lock);
    open_phase(thread, share);
    LineCount* lines = share.lines.load(std::memory_order_relaxed);
    if (lines != nullptr && counters != nullptr) {
      for (unsigned line = 0; line < kLinesOfPage; ++line) lines[line].set(counters[line]);
    } else {
      for (uint64_t left = share.touched; left != 0; left &= left - 1)
        lines[__builtin_ctzll(left)].clear();
    }
    share.touched = touched;
    if (lines != nullptr) share.life = share.page_lines->life.load(std::memory_order_relaxed);
  }
  make_dirty(thread, share);
}

uint64_t lines_with_counts(const LineCounter* counters) {
  constexpr uint64_t kCounts = ~(uint64_t(kBarred) << 32 | kBarred);
  constexpr unsigned kAtOnce = 8;  // many pages that are in the table are not used in each phase
  uint64_t found = 0;
  for (unsigned line = 0; line < kLinesOfPage; line += kAtOnce) {
    uint64_t all[kAtOnce], any = 0;
    std::memcpy(all, counters + line, sizeof all);
    for (uint64_t& both : all) any |= both &= kCounts;
    if (any == 0) continue;
    for (unsigned i = 0; i < kAtOnce; ++i) found |= uint64_t(all[i] != 0) << (line + i);
  }
  return found;
}

void add_saturating(std::atomic<uint32_t>& value, uint64_t n) {
  const uint64_t sum = value.load(std::memory_order_relaxed) + n;
  value.store(static_cast<uint32_t>(std::min<uint64_t>(sum, 0xffffffff)),
              std::memory_order_relaxed);
}

}  // namespace

Share* find_share(Thread& thread, uintptr_t address) {
  Work& work = *thread.work;
  const uint64_t number = address >> kPageBits;
  Page* page = make_page(address);
  if (page == nullptr) return nullptr;
  claim(*page, number, thread);
  auto* granules = page->granules.load(std::memory_order_acquire);
  Use* use;
  if (granules != nullptr) {
    use = use_of(*page, number, object_at(*granules, address), true, work.slab);
  } else {
    use = page->current.load(std::memory_order_acquire);
    if (use == nullptr) {
      use = use_of(*page, number, find_object(address), false, work.slab);
      if (use != nullptr) page->current.store(use, std::memory_order_release);
    }
  }
  if (use == nullptr) return nullptr;
  Share* share = use->shares.load(std::memory_order_acquire);
  while (share != nullptr && share->thread != thread.index) share = share->next;
  if (share == nullptr) share = make_share(thread, *use);
  if (share == nullptr) return nullptr;
  if (share->lines.load(std::memory_order_relaxed) != nullptr &&
      share->life != share->page_lines->life.load(std::memory_order_relaxed)) {
    Held held(page->lock);
    leave_past_life(*share);
  }
  share->granules = granules;
  work.shares.set(address, share);
  return share;
}

bool is_own(const Share& share) {
  return this_thread.thread != nullptr && this_thread.thread->index == share.thread;
}

void begin_page_phase(Thread& thread, Share& share) {
  {
    Held held(share.use->page->lock);
    open_phase(thread, share);
  }
  make_dirty(thread, share);
}

void track_by_lines(Thread& thread, Share& share) {
  const Use& use = *share.use;
  // Only what happens from now on counts if others are yet to come: what a thread set up before
  // they came need not be tracked while they only read it.
  if (!share.written.load(std::memory_order_relaxed) &&
      use.page->several.load(std::memory_order_relaxed))
    announce(*use.page, &Page::written, &Share::written, use.number);
  if (share.lines.load(std::memory_order_relaxed) == nullptr) give_lines(share, thread.work->slab);
  if (share.lines.load(std::memory_order_relaxed) != nullptr) come_to(share);
}

void count_in_page(Thread& thread, Share& share, uint64_t reads, uint64_t writes) {
  if (!share.dirty) begin_phase(thread, share);
  const int remote = share.local.load(std::memory_order_relaxed) ? 0 : 1;
  if (reads > 0) {
    share.reads[remote].add(reads);
    thread.reads.add(reads);
  }
  if (writes > 0) {
    share.writes[remote].add(writes);
    thread.writes.add(writes);
  }
}

void count_into(Thread& thread, Share& share, uint64_t line, uint64_t reads, uint64_t writes) {
  count_in_page(thread, share, reads, writes);
  consider_lines(thread, share, writes > 0);
  LineCount* lines = share.lines.load(std::memory_order_relaxed);
  if (lines == nullptr) return;
  LineCount& count = lines[line % kLinesOfPage];
  share.touched |= uint64_t(1) << line % kLinesOfPage;
  count.add(reads, writes);
}

uint64_t count_lines(Thread& thread, Share& share, LineCounter* counters) {
  const uint64_t found = lines_with_counts(counters);
  if (found == 0) return 0;
  if (!share.dirty) {
    begin_phase(thread, share, counters, found);
  } else {
    LineCount* lines = share.lines.load(std::memory_order_relaxed);
    for (uint64_t left = found; left != 0; left &= left - 1) {
      const int line = __builtin_ctzll(left);
      const LineCounter counts = counted(counters[line]);
      lines[line].add(counts.reads, counts.writes);
    }
    share.touched |= found;
  }
  uint64_t reads = 0, writes = 0;
  for (unsigned line = 0; line < kLinesOfPage; ++line) {
    reads += counters[line].reads & ~kBarred;
    writes += counters[line].writes & ~kBarred;
    clear(counters[line]);
  }
  count_in_page(thread, share, reads, writes);
  return found;
}

namespace {

/// Accesses of a line by a thread: then it is known which words it uses, and its accesses are quick
/// again. Or fewer if they are of some phases: what comes is likely to be like these.
constexpr uint32_t kEnoughByWords = 128, kEnoughInPhases = 64, kEnoughPhases = 4;
constexpr uint32_t kEnoughOfPhase = 8;
bool is_enough(const LineWords& words) {
  const uint32_t accesses = words.reads + words.writes;
  if (words.learns_by_phase())
    return accesses >= kEnoughInPhases ||
           (words.reads >= kEnoughOfPhase && words.writes >= kEnoughOfPhase);
  return accesses >= kEnoughByWords ||
         (accesses >= kEnoughInPhases && words.phases >= kEnoughPhases);
}

}  // namespace

void count_words(Thread& thread, Share& share, uintptr_t address, uint32_t size, bool is_write,
                 uint64_t times, int64_t stride) {
  const uint64_t line = address >> kLineBits;
  count_into(thread, share, line, is_write ? 0 : times, is_write ? times : 0);
  WordCounts* counts =
      counts_in_phase(share, line, thread.phase.load(std::memory_order_relaxed), thread.work->slab);
  if (counts == nullptr) return;
  LineWords& learned = *line_words(share, line % kLinesOfPage);
  (is_write ? learned.writes : learned.reads) +=
      static_cast<uint32_t>(std::min<uint64_t>(times, kEnoughByWords));
  if (is_enough(learned) && options().line_threshold > 0)
    share.learned |= uint64_t(1) << line % kLinesOfPage;
  auto* by_word = is_write ? counts->writes : counts->reads;
  const uint64_t rounds = stride == 0 ? 1 : times, each = stride == 0 ? times : 1;
  for (uint64_t i = 0; i < rounds; ++i) {
    uint32_t words = words_at(address + i * static_cast<uint64_t>(stride), size);
    for (; words != 0; words &= words - 1) add_saturating(by_word[__builtin_ctz(words)], each);
  }
}

void reset_pages(uintptr_t low, uintptr_t high, bool forget_first) {
  struct Change {
    bool forget_first, any;
  } change{forget_first, false};
  const auto reset = [](uint64_t, Page& page, void* data) {
    auto& how = *static_cast<Change*>(data);
    Held held(page.lock);
    if (page.uses.load(std::memory_order_relaxed) != nullptr) how.any = true;
    page.current.store(nullptr, std::memory_order_release);
    if (how.forget_first) {
      page.first.store(0, std::memory_order_release);
      page.several.store(false, std::memory_order_relaxed);
      page.written.store(false, std::memory_order_relaxed);
      if (auto* lines = page.mixed_lines.load(std::memory_order_relaxed)) begin_life(*lines);
      for (auto* use = page.uses.load(); use != nullptr; use = use->next)
        if (auto* lines = use->lines.load(std::memory_order_relaxed)) begin_life(*lines);
      for_each_share(page, [](Share& share) {
        share.several.store(false, std::memory_order_relaxed);
        share.written.store(false, std::memory_order_relaxed);
      });
    }
    if (auto* granules = page.granules.exchange(nullptr, std::memory_order_acq_rel))
      give_back(granules);
  };
  visit_pages(low, high, reset, &change);
  if (!change.any) return;
  forget_shares(low, high);
  clear_slots(low, high);
}

void mark_granules(uintptr_t low, uintptr_t high, uint32_t object) {
  Page* page = make_page(low);
  if (page == nullptr) return;
  bool changes_meaning = false, is_reused = false;
  auto* granules = page->granules.load(std::memory_order_acquire);
  if (granules == nullptr) {
    Held held(page->lock);
    granules = page->granules.load(std::memory_order_relaxed);
    if (granules == nullptr) granules = take_granules();
    if (granules == nullptr) return;
    page->granules.store(granules, std::memory_order_release);
    page->current.store(nullptr, std::memory_order_release);
    changes_meaning = page->uses.load(std::memory_order_relaxed) != nullptr;
  }
  const size_t first = low >> kGranuleBits & (kGranules - 1);
  const size_t last = (high - 1) >> kGranuleBits & (kGranules - 1);
  for (size_t i = first; i <= last; ++i) {
    const uint16_t before =
        granules->objects[i].exchange(static_cast<uint16_t>(object), std::memory_order_relaxed);
    is_reused = is_reused || (before != 0 && before != object);
  }
  if (is_reused) granules->changes.fetch_add(1, std::memory_order_release);
  if (changes_meaning) {
    forget_shares(low, high);
    clear_slots(low, high);
  } else if (this_thread.thread != nullptr) {
    // Of a block that was freed and is used again, only this thread is likely to know the lines.
    forget_lines(low, high);
  }
}

}  // namespace fathom::numa
