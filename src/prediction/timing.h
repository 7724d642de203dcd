#pragma once
// Which figures of the machine a step goes by.

#include <string>
#include <string_view>

#include "machine/machine.h"
#include "prediction/program.h"

namespace fathom {

/// The class of a SASS instruction in PredictionFigures::classes.
std::string sass_class(std::string_view opcode, OpClass op_class, MemorySpace space);
/// The figures of a class, or of "default".
const ClassFigures& figures_of(const PredictionFigures& figures, const std::string& name);
/// Unit, cycles and latency of one warp's instruction of a class.
StepTiming timing_of(const PredictionFigures& figures, const std::string& name,
                     uint32_t schedulers);

}  // namespace fathom
