#pragma once

#include <cstdint>
#include <vector>

#include "numa/page.h"
#include "numa/slab.h"

namespace fathom::numa {

/// What one thread did to a line in a phase that is not over for all threads.
struct LineEntry {
  LineEntry* next;
  uint32_t thread;
  uint32_t phase;
  uint64_t reads, writes;
};

/// One thread's share of a line.
struct LineMember {
  LineMember* next;
  uint32_t thread;
  bool holds;  ///< it accessed the line since another thread wrote it, as far as is known
  double invalidations;
};

/// A line that several threads accessed. Guarded by the page's lock.
struct SharedLine {
  uint32_t object;
  uint32_t open;  ///< entries
  LineEntry* entries;
  LineEntry* spare;  ///< a long run has many phases
  LineMember* members;
  uint64_t reads, writes;  ///< in phases in which no thread was alone with it
};

/// Expected invalidations of a thread's copy of a line in one phase, in which it accessed the line
/// `accesses` times (a read and the write after it are one) and the others wrote it `writes` times,
/// in random order: how many runs of its accesses, the copy that it already holds included, end
/// with another's write.
double expected_invalidations(uint64_t accesses, uint64_t writes, bool holds);

/// Adds what `thread` did in `phase` to what is to be summed up. False if memory is short.
bool add_entry(SharedLine& line, uint32_t thread, uint32_t phase, uint64_t reads, uint64_t writes,
               Slab& slab);
/// The same; `before` is the first phase that some thread may still be
/// in: earlier ones are summed up.
bool add_to_line(SharedLine& line, uint32_t thread, uint32_t phase, uint64_t reads, uint64_t writes,
                 uint32_t before, Slab& slab);
/// `thread` holds a copy since an earlier phase.
bool add_holder(SharedLine& line, uint32_t thread, Slab& slab);
/// Whether another thread than this holds a copy, as far as the phases are summed up.
bool is_held_by_others(const SharedLine& line, uint32_t thread);

/// Sums up all phases before `before`.
void sum_up(SharedLine& line, uint32_t before);

/// What is expected of a thread if all phases ended now. `more`: what threads have not handed in.
struct LineForecast {
  uint32_t thread;
  double invalidations;
};
std::vector<LineForecast> forecast(const SharedLine& line, const std::vector<LineEntry>& more);

}  // namespace fathom::numa
