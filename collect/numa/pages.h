#pragma once
// What threads did in pages, and to lines.

#include <cstdint>

#include "numa/alone.h"
#include "numa/page.h"
#include "numa/thread.h"

namespace fathom::numa {

/// Changes whenever all threads must look around: each 10 ms, and when memory changed its meaning.
/// kClosed: nothing is counted any longer.
inline constexpr uint64_t kClosed = ~uint64_t(0);
extern std::atomic<uint64_t> epoch;
void next_epoch();
/// Counts the milliseconds, for sampling.
extern std::atomic<uint64_t> interval;

inline uint32_t object_at(const Granules& granules, uintptr_t address) {
  return granules.objects[address >> kGranuleBits & (kGranules - 1)].load(
      std::memory_order_relaxed);
}

/// Where this thread's accesses at an address are counted. Null if memory is short.
Share* find_share(Thread& thread, uintptr_t address);

inline Share* share_for(Thread& thread, uintptr_t address) {
  Share* share = thread.work->shares.find(address);
  if (__builtin_expect(share != nullptr, 1) &&
      (share->granules == nullptr || object_at(*share->granules, address) == share->object))
    return share;
  return find_share(thread, address);
}

/// What begins with the first counts of a share in a phase.
void begin_page_phase(Thread& thread, Share& share);
/// Whether the share is the calling thread's.
bool is_own(const Share& share);
/// Adds to a share's counts. The share's present phase begins if this is the first time in it.
void count_into(Thread& thread, Share& share, uint64_t line, uint64_t reads, uint64_t writes);
/// Takes the counters of a page's lines. Returns which lines had any.
uint64_t count_lines(Thread& thread, Share& share, LineCounter* counters);
/// Where lines are of no interest.
void count_in_page(Thread& thread, Share& share, uint64_t reads, uint64_t writes);
/// `times` accesses to a line that is tracked by words, `stride` bytes apart.
void count_words(Thread& thread, Share& share, uintptr_t address, uint32_t size, bool is_write,
                 uint64_t times, int64_t stride);

void track_by_lines(Thread& thread, Share& share);

/// A page that several threads access is tracked by lines from its next write on.
inline void consider_lines(Thread& thread, Share& share, bool is_write) {
  const bool written = share.written.load(std::memory_order_relaxed);
  if (share.lines.load(std::memory_order_relaxed) != nullptr && (written || !is_write))
    return come_to(share);
  if (share.several.load(std::memory_order_relaxed) && (is_write || written))
    track_by_lines(thread, share);
}

/// Whether the thread's accesses count by lines: others write the page, or it does so itself in
/// this phase, while others may yet come.
inline bool counts_by_lines(const Thread& thread, const Share& share) {
  return share.lines.load(std::memory_order_relaxed) != nullptr &&
         (share.written.load(std::memory_order_relaxed) ||
          share.write_phase == thread.phase.load(std::memory_order_relaxed) + 1);
}

/// Lines that this share counts by words, if it has lines.
inline uint64_t hot_lines(const Share& share) {
  return share.page_lines->hot.load(std::memory_order_relaxed) & ~share.learned;
}
inline bool is_hot(const Share& share, uint64_t line) {
  return share.lines.load(std::memory_order_relaxed) != nullptr &&
         (hot_lines(share) >> (line % kLinesOfPage) & 1) != 0;
}

/// The memory is another's from now on: nobody owns lines that nobody shares. The page is locked.
void begin_life(PageLines& lines);
/// What a share counted by lines in an earlier life of its page is nobody's business: drops it.
void leave_past_life(Share& share);
/// Ends the phase `tag` of a share.
void close_share(Thread& thread, Share& share, uint32_t tag, uint32_t first_open);
/// Of these lines of a share, those that are worth it are tracked by words from now on.
void look_for_hot_lines(Thread& thread, Share& share, uint64_t lines);

/// The pages in [low, high) belong to something else from now on; `forget_first`: and have no first
/// thread.
void reset_pages(uintptr_t low, uintptr_t high, bool forget_first);
/// The bytes [low, high), which lie in one page, belong to `object`.
void mark_granules(uintptr_t low, uintptr_t high, uint32_t object);

/// Where the PageLines of a use are.
inline std::atomic<PageLines*>& lines_of(Use& use) {
  return use.mixed ? use.page->mixed_lines : use.lines;
}

}  // namespace fathom::numa
