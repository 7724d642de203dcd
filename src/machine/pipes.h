#pragma once
// Which unit serves a class of instructions, and for how long: from a machine's figures.

#include <cstddef>
#include <cstdint>
#include <string>

#include "machine/machine.h"

namespace fathom {

/// Units of a quarter of a multiprocessor, and `memory`, which the whole one has once.
enum class Pipe : uint8_t {
  none,
  alu,
  fma_heavy,
  fma,
  fp64,
  special,
  tensor,
  uniform,
  branch,
  constant,  ///< loads of constants into registers
  memory
};
inline constexpr size_t kPipes = 11;
const char* name_of(Pipe pipe);

/// The figures of a class, or of "default".
const ClassFigures& figures_of(const PredictionFigures& figures, const std::string& name);
/// Threads per multiprocessor and cycle of a class, by the device's figures or its architecture's.
double lanes_of(const MachineModel& machine, const std::string& name);

struct PipeUse {
  Pipe pipe = Pipe::none;
  double cycles = 1;  ///< that the unit is busy with one warp; one of the two halves of `fma`
};
PipeUse pipe_use(const MachineModel& machine, const std::string& name);

}  // namespace fathom
