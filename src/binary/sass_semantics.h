#pragma once

#include <string_view>

#include "binary/instruction.h"

namespace fathom {

/// Makes an instruction of "@!P0 LDG.E.64 R4, desc[UR4][R2.64]": opcode, guard, class, registers,
/// memory, flow. Control fields and what they define and wait for, offsets, labels' addresses and
/// tables are left to the caller. An opcode that is not in the table gives `known` = false.
Instruction read_sass(std::string_view text);

/// Memory operations of sm_80 to sm_89 have a descriptor in two uniform registers that nvdisasm
/// does not print (later ones print desc[UR4]); adds it from the instruction's words.
void add_hidden_descriptor(uint64_t low, uint64_t high, Instruction& instruction);

/// Sorts registers and removes doubles, as Instruction::defs and uses promise.
void sort_registers(std::vector<Register>& registers);

}  // namespace fathom
