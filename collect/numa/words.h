#pragma once
// Which words of a line the threads access, phase by phase: whether two threads that take the line
// away from each other want the same data.

#include <atomic>
#include <cstdint>

#include "numa/abi.h"
#include "numa/slab.h"

namespace fathom::numa {

struct Share;

inline constexpr unsigned kWordsOfLine = 1u << (kLineBits - kWordBits);

/// What a thread did to the words of a line in one phase. Its thread counts; the rest is guarded by
/// the page's lock.
struct WordCounts {
  WordCounts* next;  ///< of the LineWords
  uint32_t phase;    ///< in which it is filled
  uint32_t uses;     ///< LineEntries and LineMembers that need it yet
  bool is_added;     ///< to the thread's words of the line
  std::atomic<uint32_t> reads[kWordsOfLine], writes[kWordsOfLine];  ///< saturating
};

/// Of one thread and line: the counts of its last phases, the present one's first. The thread
/// learns its words in one lesson; or, if it is not known then which it uses when others take the
/// line away, in a short one in each phase.
struct LineWords {
  WordCounts* counts;
  uint32_t lessons;        ///< how often it has begun
  uint32_t reads, writes;  ///< counted in this lesson
  uint32_t phases;         ///< in which they were
  double met, missed;      ///< Copy's, when the lessons began

  bool learns_by_phase() const { return lessons > 1; }
};

/// A sum of WordCounts, saturating.
struct Words {
  uint32_t reads[kWordsOfLine], writes[kWordsOfLine];
  uint32_t written;       ///< bit i: word i is
  bool is_second_choice;  ///< of phases in which nobody lost a copy of the line

  void add(const WordCounts& counts);
  bool any() const;
  /// Which part of the accesses is to these words; 0 if there are none.
  double part_in(uint32_t words) const;
};
Words words_of(const WordCounts& counts);

/// The words that [address, address + size) has in the line in which it begins.
uint32_t words_at(uintptr_t address, uint32_t size);

/// The thread's counts of a line in the present phase, which has begun for the share. Null if
/// memory is short, or if too many phases before it are not over.
WordCounts* counts_in_phase(Share& share, uint64_t line, uint32_t phase, Slab& slab);
/// The line's words of a share; null if there were none.
LineWords* line_words(const Share& share, unsigned line);
/// The counts of the phase that the share's present counts are of; null if there are none. The page
/// is locked.
WordCounts* counts_of_phase(const Share& share, unsigned line);
/// Adds the counts of `from` to those of `to`, which are the same thread's.
void merge(WordCounts& to, const WordCounts& from);

}  // namespace fathom::numa
