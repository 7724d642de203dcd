// Bits that switch: what the model of power asks of results and of what is loaded and stored.

#include <algorithm>
#include <bit>

#include "prediction/lanes.h"

namespace fathom {

uint16_t Lanes::changed_bits(const Step& step, uint32_t mask) {
  if (step.op == Op::store) return stored_bits(step, mask);
  if (step.result == kNoSlot) return 0;
  if (step.op == Op::load) return loaded_bits(step, mask);
  const auto at = static_cast<size_t>(step.result);
  uint32_t sum = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    uint32_t now = values_[at][i];
    sum += static_cast<uint32_t>(std::popcount(now ^ last_[i]));
    last_[i] = now;
    if (step.wide) {
      now = values_[at + 1][i];
      sum += static_cast<uint32_t>(std::popcount(now ^ last_high_[i]));
      last_high_[i] = now;
    }
  }
  return static_cast<uint16_t>(sum);
}

uint16_t Lanes::spread_bits(const Step& step, uint32_t mask) const {
  if (step.result == kNoSlot) return 0;
  uint32_t sum = 0, pairs = 0;
  const uint32_t slots = step.op == Op::load ? step.result_slots : step.wide ? 2 : 1;
  for (uint32_t slot = 0; slot < slots; ++slot) {
    const auto& values = values_[static_cast<size_t>(step.result) + slot];
    for (uint32_t i = 0; i + 1 < kLanes; ++i) {
      if (!(mask >> i & mask >> (i + 1) & 1)) continue;
      sum += static_cast<uint32_t>(std::popcount(values[i] ^ values[i + 1]));
      ++pairs;
    }
  }
  const auto all = static_cast<uint32_t>(std::popcount(mask)) * slots;
  return static_cast<uint16_t>(pairs == 0 ? 0 : sum * all / pairs);
}

uint16_t Lanes::loaded_bits(const Step& step, uint32_t mask) {
  uint32_t sum = 0;
  for (uint32_t slot = 0; slot < step.result_slots; ++slot) {
    const auto& values = values_[static_cast<size_t>(step.result) + slot];
    for (uint32_t i = 0; i < kLanes; ++i) {
      if (!(mask >> i & 1)) continue;
      sum += static_cast<uint32_t>(std::popcount(values[i] ^ last_loaded_[i]));
      last_loaded_[i] = values[i];
    }
  }
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
