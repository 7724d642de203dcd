#pragma once
// Which figures of the machine a step goes by.

#include <string>

#include "machine/machine.h"
#include "prediction/program.h"

namespace fathom {

/// Unit, cycles and latency of one warp's instruction of a class.
StepTiming timing_of(const MachineModel& machine, const std::string& name);

}  // namespace fathom
