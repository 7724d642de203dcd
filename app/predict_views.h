#pragma once
// A prediction as text and as JSON.

#include <string>
#include <vector>

#include "prediction/predict.h"
#include "views/layout.h"

namespace fathom {

std::string prediction_text(const std::vector<KernelPrediction>& kernels,
                            const MachineModel& machine, const Style& style);
/// An object with `kernels`, each with name, time_us, power_w, energy_mj, bound_by, assumed and
/// what they rest on. power_w and energy_mj are null where there is no model of power for the
/// device.
std::string prediction_json(const std::vector<KernelPrediction>& kernels,
                            const MachineModel& machine);
/// Launches of one kernel, fastest first.
std::string sweep_text(const std::vector<KernelPrediction>& launches, const MachineModel& machine);

}  // namespace fathom
