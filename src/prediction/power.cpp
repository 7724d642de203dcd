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
  const auto left = json.at("left").get<std::vector<uint32_t>>();
  const auto right = json.at("right").get<std::vector<uint32_t>>();
  if (feature.empty() || value.size() != feature.size() || left.size() != feature.size() ||
      right.size() != feature.size())
    return broken;
  DecisionTree tree;
  for (size_t i = 0; i < feature.size(); ++i) {
    // Children come after their parents, so that each way down ends.
    const bool leaf = feature[i] < 0;
    if (!leaf && (static_cast<size_t>(feature[i]) >= features || left[i] <= i || right[i] <= i ||
                  left[i] >= feature.size() || right[i] >= feature.size()))
      return broken;
    tree.nodes.push_back({feature[i], value[i], left[i], right[i]});
  }
  return tree;
}

double leaf_of(const DecisionTree& tree, const std::vector<double>& features) {
  uint32_t at = 0;
  while (tree.nodes[at].feature >= 0) {
    const DecisionTree::Node& node = tree.nodes[at];
    // Single precision, as the trees were grown.
    const auto value = static_cast<float>(features[static_cast<size_t>(node.feature)]);
    at = value < node.threshold ? node.left : node.right;
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
    const size_t features = model.names_.size();
    const Json& process = json.at("process");
    model.process_weight_ = process.at("weight").get<double>();
    model.mean_ = process.at("mean").get<double>();
    model.height_ = process.at("height").get<double>();
    model.alpha_ = process.at("alpha").get<std::vector<double>>();
    model.chosen_ = process.at("features").get<std::vector<uint32_t>>();
    for (uint32_t each : model.chosen_)
      if (each >= features) return broken;
    model.rows_ = process.at("rows").get<std::vector<std::vector<float>>>();
    const std::pair<const char*, std::vector<double>*> vectors[] = {
        {"logarithm", &model.logarithm_}, {"centre", &model.centre_}, {"scale", &model.scale_},
        {"widths", &model.widths_},       {"slopes", &model.slopes_},
    };
    for (const auto& [name, into] : vectors) {
      *into = process.at(name).get<std::vector<double>>();
      if (into->size() != model.chosen_.size()) return broken;
    }
    if (model.rows_.size() != model.alpha_.size()) return broken;
    for (const auto& row : model.rows_)
      if (row.size() != model.chosen_.size()) return broken;
    model.base_ = json.at("trees").at("base").get<double>();
    for (const Json& each : json.at("trees").at("trees")) {
      Result<DecisionTree> tree = read_tree(each, features, broken);
      if (!tree) return tree.error();
      model.trees_.push_back(std::move(*tree));
    }
  } catch (const Json::exception&) {
    return broken;
  }
  return model;
}

double PowerModel::process(const std::vector<double>& features) const {
  std::vector<double> scaled(chosen_.size());
  double sum = mean_;
  for (size_t i = 0; i < chosen_.size(); ++i) {
    const double feature = features[chosen_[i]];
    const double value =
        logarithm_[i] > 0 ? std::log(std::max(0.0, feature) / logarithm_[i] + 0.1) : feature;
    const double z = (value - centre_[i]) / scale_[i];
    sum += slopes_[i] * z;
    scaled[i] = z * widths_[i];
  }
  for (size_t r = 0; r < rows_.size(); ++r) {
    double distance = 0;
    for (size_t i = 0; i < scaled.size(); ++i) {
      const double apart = scaled[i] - static_cast<double>(rows_[r][i]);
      distance += apart * apart;
    }
    sum += height_ * alpha_[r] * std::exp(-0.5 * distance);
  }
  return sum;
}

double PowerModel::trees(const std::vector<double>& features) const {
  double sum = base_;
  for (const DecisionTree& each : trees_) sum += leaf_of(each, features);
  return sum;
}

double PowerModel::watts(const std::vector<double>& features) const {
  FATHOM_INVARIANT(features.size() == names_.size());
  const double logarithm =
      process_weight_ * process(features) + (1 - process_weight_) * trees(features);
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
