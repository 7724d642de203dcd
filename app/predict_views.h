#pragma once
// A prediction as text and as JSON.

#include <nlohmann/json_fwd.hpp>
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
/// One of the `kernels`, and a finding of it.
nlohmann::ordered_json prediction_object(const KernelPrediction& kernel);
nlohmann::ordered_json finding_object(const Finding& finding);
/// "16 x 8", "kernels.cu:36"
std::string shape_text(const std::array<uint32_t, 3>& shape);
std::string place_text(const SourceLocation& at);
/// Launches of one kernel, fastest first.
std::string sweep_text(const std::vector<KernelPrediction>& launches, const MachineModel& machine);

}  // namespace fathom
