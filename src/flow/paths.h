#pragma once

#include <cstdint>
#include <optional>

#include "flow/control_flow.h"

namespace fathom {

/// Numbers of instructions between a producer and a consumer (both excluded... the consumer's own
/// issue counts as 1, so neighbours have distance 1), over acyclic paths that do not pass the
/// producer again.
struct PathLengths {
  uint32_t shortest = 0;
  uint32_t longest = 0;
};
/// Nothing where no path leads from `producer` to `consumer`. A consumer at or before the producer
/// is reached around a loop. Each block counts once on a path: the longest path is over the
/// loop-free graph between them.
///
/// `shortest` is exact. The longest path without a repeated block cannot be found in polynomial
/// time in general, so `longest` is over the graph without the back edges of a depth-first search
/// that starts at the producer and takes successors in their order. That is the longest path where
/// the code is reducible as seen from the producer, and the length of a real path otherwise.
/// Linear in the blocks that lead to the consumer, apart from a heap for `shortest`.
std::optional<PathLengths> path_lengths(const ControlFlowGraph& graph, uint32_t producer,
                                        uint32_t consumer);

/// True where each path from `from` to `to` (around loops as well) passes `via`, an instruction
/// other than both. So it is true where there is no path; it is false for `via` = `from` or `to`.
bool on_every_path(const ControlFlowGraph& graph, uint32_t from, uint32_t via, uint32_t to);

}  // namespace fathom
