#pragma once
// The operands of a SASS instruction, read from its text.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom {

struct Operand {
  enum class Kind : uint8_t {
    general,    ///< R4; RZ has number -1
    uniform,    ///< UR4; URZ has number -1
    predicate,  ///< P0, UP0, PT
    immediate,  ///< 0x18, -0x1
    decimal,    ///< 1.5, +INF: a floating-point constant
    constant,   ///< c[0x0][0x210]
    indexed,    ///< c[0x3][R8+0x10]: `parts` add up to the offset
    special,    ///< SR_TID.X
    memory,     ///< [R2.64+UR4+0x10]: `parts` add up to the address
    other
  };
  Kind kind = Kind::other;
  int number = -1;        ///< of a register; -1 is the one that always reads zero
  int64_t value = 0;      ///< immediates; constants: the offset
  double decimal = 0;     ///< decimals
  uint32_t bank = 0;      ///< constants
  uint32_t scale = 1;     ///< R4.X8
  bool negated = false;   ///< -R4, or !P0
  bool inverted = false;  ///< ~R4
  std::string_view text;  ///< without sign and suffixes: "SR_TID.X"
  std::vector<Operand> parts;
};

/// Operands in order, without the guard and the opcode. The views point into `text`. What cannot be
/// read is of kind `other`; `desc[UR4][R2.64]` is the memory operand alone.
std::vector<Operand> parse_operands(std::string_view text);

/// The parts of the opcode behind a guard: {"LDG", "E", "64"}.
bool has_modifier(std::string_view opcode, std::string_view modifier);

}  // namespace fathom
