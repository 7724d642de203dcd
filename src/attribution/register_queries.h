#pragma once

#include <set>
#include <vector>

#include "attribution/attribution.h"

namespace fathom {

/// Loads from global memory whose results are stored to shared memory and used for nothing else.
std::set<uint32_t> loads_for_shared_memory(const AnalyzedFunction& function);

/// General registers that hold a needed value just before an instruction, ascending.
std::vector<uint32_t> live_registers(const AnalyzedFunction& function, uint32_t instruction);

}  // namespace fathom
