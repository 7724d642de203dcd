#pragma once

#include "attribution/attribution.h"

namespace fathom {

/// The innermost loop that holds both instructions; kNoBlock if there is none.
uint32_t common_loop(const AnalyzedFunction& function, uint32_t a, uint32_t b);

/// True where the address of a load in a loop depends on what the loop loaded before: the next load
/// cannot start earlier (a chased pointer).
bool chases_pointer(const AnalyzedFunction& function, uint32_t loop, uint32_t load);

}  // namespace fathom
