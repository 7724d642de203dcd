#include "numa/spin.h"

#include <atomic>
#include <cstring>

#include "numa/slots.h"

namespace fathom::numa {
namespace {

constexpr uint32_t kTolerated = 4, kSkipped = 1000;

uint64_t load(uintptr_t address, uint32_t size) {
  const auto get = [address](auto type) -> uint64_t {
    using T = decltype(type);
    return __atomic_load_n(reinterpret_cast<const T*>(address), __ATOMIC_RELAXED);
  };
  if (address % size != 0) return 0;
  switch (size) {
    case 1:
      return get(uint8_t());
    case 2:
      return get(uint16_t());
    case 4:
      return get(uint32_t());
    case 8:
      return get(uint64_t());
    default:
      return 0;
  }
}

/// Everything that the fast path has counted and nobody has taken yet.
uint64_t sum_of_counts(const SlotTable& table) {
  uint64_t sum = 0;
  for (uint32_t n = 0; n < table.used.size(); ++n) {
    const PageSlot& slot = __fathom_numa_table[table.used[n].index];
    if (slot.readable == 0) continue;
    for (uint64_t line = 0; line <= slot.mask; ++line)
      sum += uint64_t(slot.counts[line].reads & ~kBarred) + (slot.counts[line].writes & ~kBarred);
  }
  return sum;
}

}  // namespace

bool SpinWatch::is_spinning(uintptr_t address, uint32_t size, uintptr_t place,
                            const SlotTable& table) {
  if (size == 0 || size > 8 || (size & (size - 1)) != 0) return false;
  const uint64_t value = load(address, size);
  const bool same = address == address_ && value == value_;
  address_ = address;
  value_ = value;
  wants_count_ = false;
  if (!same) {
    has_counted_ = false;
    return false;
  }
  if (place == busy_place_ && skips_ > 0) {
    --skips_;
    has_counted_ = false;
    return false;
  }
  // The fast path does not tell of its accesses, but its counters grow.
  const bool knew = has_counted_;
  const bool spins = knew && sum_of_counts(table) == counted_;
  wants_count_ = !spins;
  if (spins) {
    misses_ = 0;
  } else if (knew) {
    misses_ = place == busy_place_ ? misses_ + 1 : 1;
    busy_place_ = place;
    if (misses_ >= kTolerated) skips_ = kSkipped, misses_ = 0;
  }
  return spins;
}

void SpinWatch::take_count(const SlotTable& table) {
  counted_ = sum_of_counts(table);
  has_counted_ = true;
  wants_count_ = false;
}

}  // namespace fathom::numa
