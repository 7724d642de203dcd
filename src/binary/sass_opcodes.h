#pragma once
// What the opcodes of Volta to Blackwell do with their operands: one table for a reader to check.

#include <cstdint>
#include <string_view>

#include "binary/instruction.h"

namespace fathom {

/// How many registers an operand names; those that the rule does not mention name one.
enum class Widths : uint8_t {
  one,
  pair,          ///< all are 64 bits: DADD, FFMA2
  pair_result,   ///< the destination is: LEPC; CS2R, but for CS2R.32
  pair_source,   ///< general registers are addresses of code: CALL, RET, BRX
  sized,         ///< all are 64 bits with .64, .S64, .U64
  sized_source,  ///< the source is 64 bits with .U64, the destination never: MATCH.ANY.U64
  multiply,      ///< IMAD.WIDE: destination and addend; IMAD.HI: the addend
  convert,       ///< by the types in the opcode: F2F.F64.F32, I2F.F64, F2I.S64, MOVM.U4TO8
  memory,        ///< data as large as .64, .128, .F64, .x4 say
  matrix,        ///< fragments by shape and types: HMMA.16816.F32.BF16
  texture,       ///< coordinates by dimensions, results by the mask
  bulk,          ///< UBLKCP, UTMALDG: addresses and coordinates in uniform registers
  synchronize,   ///< SYNCS: states of 64 bits
  tensor_unit    ///< UTCHMMA: descriptors in uniform registers
};

struct OpcodeFacts {
  std::string_view name;
  OpClass op_class = OpClass::other;
  /// Leading operands that are destinations: R a register, P a predicate; r and p the same where
  /// the next operand is one (a negated predicate is a source).
  std::string_view destinations;
  Widths widths = Widths::one;
  MemorySpace space = MemorySpace::none;
  Flow flow = Flow::next;
};

/// By base opcode ("LDG"), or null.
const OpcodeFacts* find_opcode(std::string_view base);

}  // namespace fathom
