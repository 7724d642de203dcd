#pragma once

#include <cstdint>
#include <vector>

#include "numa/page.h"
#include "numa/slab.h"
#include "numa/words.h"

namespace fathom::numa {

struct LineMember;

/// What one thread did to a line in a phase that is not over for all threads.
struct LineEntry {
  LineEntry* next;
  uint32_t thread;
  uint32_t phase;
  uint64_t reads, writes;
  WordCounts* words = nullptr;   ///< null: they were not counted in this phase
  LineMember* member = nullptr;  ///< the thread's; null: none yet
};

/// A thread's copy of a line, and how often it is expected to have lost it.
struct Copy {
  uint32_t thread;
  bool holds;        ///< it accessed the line since another thread wrote it, as far as is known
  WordCounts* held;  ///< what it accessed then; null: the words were not counted
  double invalidations;
  double known;    ///< those of which it is known which words the thread and the writers accessed
  double by_same;  ///< of these: the words that the thread accesses
  /// Invalidations, of its copy or of others' by its writes, by whether the thread's words are
  /// known.
  double words_met, words_missed;
};

/// One thread's share of a line.
struct LineMember {
  LineMember* next;
  Copy copy;
  Words* words;  ///< of phases in which one lost its copy; null: none is known
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

/// Adds what `thread` did in `phase` to what is to be summed up. Null if memory is short.
LineMember* add_entry(SharedLine& line, const LineEntry& what, Slab& slab);
/// Null if it has none to do with the line.
LineMember* find_member(const SharedLine& line, uint32_t thread);
/// `thread` holds a copy since an earlier phase.
bool add_holder(SharedLine& line, uint32_t thread, Slab& slab);
/// Whether another thread than this holds a copy, as far as the phases are summed up.
bool is_held_by_others(const SharedLine& line, uint32_t thread);

/// Sums up all phases before `before`: the first that some thread may still be in.
void sum_up(SharedLine& line, uint32_t before);

/// What is expected of a thread if all phases ended now.
struct LineForecast {
  uint32_t thread;
  double invalidations;
  double true_invalidations;  ///< those of them by writes to words that the thread accesses
  Words words;                ///< that it accessed in phases in which one lost its copy
};
/// `more`: what threads have not handed in. Sorted by threads.
std::vector<LineForecast> forecast(const SharedLine& line, const std::vector<LineEntry>& more);

}  // namespace fathom::numa
