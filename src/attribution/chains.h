#pragma once

#include <vector>

#include "attribution/attribution.h"

namespace fathom {

/// The producers behind a producer that waits itself: from `producer` on, the instruction that most
/// of its own stalls are blamed on, and so on, to one that hardly waits: the root. Instruction
/// indexes; empty where `producer` is the root already. Goes on while a step explains at least a
/// tenth of `stalls`, the samples that wait for `producer`; never comes to an instruction twice.
std::vector<uint32_t> chain_behind(const AnalyzedFunction& function, uint32_t producer,
                                   double stalls);

}  // namespace fathom
