// The ends of phases: what a thread did to the lines that it shares with others.
//
// A line has an owner as long as one thread alone accesses it, and does not write it while others
// hold copies. The owner's counts of its last phase then stay in its Share, and cost nothing; the
// next other thread takes them over, and from then on each phase of each thread is an entry of the
// SharedLine, until one thread is alone with it again.

#include "numa/lines.h"
#include "numa/options.h"
#include "numa/pages.h"
#include "numa/slots.h"
#include "numa/state.h"

namespace fathom::numa {
namespace {

/// The owner hands over: what it did in its last phase, and whether it held the line before.
void take_over_from_owner(Page& page, SharedLine& shared, const PageLines* lines, unsigned line,
                          Slab& slab) {
  const uint32_t owner = lines->owner[line] - 1u;
  bool working = false, found = false;
  for (auto* use = page.uses.load(); use != nullptr; use = use->next) {
    if (lines_of(*use).load(std::memory_order_relaxed) != lines) continue;
    for (auto* share = use->shares.load(); share != nullptr; share = share->next) {
      if (share->thread != owner || share->lines.load(std::memory_order_relaxed) == nullptr ||
          share->life != lines->life.load(std::memory_order_relaxed))
        continue;
      working = working || !share->handed_in;
      if (!share->handed_in) continue;
      LineCount& count = share->lines.load(std::memory_order_relaxed)[line];
      if (!count.any()) continue;
      add_entry(shared,
                {nullptr, owner, share->phase, count.read_count(), count.write_count(),
                 counts_of_phase(*share, line)},
                slab);
      count.clear();
      found = true;
    }
  }
  // A thread that still works there hands its counts in itself.
  if ((lines->kept >> line & 1) != 0 || (!found && !working)) add_holder(shared, owner, slab);
}

/// The line's shared record, for a line that `share`'s thread is not alone with. Null: it is, or
/// memory is short.
SharedLine* shared_line(Share& share, unsigned line, Slab& slab) {
  PageLines& lines = *share.page_lines;
  const auto me = static_cast<uint16_t>(share.thread + 1);
  if (lines.owner[line] == 0) lines.set_owner(line, me);
  const uint16_t owner = lines.owner[line];
  if (owner == me) return nullptr;
  SharedLine** all = lines.shared.load(std::memory_order_relaxed);
  if (owner == kShared) return all[line];
  if (all == nullptr) {
    all = slab.make_array<SharedLine*>(kLinesOfPage);
    if (all == nullptr) return nullptr;
    lines.shared.store(all, std::memory_order_release);
  }
  if (all[line] == nullptr) {
    auto* shared = slab.make<SharedLine>();
    if (shared == nullptr) return nullptr;
    shared->object = share.use->object;
    all[line] = shared;
  }
  take_over_from_owner(*share.use->page, *all[line], &lines, line, slab);
  lines.set_owner(line, kShared);
  lines.kept &= ~(uint64_t(1) << line);
  lines.copies &= ~(uint64_t(1) << line);
  return all[line];
}

/// The line is tracked by words from now on. Returns its bit if it was not before.
uint64_t heat(PageLines& lines, unsigned line) {
  const uint64_t bit = uint64_t(1) << line;
  return bit & ~lines.hot.fetch_or(bit, std::memory_order_relaxed);
}

/// Nobody counts the page as one any longer. Returns a line of it if somebody did.
uint64_t leave_alone(PageLines& lines) {
  return lines.alone.exchange(0) != 0 ? 1 : 0;
}

/// Each thread comes to the runtime with its next access to these lines.
void call_in(const Use& use, uint64_t lines) {
  for (; lines != 0; lines &= lines - 1) {
    const uintptr_t low = use.number << kPageBits | static_cast<uintptr_t>(__builtin_ctzll(lines))
                                                        << kLineBits;
    clear_slots(low, low + 1);
  }
}

/// The line has an owner if only `thread` accessed it since phase `tag` began.
bool settles(PageLines& lines, unsigned line, uint32_t thread, const LineCount& count, uint32_t tag,
             uint32_t first_open) {
  SharedLine& shared = *lines.shared.load(std::memory_order_relaxed)[line];
  sum_up(shared, first_open);
  if (first_open < tag || shared.open > 0) return false;
  const bool copies = is_held_by_others(shared, thread);
  if (copies && count.write_count() > 0) return false;
  const uint64_t bit = uint64_t(1) << line;
  lines.copies = copies ? lines.copies | bit : lines.copies & ~bit;
  return true;
}

void own(PageLines& lines, unsigned line, uint16_t owner, uint32_t tag) {
  lines.set_owner(line, owner);
  lines.owned_since = tag;
}

/// The first one that comes to a line owns it. Which words it accesses is of no interest.
void own_first(PageLines& lines, unsigned line, uint16_t owner, uint32_t tag) {
  own(lines, line, owner, tag);
  if (options().line_threshold > 0)
    lines.hot.fetch_and(~(uint64_t(1) << line), std::memory_order_relaxed);
}

/// The owner writes while others hold copies: they lose them.
void end_ownership(PageLines& lines, unsigned line, uint32_t owner, Slab& slab) {
  const uint64_t bit = uint64_t(1) << line;
  if ((lines.kept & bit) != 0)
    add_holder(*lines.shared.load(std::memory_order_relaxed)[line], owner, slab);
  lines.kept &= ~bit;
  lines.copies &= ~bit;
  lines.set_owner(line, kShared);
}

/// The share's lines that its thread owns, as far as they are quickly found and others have no
/// copies: all that a phase changes is that the owner has kept them.
uint64_t keep_own_lines(const Share& share, uint32_t tag) {
  PageLines& lines = *share.page_lines;
  if (lines.main_owner != share.thread + 1) return 0;
  const uint64_t own = share.touched & lines.of_main_owner & ~lines.copies;
  if (tag > lines.owned_since) lines.kept |= own;
  return own;
}

/// Whether the thread does not know the words that it uses when others take the line away, or when
/// it does: it learned them in phases in which nobody did.
bool must_learn(LineWords& words, const Copy& copy) {
  constexpr uint32_t kMostLessons = 16;
  const double met = copy.words_met - words.met, missed = copy.words_missed - words.missed;
  if (words.lessons > 0 && (words.learns_by_phase() ? met > missed : met >= missed)) return false;
  if (!words.learns_by_phase()) words.met = copy.words_met, words.missed = copy.words_missed;
  return words.lessons++ > 0 && words.lessons <= kMostLessons;
}

/// The end of a phase, and perhaps of a lesson.
void learn_again(Share& share, unsigned line, const LineMember* member) {
  const uint64_t bit = uint64_t(1) << line;
  const bool learned = (share.learned & bit) != 0;
  if (member == nullptr || !(learned || counts_of_phase(share, line) != nullptr)) return;
  LineWords& words = *line_words(share, line);
  if (!learned && !words.learns_by_phase()) return;
  share.learned |= bit;
  if (!must_learn(words, member->copy)) return;
  share.learned &= ~bit;
  words.reads = words.writes = 0;
  const uintptr_t low = share.use->number << kPageBits | uintptr_t(line) << kLineBits;
  if (is_own(share)) forget_lines(low, low + 1);
}

void hand_in_line(Thread& thread, Share& share, unsigned line, uint32_t tag, SharedLine& shared) {
  LineCount& count = share.lines.load(std::memory_order_relaxed)[line];
  const LineEntry entry{nullptr,
                        share.thread,
                        tag,
                        count.read_count(),
                        count.write_count(),
                        counts_of_phase(share, line)};
  count.clear();
  const LineMember* member = add_entry(shared, entry, thread.work->slab);
  if (member == nullptr) thread.not_counted.add(entry.reads + entry.writes);
  learn_again(share, line, member);
}

/// Hands in a phase of a share's lines; the page is locked. Returns those that threads must come
/// for.
uint64_t close_lines(Thread& thread, Share& share, uint32_t tag, uint32_t first_open) {
  LineCount* lines = share.lines.load(std::memory_order_relaxed);
  const auto me = static_cast<uint16_t>(share.thread + 1);
  if (lines == nullptr) return 0;
  leave_past_life(share);
  if (is_alone(share)) return 0;
  uint64_t heated = leave_alone(*share.page_lines);
  uint64_t left = share.touched & ~keep_own_lines(share, tag);
  note_phase(share, left == 0 && share.touched != 0);
  for (; left != 0; left &= left - 1) {
    const auto line = static_cast<unsigned>(__builtin_ctzll(left));
    PageLines& page_lines = *share.page_lines;
    LineCount& count = lines[line];
    if (page_lines.owner[line] == 0) own_first(page_lines, line, me, tag);
    if (page_lines.owner[line] == me && (page_lines.copies >> line & 1) != 0 &&
        count.write_count() > 0)
      end_ownership(page_lines, line, share.thread, thread.work->slab);
    if (page_lines.owner[line] == me) {
      if (tag > page_lines.owned_since) page_lines.kept |= uint64_t(1) << line;
      continue;
    }
    SharedLine* shared = shared_line(share, line, thread.work->slab);
    if (shared == nullptr) continue;
    if (settles(page_lines, line, share.thread, count, tag, first_open)) {
      own(page_lines, line, me, tag);
      learn_again(share, line, find_member(*shared, share.thread));
      continue;
    }
    hand_in_line(thread, share, line, tag, *shared);
    if (shared->writes >= options().line_threshold) heated |= heat(page_lines, line);
  }
  return heated;
}

}  // namespace

void begin_life(PageLines& lines) {
  lines.life.fetch_add(1, std::memory_order_relaxed);
  for (unsigned line = 0; line < kLinesOfPage; ++line)
    if (lines.owner[line] != kShared) lines.set_owner(line, 0);
  lines.kept = lines.copies = 0;
  lines.alone.store(0);
}

void leave_past_life(Share& share) {
  const PageLines& lines = *share.page_lines;
  const uint32_t now = lines.life.load(std::memory_order_relaxed);
  if (share.life == now) return;
  share.life = now;
  for (uint64_t left = share.touched; left != 0; left &= left - 1) {
    const auto line = static_cast<unsigned>(__builtin_ctzll(left));
    if (lines.owner[line] == kShared) continue;
    share.lines.load(std::memory_order_relaxed)[line].clear();
    share.touched &= ~(uint64_t(1) << line);
  }
}

void close_share(Thread& thread, Share& share, uint32_t tag, uint32_t first_open) {
  Use& use = *share.use;
  uint64_t heated = 0;
  {
    Held held(use.page->lock);
    share.dirty = false;
    share.handed_in = true;
    share.phase = tag;
    const uint64_t reads = share.read_count() - share.reads_before;
    const bool wrote = share.write_count() > share.writes_before;
    if (wrote && tag + 1 > use.last_write_phase) {
      use.last_write_phase = tag + 1;
      use.reads_after.store(0, std::memory_order_relaxed);
      use.remote_after.store(0, std::memory_order_relaxed);
    } else if (tag + 1 > use.last_write_phase) {
      use.reads_after.fetch_add(reads, std::memory_order_relaxed);
      if (!share.local.load(std::memory_order_relaxed))
        use.remote_after.fetch_add(reads, std::memory_order_relaxed);
    }
    heated = close_lines(thread, share, tag, first_open);
  }
  call_in(use, heated);
}

void look_for_hot_lines(Thread& thread, Share& share, uint64_t lines) {
  const LineCount* counts = share.lines.load(std::memory_order_relaxed);
  if (counts == nullptr) return;
  const uint32_t threshold = options().line_threshold;
  uint64_t heated = 0;
  {
    Held held(share.use->page->lock);
    if (!is_alone(share)) heated = leave_alone(*share.page_lines);
    for (; lines != 0; lines &= lines - 1) {
      const auto line = static_cast<unsigned>(__builtin_ctzll(lines));
      if (!counts[line].any()) continue;
      const SharedLine* shared = shared_line(share, line, thread.work->slab);
      if (shared != nullptr &&
          (counts[line].write_count() >= threshold || shared->writes >= threshold))
        heated |= heat(*share.page_lines, line);
    }
  }
  call_in(*share.use, heated);
}

}  // namespace fathom::numa
