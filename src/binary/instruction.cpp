#include "binary/instruction.h"

namespace fathom {

std::string to_string(Register reg) {
  static constexpr const char* kPrefixes[] = {"R", "UR", "P", "UP", "B"};
  return kPrefixes[static_cast<size_t>(reg.file)] + std::to_string(reg.index);
}

std::string_view class_name(OpClass op_class) {
  static constexpr std::string_view kNames[] = {"integer",      "integer_multiply",
                                                "integer_wide", "fp16",
                                                "fp32",         "fp64",
                                                "conversion",   "special",
                                                "tensor",       "move",
                                                "predicate",    "special_register",
                                                "shuffle",      "load",
                                                "store",        "atomic",
                                                "texture",      "asynchronous_copy",
                                                "barrier",      "memory_barrier",
                                                "control",      "other"};
  return kNames[static_cast<size_t>(op_class)];
}

Control decode_control(uint64_t high_word) {
  auto bits = [&](unsigned first, unsigned count) {
    return static_cast<uint8_t>(high_word >> (first - 64) & ((1u << count) - 1));
  };
  Control control;
  control.stall = bits(105, 4);
  control.yield = bits(109, 1);
  control.write_barrier = bits(110, 3);
  control.read_barrier = bits(113, 3);
  control.wait_mask = bits(116, 6);
  control.reuse = bits(122, 4);
  return control;
}

}  // namespace fathom
