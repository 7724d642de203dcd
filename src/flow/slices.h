#pragma once

#include <cstdint>
#include <memory>
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

/// Finds the immediate dependency sources of instructions of one function by backward slicing (GPA
/// paper, section 4): for each register that a use reads, every definition found on the paths
/// backward, where the search along a path goes on until the union of the definitions' predicates
/// covers the predicate of the use.
///
/// The union covers every predicate once it holds a definition without a guard, or one under Pi and
/// one under !Pi; it covers a use under Pi once it holds a definition under Pi (and likewise !Pi).
/// Guards count as equal only while Pi keeps its value: behind an instruction that writes Pi they
/// are different conditions. Paths go around loops, and so to the use itself and before it. Calls
/// are taken to leave registers alone. Where more than a few different unions reach a block, the
/// search goes on from there as if nothing were covered yet, which may find a definition too many,
/// never one too few.
class Slicer {
 public:
  /// Both must outlive the slicer.
  Slicer(std::span<const Instruction> instructions, const ControlFlowGraph& graph);
  Slicer(Slicer&&) noexcept;
  ~Slicer();

  /// Sorted by def, then register.
  std::vector<Dependency> dependencies_of(uint32_t use);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

/// The same for one use. Each call reads the whole function: make a Slicer for many uses.
std::vector<Dependency> immediate_dependencies(std::span<const Instruction> instructions,
                                               const ControlFlowGraph& graph, uint32_t use);

}  // namespace fathom
