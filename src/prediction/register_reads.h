#pragma once
// What reading its registers costs an instruction.

#include "binary/instruction.h"

namespace fathom {

/// Cycles for which an instruction's operands keep its scheduler from the next one. Registers lie
/// in two banks, the even and the odd ones, each of which gives one register of 32 bits for the
/// whole warp in a cycle (Jia and others, "Dissecting the NVIDIA Volta GPU architecture via
/// microbenchmarking", 2018, section 3.1). What the instruction `before` keeps (.reuse) is not read
/// again; null where there is none. The calibrated throughputs of FFMA, DFMA and HFMA2 with one and
/// two chains agree: 2, 1.5 and 3 cycles where only banks can be the reason.
unsigned register_read_cycles(const Instruction& instruction, const Instruction* before);

}  // namespace fathom
