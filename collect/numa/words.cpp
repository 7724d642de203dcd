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

}  // namespace

void Words::add(const WordCounts& counts) {
  for (unsigned word = 0; word < kWordsOfLine; ++word) {
    reads[word] = saturating(uint64_t(reads[word]) + get(counts.reads[word]));
    writes[word] = saturating(uint64_t(writes[word]) + get(counts.writes[word]));
    written |= uint32_t(writes[word] > 0) << word;
  }
}

bool Words::any() const {
  for (unsigned word = 0; word < kWordsOfLine; ++word)
    if ((reads[word] | writes[word]) != 0) return true;
  return false;
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
  WordCounts* counts = words.counts;
  if (counts == nullptr || counts->phase != phase) {
    Held held(share.use->page->lock);
    counts = take_counts(words, slab);
    if (counts == nullptr) return nullptr;
    start(*counts, phase);
    ++words.phases;
    if (words.learns_by_phase()) words.reads = words.writes = 0;
  }
  const uint64_t worded = share.worded.load(std::memory_order_relaxed);
  share.worded.store(worded | uint64_t(1) << line % kLinesOfPage, std::memory_order_relaxed);
  return counts;
}

WordCounts* counts_of_phase(const Share& share, unsigned line) {
  const bool any = (share.worded.load(std::memory_order_relaxed) >> line & 1) != 0;
  return any ? line_words(share, line)->counts : nullptr;
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
