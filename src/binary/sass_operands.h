#pragma once
// The operands of one SASS instruction as nvdisasm prints them, before anybody says what they mean.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "binary/instruction.h"

namespace fathom {

/// An opcode cut at its dots: "LDG", then "E", "64".
struct SassOpcode {
  std::string_view base;
  std::array<std::string_view, 14> modifiers;
  size_t modifier_count = 0;

  explicit SassOpcode(std::string_view opcode);
  bool has(std::string_view modifier) const;
};

enum class OperandKind : uint8_t {
  register_,      ///< a general or uniform register, or RZ, URZ
  predicate,      ///< P0, !UP1, PT
  predicate_set,  ///< PR, UPR: all predicates at once
  address,        ///< something in brackets: memory, constant bank, descriptor
  label,          ///< `(.L_x_3)
  other           ///< immediate, special register, convergence barrier, ...
};

struct SassOperand {
  OperandKind kind = OperandKind::other;
  std::optional<Register> reg;  ///< nothing for RZ, URZ, PT, UPT and for other kinds
  bool negated = false;         ///< of a predicate
  bool wide = false;            ///< written with .64
  bool scalar = false;          ///< written with .F32: one value for both halves of a pair
  std::string_view text;
  size_t start = 0;  ///< of the register's name in `text`
};

/// At most this many operands are looked at; no instruction has so many.
inline constexpr size_t kMostOperands = 16;
struct SassOperands {
  std::array<SassOperand, kMostOperands> list;
  size_t count = 0;

  explicit SassOperands(std::string_view text);
};

/// A register token at the start of `text` ("R12", "UR4", "P0"), and how long it is. RZ and its
/// like have a length but no register. Length 0: there is none.
struct RegisterToken {
  size_t length = 0;
  OperandKind kind = OperandKind::other;
  std::optional<Register> reg;
};
RegisterToken read_register(std::string_view text);

/// The name in "`(name)", if `text` has one; empty if not.
std::string_view label_in(std::string_view text);

}  // namespace fathom
