#pragma once

#include "base/result.h"
#include "binary/ptx.h"
#include "prediction/launch.h"
#include "prediction/program.h"

namespace fathom {

/// A kernel of PTX as steps, calls of functions with a body included; each step stands for as many
/// machine instructions as the assembler usually makes of it, and registers are estimated from what
/// is alive at once.
/// Errors: there is no such kernel with a body.
Result<Program> make_program(const PtxModule& module, const std::string& kernel,
                             const MachineModel& machine, const Launch& launch,
                             ParameterBlock& parameters);

}  // namespace fathom
