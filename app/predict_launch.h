#pragma once
// What predictions of files and of recordings share: the device, the arguments, one launch.

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "machine/machine.h"
#include "prediction/kernel_source.h"
#include "prediction/predict.h"

namespace fathom {

/// A machine model that is part of the program, or one of a file.
class ChosenMachine {
 public:
  /// `device` is a name, or a file that `fathom calibrate` wrote (.json).
  Result<Done> choose(const std::string& device);
  const MachineModel& get() const { return own_ ? *own_ : *built_in_; }

 private:
  const MachineModel* built_in_ = nullptr;
  std::optional<MachineModel> own_;
};

/// "42=16", "42=0.1": the texts of --trips.
Result<std::vector<TripCount>> read_trips(const std::vector<std::string>& texts);
/// "71=8704", "71=8K": the texts of --near.
Result<std::vector<NearbyData>> read_nearby(const std::vector<std::string>& texts);
/// "n=4096", "0=@64M": the texts of --arg.
Result<std::vector<ArgumentValue>> read_values(const std::vector<std::string>& texts);
/// "sim", "delay", "list" or "roofline".
PredictionModel model_of(const std::string& name);

/// `parameters` with their values in. `guess` is what whole numbers without a value are taken for:
/// if it is not given, the number of threads.
Result<KernelPrediction> predict_launch(const KernelSource& source, const std::string& kernel,
                                        std::vector<Parameter> parameters, Launch launch,
                                        const MachineModel& machine, PredictionModel model,
                                        std::optional<uint64_t> guess = {});

}  // namespace fathom
