#include "prediction/timing.h"

namespace fathom {

StepTiming timing_of(const MachineModel& machine, const std::string& name) {
  const PipeUse use = pipe_use(machine, name);
  StepTiming timing;
  timing.latency = static_cast<float>(figures_of(*machine.prediction, name).latency);
  timing.pipe = use.pipe;
  timing.pipe_cycles = static_cast<float>(use.cycles);
  return timing;
}

}  // namespace fathom
