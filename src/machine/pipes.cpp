#include "machine/pipes.h"

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
    {"dot_product", Pipe::fma_heavy},
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
    {"load_constant", Pipe::constant},
    {"load", Pipe::memory},
    {"store", Pipe::memory},
    {"atomic", Pipe::memory},
    {"barrier", Pipe::branch},
    {"control", Pipe::branch},
};

template <typename Map>
auto find_class(const Map& map, const std::string& name) {
  auto found = map.find(name);
  if (found == map.end() && starts_with(name, "tensor")) found = map.find("tensor");
  return found == map.end() ? map.find("default") : found;
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
                                                 "constant unit",
                                                 "load/store unit"};
  return kNames[static_cast<size_t>(pipe)];
}

const ClassFigures& figures_of(const PredictionFigures& figures, const std::string& name) {
  const auto found = find_class(figures.classes, name);
  static const ClassFigures kNone{4, 32, 0};
  return found == figures.classes.end() ? kNone : found->second;
}

double lanes_of(const MachineModel& machine, const std::string& name) {
  if (machine.prediction) return figures_of(*machine.prediction, name).lanes;
  const auto found = find_class(machine.lanes, name);
  return found == machine.lanes.end() ? 32 : found->second;
}

PipeUse pipe_use(const MachineModel& machine, const std::string& name) {
  PipeUse use;
  for (const PipeOfClass& entry : kPipes_) {
    if (!starts_with(name, entry.prefix)) continue;
    use.pipe = entry.pipe;
    break;
  }
  const double share = use.pipe == Pipe::memory ? 1 : machine.schedulers;
  use.cycles = std::max(1.0, 32 * share / lanes_of(machine, name));
  // Where all lanes together take a cycle, two halves take turns: an integer multiplication keeps
  // one of them busy, the other goes on.
  const bool two_halves = lanes_of(machine, "fp32") > 16 * machine.schedulers;
  if (use.pipe == Pipe::fma && two_halves) use.cycles = std::max(2.0, 2 * use.cycles);
  if (use.pipe == Pipe::fma && !two_halves) use.pipe = Pipe::fma_heavy;
  return use;
}

}  // namespace fathom
