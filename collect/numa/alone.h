#pragma once
// A page that has been one thread's alone for some phases, with all its lines, is counted as one,
// and not handed in at barriers: that saves most of what the end of a phase costs. Its counts by
// line stay those of the last phase that had them. If another thread comes they stand for the phase
// in which it does, as if the first one had done the same again, and the page is counted by lines
// from then on.

#include <cstdint>

#include "numa/page.h"
#include "numa/thread.h"

namespace fathom::numa {

inline bool is_alone(const Share& share) {
  return share.lines.load(std::memory_order_relaxed) != nullptr &&
         share.page_lines->alone.load() == share.thread + 1;
}

/// Adds to the counts of a page that its thread has counted as one.
void count_alone(Thread& thread, Share& share, uint64_t reads, uint64_t writes);

/// The thread has handed in a phase of a share, in which it accessed lines of its own only, or did
/// not. The page is locked.
void note_phase(Share& share, bool had_own_lines_only);

/// Another thread than the share's no longer counts the page as one, if it did.
void end_alone(Share& share);
inline void come_to(Share& share) {
  const uint16_t alone = share.page_lines->alone.load(std::memory_order_relaxed);
  if (alone != 0 && alone != share.thread + 1) end_alone(share);
}

}  // namespace fathom::numa
