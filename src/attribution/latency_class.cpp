#include "attribution/latency_class.h"

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
    case OpClass::integer:
      return "integer";
    case OpClass::integer_multiply:
      return "integer_multiply";
    case OpClass::integer_wide:
      return "integer_wide";
    case OpClass::fp16:
      return "fp16";
    case OpClass::fp32:
      return "fp32";
    case OpClass::fp64:
      return "fp64";
    case OpClass::conversion:
      return "conversion";
    case OpClass::special:
      return "special";
    case OpClass::tensor:
      return "tensor";
    case OpClass::move:
      return "move";
    case OpClass::predicate:
      return "predicate";
    case OpClass::special_register:
      return "special_register";
    case OpClass::shuffle:
      return "shuffle";
    case OpClass::load:
      return load_class(instruction.space);
    case OpClass::store:
      return "store";
    case OpClass::atomic:
      return instruction.space == MemorySpace::shared ? "atomic_shared" : "atomic_global";
    case OpClass::texture:
      return "texture";
    case OpClass::asynchronous_copy:
      return "asynchronous_copy";
    case OpClass::barrier:
      return "barrier";
    case OpClass::memory_barrier:
      return "memory_barrier";
    case OpClass::control:
      return "control";
    case OpClass::other:
      return "other";
  }
  return "default";
}

bool is_l1_access(const Instruction& instruction) {
  if (instruction.op_class == OpClass::texture) return true;
  if (!instruction.is_memory()) return false;
  return instruction.space != MemorySpace::shared && instruction.space != MemorySpace::constant;
}

}  // namespace fathom
