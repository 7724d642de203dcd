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
std::optional<PathLengths> path_lengths(const ControlFlowGraph& graph, uint32_t producer,
                                        uint32_t consumer);

/// True where each path from `from` to `to` (around loops as well) passes `via`, an instruction
/// other than both.
bool on_every_path(const ControlFlowGraph& graph, uint32_t from, uint32_t via, uint32_t to);

}  // namespace fathom
