#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "flow/control_flow.h"

namespace fathom {

/// A definition that may reach a use: "instruction `def` writes `through`, which `use` reads" (or
/// writes over, for a write-after-read dependency through a read barrier).
struct Dependency {
  uint32_t def = 0, use = 0;  ///< instruction indexes
  Register through;
};

/// The immediate dependency sources of `use`, by backward slicing within the function (GPA paper,
/// section 4): for each register that it reads, every definition found on the paths backward, where
/// the search along a path goes on until the union of the definitions' predicates covers the
/// predicate of `use`. Sorted by def, then register.
std::vector<Dependency> immediate_dependencies(std::span<const Instruction> instructions,
                                               const ControlFlowGraph& graph, uint32_t use);

}  // namespace fathom
