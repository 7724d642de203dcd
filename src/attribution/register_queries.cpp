#include "attribution/register_queries.h"

#include <algorithm>

#include "attribution/operand_text.h"
#include "flow/liveness.h"
#include "flow/slices.h"

namespace fathom {
namespace {

bool is_shared_store(const Instruction& instruction) {
  return instruction.base_opcode() == "STS";
}

bool is_global_load(const Instruction& instruction) {
  return instruction.op_class == OpClass::load && instruction.space == MemorySpace::global;
}

/// Registers that hold what it stores, not its address.
std::set<Register> stored_registers(const Instruction& store) {
  std::set<Register> registers;
  std::vector<Operand> operands = parse_operands(store.text);
  if (operands.size() < 2 || operands[1].kind != Operand::Kind::general) return registers;
  for (int word = 0; word < std::max(1, store.access_bytes / 4); ++word)
    if (operands[1].number >= 0)
      registers.insert({RegisterFile::general, uint8_t(operands[1].number + word)});
  return registers;
}

}  // namespace

std::set<uint32_t> loads_for_shared_memory(const AnalyzedFunction& function) {
  const auto& code = function.instructions;
  std::set<uint32_t> stored, used;
  std::set<Register> loaded;
  for (const Instruction& instruction : code)
    if (is_global_load(instruction))
      loaded.insert(instruction.defs.begin(), instruction.defs.end());
  Slicer slicer(code, function.graph);
  for (uint32_t i = 0; i < code.size(); ++i) {
    bool reads = std::any_of(code[i].uses.begin(), code[i].uses.end(), [&](Register reg) {
      return reg.file == RegisterFile::general && loaded.count(reg);
    });
    if (!reads) continue;
    std::set<Register> values;
    if (is_shared_store(code[i])) values = stored_registers(code[i]);
    for (const Dependency& dependency : slicer.dependencies_of(i)) {
      if (dependency.through.file != RegisterFile::general || !is_global_load(code[dependency.def]))
        continue;
      (values.count(dependency.through) ? stored : used).insert(dependency.def);
    }
  }
  std::erase_if(stored, [&](uint32_t load) { return used.count(load) > 0; });
  return stored;
}

std::set<uint32_t> shared_stores_of(const AnalyzedFunction& function,
                                    const std::set<uint32_t>& loads) {
  const auto& code = function.instructions;
  std::set<uint32_t> stores;
  Slicer slicer(code, function.graph);
  for (uint32_t i = 0; i < code.size(); ++i) {
    if (!is_shared_store(code[i])) continue;
    const std::set<Register> values = stored_registers(code[i]);
    for (const Dependency& dependency : slicer.dependencies_of(i))
      if (values.count(dependency.through) && loads.count(dependency.def)) stores.insert(i);
  }
  return stores;
}

std::vector<uint32_t> live_registers(const AnalyzedFunction& function, uint32_t instruction) {
  RegisterSet live = Liveness(function.instructions, function.graph).before(instruction);
  std::vector<uint32_t> registers;
  for (uint32_t r = 0; r < live.size(); ++r)
    if (live[r]) registers.push_back(r);
  return registers;
}

}  // namespace fathom
