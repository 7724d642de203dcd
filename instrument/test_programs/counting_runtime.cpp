// A stand-in for libfathom_numa.so that adds up what instrumented code tells, for the pass's tests:
// reads, writes and spin reads of each named range of memory, and the words that were touched.

#include <cstdio>
#include <cstring>

#include "collect/numa/abi.h"

using namespace fathom::numa;

thread_local LineSlot __fathom_numa_lines[kCachedLines];

namespace {

struct Totals {
  uint64_t line;
  uint64_t reads, writes, spins;
  uint16_t read_words, write_words;
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

LineSlot& slot_of(uint64_t line) {
  return __fathom_numa_lines[line % kCachedLines];
}

void hand_in(LineSlot& slot) {
  if (slot.line != 0) {
    Totals& totals = totals_of(slot.line);
    totals.reads += slot.reads;
    totals.writes += slot.writes;
    totals.read_words |= slot.read_words;
    totals.write_words |= slot.write_words;
  }
  slot = {};
}

void count(uintptr_t address, uint32_t size, uint32_t flags) {
  for (uintptr_t at = address, end = address + size; at < end;) {
    const uint64_t line = at >> kLineBits;
    const uintptr_t stop = (line + 1) << kLineBits;
    LineSlot& slot = slot_of(line);
    if (slot.line != line) hand_in(slot);
    slot.line = slot.tag = line;
    const bool is_first = at == address;
    if (flags & kIsSpinning) {
      totals_of(line).spins += is_first;
    } else {
      uint16_t& words = flags & kIsWrite ? slot.write_words : slot.read_words;
      (flags & kIsWrite ? slot.writes : slot.reads) += is_first;
      for (; at < end && at < stop; at = (at | 3) + 1) words |= 1 << (at >> kWordBits & 15);
    }
    at = stop;
  }
}

}  // namespace

extern "C" {

void __fathom_numa_access(uintptr_t address, uint32_t size_and_flags) {
  ++g_slow_calls;
  const uint32_t size = size_and_flags & kSizeMask, flags = size_and_flags & ~kSizeMask;
  if (size <= 16) return count(address, size, flags);
  for (uint32_t at = 0; at < size; at += 8)  // a block
    count(address + at, size - at < 8 ? size - at : 8, flags);
}

void __fathom_numa_strided(uintptr_t address, uint32_t size_and_flags, uint64_t rounds,
                           int64_t stride) {
  ++g_strided_calls;
  for (uint64_t i = 0; i < rounds; ++i)
    count(address + static_cast<uint64_t>(stride) * i, size_and_flags & kSizeMask, size_and_flags);
}

void __fathom_numa_module(const void*) {
  ++g_modules;
}

/// For the test programs: prints "NAME: R reads of W words, R writes of W words, S spin reads".
void print_counts(const char* name, const void* from, unsigned long size) {
  for (LineSlot& slot : __fathom_numa_lines) hand_in(slot);
  Totals sum{};
  int read_words = 0, write_words = 0;
  const auto begin = reinterpret_cast<uintptr_t>(from);
  for (uint64_t line = begin >> kLineBits; line <= (begin + size - 1) >> kLineBits; ++line) {
    const Totals& totals = totals_of(line);
    sum.reads += totals.reads;
    sum.writes += totals.writes;
    sum.spins += totals.spins;
    read_words += __builtin_popcount(totals.read_words);
    write_words += __builtin_popcount(totals.write_words);
  }
  std::printf("%s: %lu reads of %d words, %lu writes of %d words, %lu spin reads\n", name,
              sum.reads, read_words, sum.writes, write_words, sum.spins);
}

/// Forgets everything so far.
void clear_counts(void) {
  for (LineSlot& slot : __fathom_numa_lines) slot = {};
  std::memset(g_lines, 0, sizeof g_lines);
  g_slow_calls = g_strided_calls = 0;
}

void print_calls(void) {
  std::printf("modules: %lu, calls: %lu, strided calls: %lu\n", g_modules, g_slow_calls,
              g_strided_calls);
}
}
