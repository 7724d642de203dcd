#pragma once

#include <set>
#include <vector>

#include "attribution/attribution.h"

namespace fathom {

/// Loads from global memory whose results are stored to shared memory and used for nothing else.
std::set<uint32_t> loads_for_shared_memory(const AnalyzedFunction& function);

/// Stores to shared memory of values that these loads brought.
std::set<uint32_t> shared_stores_of(const AnalyzedFunction& function,
                                    const std::set<uint32_t>& loads);

/// General registers that hold a needed value just before an instruction, ascending.
std::vector<uint32_t> live_registers(const AnalyzedFunction& function, uint32_t instruction);

}  // namespace fathom
