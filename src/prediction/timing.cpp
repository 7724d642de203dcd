#include "prediction/timing.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {
namespace {

struct PipeOfClass {
  std::string_view prefix;
  Pipe pipe;
};
// The first that fits; a class named "tensor_16816" is one of "tensor".
constexpr PipeOfClass kPipes_[] = {
    {"integer_multiply", Pipe::fma_heavy},
    {"integer_wide", Pipe::special},
    {"integer", Pipe::alu},
    {"fp16", Pipe::fma},
    {"fp32", Pipe::fma},
    {"fp64", Pipe::fp64},
    {"conversion", Pipe::special},
    {"special_register", Pipe::branch},
    {"special", Pipe::special},
    {"tensor", Pipe::tensor},
    {"move", Pipe::alu},
    {"predicate", Pipe::alu},
    {"uniform", Pipe::uniform},
    {"vote", Pipe::alu},
    {"shuffle", Pipe::memory},
    {"load", Pipe::memory},
    {"store", Pipe::memory},
    {"atomic", Pipe::memory},
    {"barrier", Pipe::branch},
    {"control", Pipe::branch},
};

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

const char* name_of(Pipe pipe) {
  static constexpr const char* kNames[kPipes] = {"none",
                                                 "integer unit",
                                                 "multiply unit (integer)",
                                                 "multiply-add unit",
                                                 "double-precision unit",
                                                 "special-function unit",
                                                 "tensor unit",
                                                 "uniform unit",
                                                 "branch unit",
                                                 "load/store unit"};
  return kNames[static_cast<size_t>(pipe)];
}

std::string sass_class(std::string_view opcode, OpClass op_class, MemorySpace space) {
  const std::string_view base = opcode.substr(0, opcode.find('.'));
  if (is_uniform(base)) return "uniform";
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

const ClassFigures& figures_of(const PredictionFigures& figures, const std::string& name) {
  auto found = figures.classes.find(name);
  if (found == figures.classes.end() && starts_with(name, "tensor"))
    found = figures.classes.find("tensor");
  if (found == figures.classes.end()) found = figures.classes.find("default");
  static const ClassFigures kNone{4, 32, 0};
  return found == figures.classes.end() ? kNone : found->second;
}

StepTiming timing_of(const PredictionFigures& figures, const std::string& name,
                     uint32_t schedulers) {
  const ClassFigures& own = figures_of(figures, name);
  StepTiming timing;
  timing.latency = static_cast<float>(own.latency);
  for (const PipeOfClass& entry : kPipes_) {
    if (!starts_with(name, entry.prefix)) continue;
    timing.pipe = entry.pipe;
    break;
  }
  const double share = timing.pipe == Pipe::memory ? 1 : schedulers;
  timing.pipe_cycles = static_cast<float>(std::max(1.0, 32 * share / own.lanes));
  // Where all lanes together take a cycle, two halves take turns: an integer multiplication keeps
  // one of them busy, the other goes on.
  const bool two_halves = figures_of(figures, "fp32").lanes > 16 * schedulers;
  if (timing.pipe == Pipe::fma && two_halves)
    timing.pipe_cycles = std::max(2.0f, 2 * timing.pipe_cycles);
  if (timing.pipe == Pipe::fma && !two_halves) timing.pipe = Pipe::fma_heavy;
  return timing;
}

}  // namespace fathom
