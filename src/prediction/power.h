#pragma once
// Power of a kernel without running it, by a model that was learned from kernels measured on a
// device.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "machine/machine.h"
#include "prediction/predict.h"

namespace fathom {

/// What the models of power see of a prediction, in the order of their names: rates over the
/// predicted time and shares. No measurement is part of it.
std::vector<std::pair<std::string_view, double>> power_features(const KernelPrediction& prediction,
                                                                const MachineModel& machine);

struct DecisionTree {
  struct Node {
    int32_t feature = -1;  ///< -1: a leaf
    float threshold = 0;   ///< of a leaf: its value
    uint32_t right = 0;    ///< where it is not below; else the next node follows
  };
  std::vector<Node> nodes;
};

/// A blend of two models of the logarithm of the power in watts: energies of events, and boosted
/// trees. benchmarks/prediction/power.py trains it and writes the file.
class PowerModel {
 public:
  /// Errors: the file is no such model.
  static Result<PowerModel> parse(std::string_view json, const std::string& file);

  /// Watts. `features`: a value for each of feature_names().
  double watts(const std::vector<double>& features) const;
  const std::string& device() const { return device_; }
  const std::vector<std::string>& feature_names() const { return names_; }

 private:
  double physical(const std::vector<double>& features) const;
  double trees(const std::vector<double>& features, double physical) const;

  std::string device_;
  std::vector<std::string> names_;
  double least_ = 0, most_ = 0;  ///< watts that were ever measured
  double physical_weight_ = 0;
  // Idle power, and watts for each unit of some features: the logarithm of the sum.
  double idle_ = 0;
  std::vector<uint32_t> events_;
  std::vector<double> event_watts_;
  // base + sum of leaves; the last feature is what the energies of events say.
  double base_ = 0;
  std::vector<DecisionTree> trees_;
};

/// The model of the device; none: nothing was measured there. It is read when first asked for.
const PowerModel* power_model_for(const MachineModel& machine);

/// Puts rates into a prediction, and power and energy into one of the time model `sim`, or says why
/// there are none.
void add_power(const MachineModel& machine, KernelPrediction& prediction);

}  // namespace fathom
