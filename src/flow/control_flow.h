#pragma once
// Structure of machine code, whichever vendor's. Instructions and blocks are named by index.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "binary/instruction.h"

namespace fathom {

inline constexpr uint32_t kNoBlock = 0xffffffffu;

struct Block {
  uint32_t first = 0, last = 0;  ///< instruction indexes, inclusive
  std::vector<uint32_t> successors, predecessors;
};

/// Basic blocks in address order; block 0 is the entry. Calls do not end a block, branches, exits
/// and returns do; a predicated one falls through as well.
struct ControlFlowGraph {
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;  ///< by instruction

  static ControlFlowGraph build(std::span<const Instruction> instructions);
};

/// Immediate dominators (Cooper, Harvey, Kennedy 2001). Unreachable blocks dominate nothing.
struct DominatorTree {
  std::vector<uint32_t> immediate;  ///< by block; kNoBlock for the entry and unreachable ones

  static DominatorTree build(const ControlFlowGraph& graph);
  bool dominates(uint32_t a, uint32_t b) const;
};

struct Loop {
  uint32_t header = 0;         ///< block; the first in address order for irreducible loops
  uint32_t parent = kNoBlock;  ///< index in LoopNest::loops
  uint32_t depth = 1;
  std::vector<uint32_t> blocks;   ///< sorted; those of nested loops included
  std::vector<uint32_t> latches;  ///< blocks that jump back to the header
  bool irreducible = false;
};
/// Natural loops, and irreducible ones as strongly connected regions; outer loops come before inner
/// ones.
struct LoopNest {
  std::vector<Loop> loops;
  std::vector<uint32_t> innermost;  ///< by block; kNoBlock outside all loops

  static LoopNest build(const ControlFlowGraph& graph, const DominatorTree& dominators);
  bool contains(uint32_t loop, uint32_t block) const;
};

}  // namespace fathom
