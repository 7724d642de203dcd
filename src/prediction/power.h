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
    float threshold = 0;   ///< below it: left; of a leaf: its value
    uint32_t left = 0, right = 0;
  };
  std::vector<Node> nodes;
};

/// A blend of a Gaussian process and of boosted trees, each of the logarithm of the power in watts.
/// benchmarks/prediction/power.py trains it and writes the file.
class PowerModel {
 public:
  /// Errors: the file is no such model.
  static Result<PowerModel> parse(std::string_view json, const std::string& file);

  /// Watts. `features`: a value for each of feature_names().
  double watts(const std::vector<double>& features) const;
  const std::string& device() const { return device_; }
  const std::vector<std::string>& feature_names() const { return names_; }

 private:
  double process(const std::vector<double>& features) const;
  double trees(const std::vector<double>& features) const;

  std::string device_;
  std::vector<std::string> names_;
  double process_weight_ = 0, least_ = 0, most_ = 0;
  // The process: mean + slopes . z + sum of height alpha exp(-|widths z - row|^2 / 2), where z are
  // the chosen features, made logarithms where `logarithm_` is not 0, then centred and scaled.
  std::vector<uint32_t> chosen_;
  std::vector<double> logarithm_, centre_, scale_, widths_, slopes_, alpha_;
  std::vector<std::vector<float>> rows_;
  double mean_ = 0, height_ = 0;
  std::vector<DecisionTree> trees_;
  double base_ = 0;
};

/// The model of the device; none: nothing was measured there. It is read when first asked for.
const PowerModel* power_model_for(const MachineModel& machine);

/// Puts rates into a prediction, and power and energy into one of the time model `sim`, or says why
/// there are none.
void add_power(const MachineModel& machine, KernelPrediction& prediction);

}  // namespace fathom
