// A stand-in for libfathom_numa.so that adds up what instrumented code tells, for the pass's tests:
// reads, writes and spin reads of each named range of memory.

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "collect/numa/abi.h"

using namespace fathom::numa;

namespace {
PageSlot g_slots[kCachedPages];
}
thread_local PageSlot* __fathom_numa_table = g_slots;

namespace {

struct Totals {
  uint64_t line;
  uint64_t reads, writes, spins;
};
constexpr size_t kMaxLines = 1 << 20;
Totals g_lines[kMaxLines];
uint64_t g_modules, g_slow_calls, g_strided_calls;

Totals& totals_of(uint64_t line) {
  for (size_t at = line * 0x9e3779b97f4a7c15u >> 44;; at = (at + 1) % kMaxLines) {
    if (g_lines[at].line == line) return g_lines[at];
    if (g_lines[at].line == 0) {
      g_lines[at].line = line;
      return g_lines[at];
    }
  }
}

LineCounter g_counts[kCachedPages][kLinesOfPage];
uint64_t g_slot_pages[kCachedPages];  // which pages the counters are of; programs have one thread

/// With COUNTING_RUNTIME_BARS in the environment every second line's reads, and every third's
/// writes, are to come here.
LineCounter bars_of(uint64_t line) {
  static const bool bars = std::getenv("COUNTING_RUNTIME_BARS") != nullptr;
  return {bars && line % 2 == 0 ? kBarred : 0, bars && line % 3 == 0 ? kBarred : 0};
}

void hand_in(size_t at) {
  for (uint64_t line = 0; line < kLinesOfPage; ++line) {
    LineCounter& counter = g_counts[at][line];
    const LineCounter counts{counter.reads & ~kBarred, counter.writes & ~kBarred};
    counter = bars_of(line);
    if (counts.reads + counts.writes == 0) continue;
    Totals& totals = totals_of(g_slot_pages[at] * kLinesOfPage + line);
    totals.reads += counts.reads;
    totals.writes += counts.writes;
  }
  __fathom_numa_table[at].first_line = 0;
}

/// As the runtime does: an access across two lines is one of the first.
void count(uintptr_t address, uint32_t flags) {
  const uint64_t line = address >> kLineBits, page = address >> kPageBits;
  if (flags & kIsSpinning) {
    ++totals_of(line).spins;
    return;
  }
  const size_t at = page % kCachedPages;
  if (g_slot_pages[at] != page) hand_in(at);  // and its counters get their bars
  g_slot_pages[at] = page;
  __fathom_numa_table[at] = {page * kLinesOfPage, g_counts[at], kLinesOfPage - 1,
                             ~uint64_t(0),        ~uint64_t(0), {}};
  LineCounter& counter = g_counts[at][line % kLinesOfPage];
  ++(flags & kIsWrite ? counter.writes : counter.reads);
}

void hand_in_all() {
  for (size_t at = 0; at < kCachedPages; ++at) hand_in(at);
}

}  // namespace

extern "C" {

void __fathom_numa_access(uintptr_t address, uint32_t size_and_flags) {
  ++g_slow_calls;
  const uint32_t size = size_and_flags & kSizeMask, flags = size_and_flags & ~kSizeMask;
  if (size <= 16) return count(address, flags);
  for (uint32_t at = 0; at < size; at += 8)  // a block
    count(address + at, flags);
}

void __fathom_numa_strided(uintptr_t address, uint32_t size_and_flags, uint64_t rounds,
                           int64_t stride) {
  ++g_strided_calls;
  for (uint64_t i = 0; i < rounds; ++i)
    count(address + static_cast<uint64_t>(stride) * i, size_and_flags);
}

void __fathom_numa_module(const void*) {
  ++g_modules;
}

/// For the test programs: prints "NAME: R reads, W writes, S spin reads".
void print_counts(const char* name, const void* from, unsigned long size) {
  hand_in_all();
  Totals sum{};
  const auto begin = reinterpret_cast<uintptr_t>(from);
  for (uint64_t line = begin >> kLineBits; line <= (begin + size - 1) >> kLineBits; ++line) {
    const Totals& totals = totals_of(line);
    sum.reads += totals.reads;
    sum.writes += totals.writes;
    sum.spins += totals.spins;
  }
  std::printf("%s: %lu reads, %lu writes, %lu spin reads\n", name, sum.reads, sum.writes,
              sum.spins);
}

/// Forgets everything so far.
void clear_counts(void) {
  hand_in_all();
  std::memset(g_lines, 0, sizeof g_lines);
  g_slow_calls = g_strided_calls = 0;
}

void print_calls(void) {
  std::printf("modules: %lu, calls: %lu, strided calls: %lu\n", g_modules, g_slow_calls,
              g_strided_calls);
}
}
