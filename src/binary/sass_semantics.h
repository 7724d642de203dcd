#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "binary/instruction.h"

namespace fathom {

inline constexpr uint64_t kInstructionSize = 16;

/// Registers that an operand names: consecutive ones from `first` on.
struct RegisterSpan {
  /// Of `position`: the operand means registers that the text does not name (PR).
  static constexpr size_t kUnnamed = std::string_view::npos;

  Register first;
  uint16_t count = 1;
  bool defined = false;
  size_t position = kUnnamed;  ///< of the first one's name in the operands' text
};
/// What an instruction does. But for the spans' first registers it is the same for all instructions
/// of the same opcode whose operands are of the same kinds.
struct SassMeaning {
  OpClass op_class = OpClass::other;
  MemorySpace space = MemorySpace::none;
  uint8_t access_bytes = 0;
  Flow flow = Flow::next;
  std::string_view label;  ///< that a call names
  std::vector<RegisterSpan> spans;
};
/// From "LDG.E.64" and "R4, desc[UR4][R2.64]"; nothing if the table does not know the opcode, or
/// not with such operands. RZ and its like give no span.
std::optional<SassMeaning> read_meaning(std::string_view opcode, std::string_view operands);

/// Adds the registers of a span; those behind R254 do not exist.
void add_registers(const RegisterSpan& span, std::vector<Register>& registers);

/// Makes an instruction of "@!P0 LDG.E.64 R4, desc[UR4][R2.64]": opcode, guard, class, registers,
/// memory, flow. Control fields and what they define and wait for, offsets, labels' addresses and
/// tables are left to the caller. An opcode that is not in the table gives `known` = false.
Instruction read_sass(std::string_view text);

/// The bit at which a memory operation of sm_80 to sm_89 keeps a descriptor that nvdisasm does not
/// print: two uniform registers, 63 for none. Nothing where it has no such field.
std::optional<unsigned> hidden_descriptor(uint64_t high, OpClass op_class, MemorySpace space,
                                          std::string_view text);

/// Memory operations of sm_80 to sm_89 have a descriptor in two uniform registers that nvdisasm
/// does not print (later ones print desc[UR4]); adds it from the instruction's words.
void add_hidden_descriptor(uint64_t low, uint64_t high, Instruction& instruction);

/// Adds what the control field defines and waits for; sorts defs and uses.
void add_barriers(Instruction& instruction);

/// Compilers fill up a section with NOPs behind the branch to itself that ends the code.
void drop_padding(std::vector<Instruction>& instructions);

/// Sorts registers and removes doubles, as Instruction::defs and uses promise.
void sort_registers(std::vector<Register>& registers);

}  // namespace fathom
