#include "numa/words.h"

#include <algorithm>

#include "numa/page.h"

namespace fathom::numa {
namespace {

/// Of phases of a thread that are not over for all others. Beyond these words are not counted.
constexpr unsigned kMostPhases = 4;

uint32_t saturating(uint64_t sum) {
  return static_cast<uint32_t>(std::min<uint64_t>(sum, 0xffffffff));
}

uint32_t get(const std::atomic<uint32_t>& value) {
  return value.load(std::memory_order_relaxed);
}

void start(WordCounts& counts, uint32_t phase) {
  counts.phase = phase;
  counts.is_added = false;
  for (auto* all : {counts.reads, counts.writes})
    for (unsigned word = 0; word < kWordsOfLine; ++word)
      all[word].store(0, std::memory_order_relaxed);
}

/// Counts that nobody needs any longer, or new ones, at the head of the list. The page is locked.
WordCounts* take_counts(LineWords& words, Slab& slab) {
  unsigned count = 0;
  WordCounts** at = &words.counts;
  for (; *at != nullptr && (*at)->uses > 0; at = &(*at)->next) ++count;
  WordCounts* taken = *at;
  if (taken != nullptr) {
    *at = taken->next;
  } else {
    if (count >= kMostPhases) return nullptr;
    taken = slab.make<WordCounts>();
    if (taken == nullptr) return nullptr;
  }
  taken->next = words.counts;
  words.counts = taken;
  return taken;
}

/// What a thread does alone between two threads that it creates is handed in as of the odd phase
/// before the one that it is in.
uint32_t phase_of(uint32_t tag) {
  return (tag + kPhaseStep - 1) / kPhaseStep * kPhaseStep;
}

}  // namespace

void Words::add(const WordCounts& counts) {
  for (unsigned word = 0; word < kWordsOfLine; ++word) {
    reads[word] = saturating(uint64_t(reads[word]) + get(counts.reads[word]));
    writes[word] = saturating(uint64_t(writes[word]) + get(counts.writes[word]));
  }
}

bool Words::any() const {
  for (unsigned word = 0; word < kWordsOfLine; ++word)
    if ((reads[word] | writes[word]) != 0) return true;
  return false;
}

uint32_t Words::written() const {
  uint32_t out = 0;
  for (unsigned word = 0; word < kWordsOfLine; ++word)
    if (writes[word] > 0) out |= 1u << word;
  return out;
}

double Words::part_in(uint32_t words) const {
  uint64_t all = 0, within = 0;
  for (unsigned word = 0; word < kWordsOfLine; ++word) {
    const uint64_t accesses = uint64_t(reads[word]) + writes[word];
    all += accesses;
    if ((words >> word & 1) != 0) within += accesses;
  }
  return all == 0 ? 0 : static_cast<double>(within) / static_cast<double>(all);
}

Words words_of(const WordCounts& counts) {
  Words out{};
  out.add(counts);
  return out;
}

uint32_t words_at(uintptr_t address, uint32_t size) {
  const unsigned begin = address & ((1u << kLineBits) - 1);
  const unsigned end = std::min(begin + std::max(size, 1u), 1u << kLineBits) - 1;
  const uint32_t up_to = (2u << (end >> kWordBits)) - 1, below = (1u << (begin >> kWordBits)) - 1;
  return (up_to & ~below) & 0xffff;
}

LineWords* line_words(const Share& share, unsigned line) {
  LineWords* all = share.words.load(std::memory_order_acquire);
  return all == nullptr ? nullptr : all + line;
}

WordCounts* counts_in_phase(Share& share, uint64_t line, uint32_t phase, Slab& slab) {
  LineWords* all = share.words.load(std::memory_order_relaxed);
  if (all == nullptr) {
    all = slab.make_array<LineWords>(kLinesOfPage);
    if (all == nullptr) return nullptr;
    share.words.store(all, std::memory_order_release);
  }
  LineWords& words = all[line % kLinesOfPage];
  // Only this thread puts counts at the head.
  if (words.counts != nullptr && words.counts->phase == phase) return words.counts;
  Held held(share.use->page->lock);
  WordCounts* counts = take_counts(words, slab);
  if (counts != nullptr) start(*counts, phase);
  return counts;
}

WordCounts* counts_of_phase(const Share& share, unsigned line, uint32_t tag) {
  const LineWords* words = line_words(share, line);
  if (words == nullptr) return nullptr;
  for (WordCounts* counts = words->counts; counts != nullptr; counts = counts->next)
    if (counts->phase == phase_of(tag)) return counts;
  return nullptr;
}

void merge(WordCounts& to, const WordCounts& from) {
  const auto add = [](std::atomic<uint32_t>& sum, const std::atomic<uint32_t>& more) {
    sum.store(saturating(uint64_t(get(sum)) + get(more)), std::memory_order_relaxed);
  };
  for (unsigned word = 0; word < kWordsOfLine; ++word) {
    add(to.reads[word], from.reads[word]);
    add(to.writes[word], from.writes[word]);
  }
}

}  // namespace fathom::numa
