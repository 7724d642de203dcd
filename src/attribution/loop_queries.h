#pragma once

#include <optional>

#include "attribution/attribution.h"

namespace fathom {

/// The innermost loop that holds both instructions; kNoBlock if there is none.
uint32_t common_loop(const AnalyzedFunction& function, uint32_t a, uint32_t b);

/// How often a block was executed, in issued samples: the mean over its instructions.
double executions_of(const AnalyzedFunction& function, uint32_t block);

/// The instruction in the block of a conditional jump that makes its predicate; nothing if the jump
/// has none, or if it is made elsewhere.
std::optional<uint32_t> test_of(const AnalyzedFunction& function, uint32_t jump);

}  // namespace fathom
