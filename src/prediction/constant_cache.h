#pragma once
// Loads with an index that walk through more constants than the first cache holds.

#include <vector>

#include "machine/machine.h"
#include "prediction/walk.h"

namespace fathom {

/// What the misses of one execution cost, on average.
struct ConstantMisses {
  float cycles = 0;   ///< for which the scheduler's way to the constants is kept
  float latency = 0;  ///< until the result is there
};

/// By step. A table costs something where it is larger than the cache and where so many warps walk
/// at places of their own that the lines between a load and the next one there do not fit. Warps of
/// a block that start together stay together until then, one group on each scheduler.
std::vector<ConstantMisses> plan_constants(const Program& program, const Walk& walk,
                                           const Launch& launch, const MachineModel& machine,
                                           uint32_t resident_blocks, uint32_t active);

}  // namespace fathom
