#pragma once
// Hand-made functions for tests: instructions in a mini-notation, samples put on by hand.

#include <string>
#include <vector>

#include "attribution/attribution.h"
#include "flow/control_flow.h"

namespace fathom::testing {

/// One line an instruction: "@!P0 LDG R0 <- R2 R3 | sets B0 | waits B1 | to 4 | reads B2".
/// Parts after "|" are optional: the write barrier that it sets, the barriers it waits for, a
/// branch's target (line number from 0), the read barrier that it sets.
std::vector<Instruction> instructions(const std::string& lines);

/// A function with structure, without samples; the machine is sm_90's.
AnalyzedFunction function(const std::string& lines);

/// The same from the assembler's own text: "@!P0 LDG.E R0, desc[UR4][R2.64] | sets B0 | to 4".
AnalyzedFunction sass_function(const std::string& lines);

void put(AnalyzedFunction& function, uint32_t instruction, StallReason reason, uint64_t all,
         uint64_t latency = 0);

}  // namespace fathom::testing
