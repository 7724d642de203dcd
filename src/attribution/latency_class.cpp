#include "attribution/latency_class.h"

#include "binary/throughput_class.h"

namespace fathom {
namespace {

std::string_view load_class(MemorySpace space) {
  switch (space) {
    case MemorySpace::shared:
      return "load_shared";
    case MemorySpace::constant:
      return "load_constant";
    case MemorySpace::local:
      return "load_local";
    case MemorySpace::texture:
      return "texture";
    case MemorySpace::generic:
      return "load_generic";
    case MemorySpace::global:
    case MemorySpace::none:
      return "load_global";
  }
  return "load_global";
}

}  // namespace

std::string_view latency_class(const Instruction& instruction) {
  switch (instruction.op_class) {
    case OpClass::load:
      return load_class(instruction.space);
    case OpClass::atomic:
      return instruction.space == MemorySpace::shared ? "atomic_shared" : "atomic_global";
    default:
      return class_name(instruction.op_class);
  }
}

PipeUse pipe_use(const MachineModel& machine, const Instruction& instruction) {
  return pipe_use(machine, sass_class(instruction.opcode, instruction.op_class, instruction.space));
}

bool is_l1_access(const Instruction& instruction) {
  if (instruction.op_class == OpClass::texture) return true;
  if (!instruction.is_memory()) return false;
  return instruction.space != MemorySpace::shared && instruction.space != MemorySpace::constant;
}

}  // namespace fathom
