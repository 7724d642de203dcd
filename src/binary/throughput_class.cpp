#include "binary/throughput_class.h"

#include <vector>

#include "base/text.h"

namespace fathom {
namespace {

bool is_uniform(std::string_view base) {
  return base.size() > 1 && base[0] == 'U' && base != "UBLKCP" && base != "UTMALDG" &&
         base != "UTMASTG";
}

std::string tensor_class(std::string_view opcode) {
  // "HMMA.16816.F32": the shape decides; what the file does not list is "tensor".
  const std::vector<std::string_view> parts = split(opcode, '.');
  return parts.size() > 1 ? "tensor_" + std::string(parts[1]) : "tensor";
}

std::string memory_class(OpClass op_class, MemorySpace space) {
  if (op_class == OpClass::store) return space == MemorySpace::shared ? "store_shared" : "store";
  if (space == MemorySpace::shared) return "load_shared";
  if (space == MemorySpace::constant) return "load_constant";
  return "load_global";
}

}  // namespace

std::string sass_class(std::string_view opcode, OpClass op_class, MemorySpace space) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  if (is_uniform(base)) return "uniform";
  // What moves, adds and shifts in the multiplier: IMAD.MOV, .IADD, .SHL, .X, and Hopper's VIADD.
  if ((base == "IMAD" && op_class != OpClass::integer_multiply) || base == "VIADD")
    return "integer_multiply";
  if (base == "FCHK") return "special";
  if (base == "IDP") return "dot_product_4";
  if (base == "FMNMX" || base == "FSETP" || base == "FSEL") return "integer";
  switch (op_class) {
    case OpClass::integer_multiply:
      return opcode.find(".WIDE") != opcode.npos || opcode.find(".HI") != opcode.npos
                 ? "integer_multiply_wide"
                 : "integer_multiply";
    case OpClass::conversion:
      if (base == "I2FP") return "integer";
      return opcode.find("64") != opcode.npos ? "conversion_64" : "conversion";
    case OpClass::tensor:
      return tensor_class(opcode);
    case OpClass::shuffle:
      return base == "SHFL" ? "shuffle" : "vote";
    case OpClass::load:
    case OpClass::store:
    case OpClass::atomic:
    case OpClass::texture:
    case OpClass::asynchronous_copy:
      return memory_class(op_class, space);
    case OpClass::memory_barrier:
      return "barrier";
    case OpClass::other:
      return "default";
    default:
      return std::string(class_name(op_class));
  }
}

}  // namespace fathom
