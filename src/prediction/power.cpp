#include "prediction/power.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "prediction/power_data.h"

namespace fathom {
namespace {

using Json = nlohmann::json;

Result<DecisionTree> read_tree(const Json& json, size_t features, const Error& broken) {
  const auto feature = json.at("feature").get<std::vector<int32_t>>();
  const auto value = json.at("value").get<std::vector<float>>();
  const auto right = json.at("right").get<std::vector<uint32_t>>();
  if (feature.empty() || value.size() != feature.size() || right.size() != feature.size())
    return broken;
  DecisionTree tree;
  for (size_t i = 0; i < feature.size(); ++i) {
    // Children come after their parents, so that each way down ends.
    const bool leaf = feature[i] < 0;
    if (!leaf && (static_cast<size_t>(feature[i]) >= features || right[i] <= i + 1 ||
                  right[i] >= feature.size()))
      return broken;
    tree.nodes.push_back({feature[i], value[i], right[i]});
  }
  if (tree.nodes.back().feature >= 0) return broken;
  return tree;
}

double leaf_of(const DecisionTree& tree, const std::vector<float>& features) {
  uint32_t at = 0;
  while (tree.nodes[at].feature >= 0) {
    const DecisionTree::Node& node = tree.nodes[at];
    at = features[static_cast<size_t>(node.feature)] < node.threshold ? at + 1 : node.right;
  }
  return tree.nodes[at].threshold;
}

}  // namespace

Result<PowerModel> PowerModel::parse(std::string_view text, const std::string& file) {
  const Error broken{ErrorKind::bad_input, "this is no model of power", file,
                     "write it again with benchmarks/prediction/power.py"};
  const Json json = Json::parse(text, nullptr, false);
  if (json.is_discarded()) return broken;
  PowerModel model;
  try {
    model.device_ = json.at("device").get<std::string>();
    model.names_ = json.at("features").get<std::vector<std::string>>();
    model.least_ = json.at("least_watts").get<double>();
    model.most_ = json.at("most_watts").get<double>();
    if (!(model.least_ > 0 && model.least_ <= model.most_)) return broken;
    const size_t features = model.names_.size();
    const Json &physical = json.at("physical"), &trees = json.at("trees");
    model.physical_weight_ = physical.at("weight").get<double>();
    model.idle_ = physical.at("idle_watts").get<double>();
    model.events_ = physical.at("features").get<std::vector<uint32_t>>();
    model.event_watts_ = physical.at("watts").get<std::vector<double>>();
    if (model.events_.size() != model.event_watts_.size()) return broken;
    for (uint32_t each : model.events_)
      if (each >= features) return broken;
    model.base_ = trees.at("base").get<double>();
    for (const Json& each : trees.at("trees")) {
      Result<DecisionTree> tree = read_tree(each, features + 1, broken);
      if (!tree) return tree.error();
      model.trees_.push_back(std::move(*tree));
    }
  } catch (const Json::exception&) {
    return broken;
  }
  return model;
}

double PowerModel::physical(const std::vector<double>& features) const {
  double watts = idle_;
  for (size_t i = 0; i < events_.size(); ++i) watts += event_watts_[i] * features[events_[i]];
  return std::log(std::max(1.0, watts));
}

double PowerModel::trees(const std::vector<double>& features, double physical) const {
  // Single precision, as the trees were grown.
  std::vector<float> narrow(features.begin(), features.end());
  narrow.push_back(static_cast<float>(physical));
  double sum = base_;
  for (const DecisionTree& each : trees_) sum += leaf_of(each, narrow);
  return sum;
}

double PowerModel::watts(const std::vector<double>& features) const {
  FATHOM_INVARIANT(features.size() == names_.size());
  const double events = physical(features);
  const double logarithm = physical_weight_ * events + trees(features, events);
  return std::clamp(std::exp(logarithm), least_, most_);
}

const PowerModel* power_model_for(const MachineModel& machine) {
  static const PowerModel model = [] {
    std::string text;
    for (std::string_view piece : power_data()) text += piece;
    Result<PowerModel> made = PowerModel::parse(text, "power_h200.json");
    FATHOM_INVARIANT(made.ok());
    return std::move(*made);
  }();
  return model.device() == machine.name ? &model : nullptr;
}

void add_power(const MachineModel& machine, KernelPrediction& prediction) {
  prediction.rates = power_features(prediction, machine);
  if (prediction.model != PredictionModel::simulation) {
    prediction.assumed.push_back(format(
        "no power: it was learned with times of --model sim, not %s", name_of(prediction.model)));
    return;
  }
  const PowerModel* model = power_model_for(machine);
  if (!model) {
    prediction.assumed.push_back("no power: it was learned on an NVIDIA H200 only, not on " +
                                 machine.name);
    return;
  }
  std::vector<double> features;
  for (const std::string& name : model->feature_names()) {
    const auto found = std::find_if(prediction.rates.begin(), prediction.rates.end(),
                                    [&](const auto& each) { return each.first == name; });
    if (found == prediction.rates.end()) {
      // While features change, the program must run for its model to be trained again.
      prediction.assumed.push_back("no power: the model knows a feature that is not made: " + name);
      return;
    }
    features.push_back(found->second);
  }
  prediction.power_w = model->watts(features);
  prediction.energy_mj = *prediction.power_w * prediction.time_us / 1000;
}

}  // namespace fathom
