// Bits that switch: what the model of power asks of results and of what is loaded and stored.

#include <algorithm>
#include <array>
#include <bit>

#include "prediction/lanes.h"

namespace fathom {
namespace {

using Words = std::array<uint32_t, kLanes>;

/// Bits that are set in all lanes of a mask. Written out, as the compiler then takes several lanes
/// at once.
uint32_t ones(Words words, uint32_t mask) {
  if (mask != ~0u)
    for (uint32_t i = 0; i < kLanes; ++i)
      if (!(mask >> i & 1)) words[i] = 0;
  uint32_t sum = 0;
  for (uint32_t x : words) {
    x -= x >> 1 & 0x55555555;
    x = (x & 0x33333333) + (x >> 2 & 0x33333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f;
    x += x >> 8;
    sum += (x + (x >> 16)) & 0x3f;
  }
  return sum;
}

/// Bits in which lanes of a mask differ from what they were before, which they replace.
uint32_t replace(const Words& now, Words& before, uint32_t mask) {
  Words differences;
  for (uint32_t i = 0; i < kLanes; ++i) differences[i] = now[i] ^ before[i];
  for (uint32_t i = 0; i < kLanes; ++i)
    if (mask >> i & 1) before[i] = now[i];
  return ones(differences, mask);
}

}  // namespace

uint16_t Lanes::changed_bits(const Step& step, uint32_t mask) {
  if (step.op == Op::store) return stored_bits(step, mask);
  if (step.result == kNoSlot) return 0;
  if (step.op == Op::load) return loaded_bits(step, mask);
  const auto at = static_cast<size_t>(step.result);
  uint32_t sum = replace(values_[at], last_, mask);
  if (step.wide) sum += replace(values_[at + 1], last_high_, mask);
  return static_cast<uint16_t>(sum);
}

uint16_t Lanes::spread_bits(const Step& step, uint32_t mask) const {
  if (step.result == kNoSlot) return 0;
  const uint32_t slots = step.op == Op::load ? step.result_slots : step.wide ? 2 : 1;
  const uint32_t both = mask & mask >> 1, pairs = static_cast<uint32_t>(std::popcount(both));
  if (pairs == 0) return 0;
  uint32_t sum = 0;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    const Words& values = values_[static_cast<size_t>(step.result) + slot];
    Words differences{};
    for (uint32_t i = 0; i + 1 < kLanes; ++i) differences[i] = values[i] ^ values[i + 1];
    sum += ones(differences, both);
  }
  return static_cast<uint16_t>(sum * static_cast<uint32_t>(std::popcount(mask)) / pairs);
}

uint16_t Lanes::loaded_bits(const Step& step, uint32_t mask) {
  uint32_t sum = 0;
  for (uint32_t slot = 0; slot < step.result_slots; ++slot)
    sum += replace(values_[static_cast<size_t>(step.result) + slot], last_loaded_, mask);
  return static_cast<uint16_t>(sum);
}

uint16_t Lanes::stored_bits(const Step& step, uint32_t mask) const {
  constexpr uint32_t kSectorWords = 8;
  const uint32_t words = std::max(1u, step.bytes / 4u), apart = std::max(1u, kSectorWords / words);
  const uint64_t kept = step.bytes < 4 ? (uint64_t{1} << 8 * step.bytes) - 1 : 0xffffffff;
  uint32_t sum = 0, pairs = 0;
  for (uint32_t word = 0; word < words; ++word) {
    if (step.sources[3].slot == kNoSlot) return 0;
    LaneValues values;
    stored_word(step, word, values);
    for (uint32_t i = 0; i + apart < kLanes; ++i) {
      if (!(mask >> i & mask >> (i + apart) & 1)) continue;
      sum += static_cast<uint32_t>(std::popcount((values[i] ^ values[i + apart]) & kept));
      ++pairs;
    }
  }
  const auto all = static_cast<uint32_t>(std::popcount(mask)) * words;
  return static_cast<uint16_t>(pairs == 0 ? 0 : sum * all / pairs);
}

}  // namespace fathom
