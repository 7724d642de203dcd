#pragma once

#include "attribution/attribution.h"

namespace fathom {

/// Blames the stalls of each sampled instruction of `function` on the instructions that cause them,
/// and sets `blame`, `coverage_before` and `coverage_after`. Source: GPA paper, section 4: virtual
/// barrier registers, predicate cover, pruning by opcode, dominator and latency, apportioning by
/// issued samples and longest path (equation 1), and the detailed classes of its figure 5.
///
/// What Volta and later report more finely than the paper's "memory" and "execution" dependency is
/// used for the pruning by opcode: "long scoreboard" can only come from the L1/texture unit, "short
/// scoreboard" only from another unit behind a scoreboard, "wait" only from a fixed-latency
/// instruction. Stalls that no other instruction causes (full queues, busy pipes, instruction
/// fetch) stay with the instruction itself.
///
/// Every stall is blamed exactly once: for each consumer and reason, the edges' stalls add up to
/// the samples.
void blame_stalls(AnalyzedFunction& function);

}  // namespace fathom
