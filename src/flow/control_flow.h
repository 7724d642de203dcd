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
/// and returns do; a predicated one falls through as well, and so does a direct branch that decides
/// by a register or by the divergence of its warp.
///
/// Targets outside the function end the path. The successors of an indirect branch whose table is
/// unknown are a guess: code that nothing else reaches must be reached by such a branch, so that
/// each first block of it becomes a successor of the nearest one before it (of the first one, where
/// none is before it). A lone jump to itself, the trap behind a function's end, is left out.
///
/// Offsets must ascend. No instructions make no blocks.
struct ControlFlowGraph {
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of;  ///< by instruction

  static ControlFlowGraph build(std::span<const Instruction> instructions);
};

/// Immediate dominators (Cooper, Harvey, Kennedy 2001). Unreachable blocks dominate nothing.
struct DominatorTree {
  std::vector<uint32_t> immediate;  ///< by block; kNoBlock for the entry and unreachable ones
  std::vector<uint32_t> enter;  ///< preorder number in the tree; kNoBlock for unreachable blocks
  std::vector<uint32_t> leave;  ///< the last preorder number in the block's subtree

  static DominatorTree build(const ControlFlowGraph& graph);
  bool reachable(uint32_t block) const { return enter[block] != kNoBlock; }
  /// Each block dominates itself. False where one of both is unreachable.
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
/// Loops nested deeper than this count as part of the loop at this depth, which bounds time and
/// memory on code that nobody would write.
inline constexpr uint32_t kMaxLoopDepth = 256;

/// Natural loops, and irreducible ones as strongly connected regions; outer loops come before inner
/// ones: ordered by depth, then by parent, then by their first block.
///
/// A strongly connected region with one entry is the natural loop of that entry (loops that share a
/// header are one); the loops inside it are those of the region without the header. A region with
/// several entries is irreducible; the loops inside it are those that remain when its entries can
/// only be reached from blocks that they dominate. So every natural loop is found, wherever it is.
/// Unreachable blocks are in no loop.
struct LoopNest {
  std::vector<Loop> loops;
  std::vector<uint32_t> innermost;  ///< by block; kNoBlock outside all loops

  static LoopNest build(const ControlFlowGraph& graph, const DominatorTree& dominators);
  bool contains(uint32_t loop, uint32_t block) const;
};

}  // namespace fathom
