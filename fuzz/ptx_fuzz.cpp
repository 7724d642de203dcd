// The text of a PTX module.

#include <cstdint>

#include "binary/ptx.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto module = parse_ptx(text, "fuzz.ptx");
  if (!module.ok()) {
    FATHOM_INVARIANT(!module.error().what.empty() && !module.error().where.empty());
    return 0;
  }
  for (const PtxFunction& function : module->functions) {
    for (const PtxInstruction& each : function.instructions) {
      FATHOM_INVARIANT(each.opcode < module->opcodes.size());
      FATHOM_INVARIANT(each.first_operand + each.operand_count <= function.operands.size());
    }
    for (const PtxOperand& operand : function.operands) {
      if (operand.kind == PtxOperandKind::register_)
        FATHOM_INVARIANT(operand.name < function.registers.size());
      if (operand.kind == PtxOperandKind::label)
        FATHOM_INVARIANT(operand.name < function.labels.size());
    }
  }
  return 0;
}
