#pragma once

#include <array>
#include <cstdint>

#include "binary/sass_opcodes.h"
#include "binary/sass_operands.h"

namespace fathom {

/// How many registers each operand names. Sources count from the first operand behind the
/// destinations; addresses, predicates and immediates are counted too.
struct OperandWidths {
  std::array<uint16_t, 4> destination{1, 1, 1, 1};
  std::array<uint16_t, kMostOperands> source;
  uint8_t access_bytes = 0;  ///< of memory operations
  /// Registers of an address in plain brackets: 2 for global addresses without descriptor.
  uint8_t address = 1;
  std::array<uint8_t, kMostOperands> source_address;  ///< the same by operand, 0: as `address`

  OperandWidths() {
    source.fill(1);
    source_address.fill(0);
  }
};

/// `operands` from the first source on.
OperandWidths operand_widths(const OpcodeFacts& facts, const SassOpcode& opcode,
                             const SassOperand* sources, size_t source_count);

}  // namespace fathom
