#include "prediction/power.h"

#include <gtest/gtest.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <random>
#include <regex>

#include "prediction/power_data.h"
#include "prediction/testing.h"

namespace fathom {
namespace {

using test::Kernel;
using test::launch_of;

std::string shipped() {
  std::string text;
  for (std::string_view piece : power_data()) text += piece;
  return text;
}

// One event and two trees, small enough for a calculator.
const char* const kSmall = R"({"device": "D", "features": ["a", "b"], "least_watts": 10,
  "most_watts": 1000, "physical": {"weight": 0.5, "idle_watts": 100, "features": [1],
  "watts": [20]}, "trees": {"base": 2.5, "trees": [
  {"feature": [0, -1, -1], "value": [0.5, -0.25, 0.25], "right": [2, 0, 0]},
  {"feature": [2, -1, -1], "value": [5, 0.125, -0.125], "right": [2, 0, 0]}]}})";

TEST(Power, FollowsTheFormula) {
  Result<PowerModel> model = PowerModel::parse(kSmall, "small.json");
  ASSERT_TRUE(model.ok());
  const auto expected = [](double a, double b) {
    const double events = std::log(100 + 20 * b);
    const double trees = 2.5 + (a < 0.5 ? -0.25 : 0.25) + (events < 5 ? 0.125 : -0.125);
    return std::exp(0.5 * events + trees);
  };
  for (const auto& [a, b] : {std::pair{0.4, 1.0}, {0.6, 1.0}, {0.4, 3.0}, {0.6, 3.0}})
    EXPECT_NEAR(model->watts({a, b}), expected(a, b), 1e-3) << a << ' ' << b;
  EXPECT_DOUBLE_EQ(model->watts({0.6, 1e6}), 1000) << "no more than was ever measured";
  model = PowerModel::parse(std::regex_replace(std::string(kSmall), std::regex("2.5"), "0.5"),
                            "small.json");
  ASSERT_TRUE(model.ok());
  EXPECT_DOUBLE_EQ(model->watts({0.4, -1e6}), 10) << "and no less";
}

TEST(Power, SaysWhatTheTrainingSaid) {
  const auto cases = nlohmann::json::parse(
      *read_text_file(std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/h200-power/cases.json"));
  const PowerModel* model = power_model_for(test::h200());
  ASSERT_NE(model, nullptr);
  ASSERT_GE(cases.size(), 20u);
  double least = 1e9, most = 0;
  for (const auto& each : cases) {
    std::vector<double> features;
    for (const std::string& name : model->feature_names())
      features.push_back(each["features"].at(name).get<double>());
    const double watts = model->watts(features);
    EXPECT_NEAR(watts, each["watts"].get<double>(), 2e-3 * watts) << each["kernel"];
    least = std::min(least, watts);
    most = std::max(most, watts);
  }
  EXPECT_GT(most, 2 * least) << "cases that are alike prove little";
}

TEST(Power, TheShippedModelKnowsOnlyFeaturesThatAreMade) {
  const Kernel kernel("kernels.sm_90.cubin", "saxpy", launch_of(4096, 256), {{"n", "1048576"}});
  const KernelPrediction prediction = kernel.predict();
  const std::vector<std::string>& names = power_model_for(test::h200())->feature_names();
  EXPECT_EQ(names.size(), prediction.rates.size());
  ASSERT_TRUE(prediction.power_w.has_value());
  EXPECT_DOUBLE_EQ(*prediction.energy_mj, *prediction.power_w * prediction.time_us / 1000);
}

TEST(Power, ABusyDeviceTakesMoreThanOneMultiprocessor) {
  for (const std::string& file : test::both_files()) {
    const std::vector<ArgumentValue> steps{{"steps", "20000"}};
    const Kernel one(file, "long_chain", launch_of(1, 256), steps);
    const Kernel all(file, "long_chain", launch_of(132 * 8, 256), steps);
    const Kernel copy(file, "saxpy", launch_of(1u << 18, 256), {{"n", "67108864"}});
    EXPECT_GT(*all.predict().power_w, 1.2 * *one.predict().power_w) << file;
    EXPECT_GT(*copy.predict().power_w, 1.5 * *one.predict().power_w) << file;
  }
}

TEST(Power, BrokenModelsAreRefused) {
  ASSERT_TRUE(PowerModel::parse(kSmall, "small.json").ok());
  const std::string text = kSmall;
  const std::pair<const char*, const char*> changes[] = {
      {"\"features\": [1]", "\"features\": [2]"},
      {"\"watts\": [20]", "\"watts\": []"},
      {"\"right\": [2, 0", "\"right\": [1, 0"},
      {"\"right\": [2, 0", "\"right\": [3, 0"},
      {"\"feature\": [0, -1, -1]", "\"feature\": [3, -1, -1]"},
      {"\"feature\": [0, -1, -1]", "\"feature\": [0, -1, 0]"},
      {"\"base\": 2.5", "\"base\": \"x\""},
      {"\"most_watts\": 1000", "\"most_watts\": 1"},
      {"\"device\"", "\"devices\""},
      {"{\"device\"", "[\"device\""}};
  for (const auto& [from, to] : changes) {
    std::string broken = text;
    broken.replace(broken.find(from), std::string_view(from).size(), to);
    Result<PowerModel> model = PowerModel::parse(broken, "small.json");
    ASSERT_FALSE(model.ok()) << to;
    EXPECT_EQ(model.error().where, "small.json");
  }
  std::mt19937 random(1);
  for (int i = 0; i < 2000; ++i) {
    std::string broken = text;
    broken[random() % broken.size()] ^= static_cast<char>(1u << random() % 7);
    if (i % 2) broken.resize(random() % broken.size());
    Result<PowerModel> model = PowerModel::parse(broken, "small.json");
    if (model.ok() && model->feature_names().size() == 2) model->watts({0.4, 3});
  }
}

TEST(Power, TheShippedModelIsReadQuickly) {
  const std::string text = shipped();
  EXPECT_LT(text.size(), 1'500'000u);
  double fastest = 1;
  for (int i = 0; i < 5; ++i) {
    const std::clock_t start = std::clock();  // what others do on the machine does not count
    ASSERT_TRUE(PowerModel::parse(text, "power_h200.json").ok());
    fastest = std::min(fastest, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  RecordProperty("milliseconds", std::to_string(fastest * 1000));
  EXPECT_LT(fastest, 0.4) << "20 ms on an idle machine, without sanitizers";
}

}  // namespace
}  // namespace fathom
