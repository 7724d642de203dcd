#pragma once

#include "advice/access_costs.h"

namespace fathom {

/// Loads and stores of global memory whose lanes are further apart than they need to be, by what
/// the code tells.
bool is_uncoalesced(const Instruction& instruction, const LaneAccess& access);

/// How much of what the load/store unit and the memory system do comes from such accesses.
struct Coalescing {
  std::vector<AccessCost> spread;  ///< the accesses, most superfluous sectors first
  double access_excess = 0;        ///< share of the load/store unit's work that goes away
  double memory_excess = 0;        ///< share of the sectors from L2 and device memory
  bool is_cause(const FunctionPart& part, uint32_t instruction) const;
};
Coalescing coalescing_of(const KernelView& view);

/// A kernel's queues for memory are taken to be full because of spread accesses if these are at
/// least this part of the load/store unit's work.
inline constexpr double kSpreadDominates = 0.3;

}  // namespace fathom
