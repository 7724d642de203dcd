#pragma once

#include <functional>

#include "base/result.h"
#include "binary/gpu_binary.h"
#include "prediction/launch.h"
#include "prediction/program.h"

namespace fathom {

/// The kernel and what it calls in its section, as steps. Constants of the launch (parameters, grid
/// and block) become part of the steps.
/// Errors: the architecture has no table of encodings; the function has no code.
Result<Program> make_program(const GpuBinary& binary, const GpuSymbol& kernel,
                             const MachineModel& machine, const Launch& launch,
                             ParameterBlock& parameters);

/// One SASS instruction as a step, without its target and timing; `constant(bank, offset, bytes)`
/// is asked for operands in constant banks. For tests.
struct ConstantValue {
  bool known = false;
  uint64_t value = 0;
};
using ConstantReader = std::function<ConstantValue(uint32_t bank, uint32_t offset, uint32_t bytes)>;
Step lower_sass(const Instruction& instruction, const ConstantReader& constant);

/// Slots of general and uniform registers, and numbers of predicates.
int16_t slot_of(Register reg);

}  // namespace fathom
