#include "prediction/compare.h"

#include <gtest/gtest.h>

#include <optional>

#include "prediction/testing.h"

namespace fathom {
namespace {

const SourceLocation kLoad{"k.cu", 23}, kMath{"k.cu", 24};

StallCounts samples(StallReason reason, uint64_t count) {
  StallCounts counts;
  counts.all[static_cast<size_t>(reason)] = count;
  return counts;
}

/// 20 us of which the launch is none, half of it on each line.
KernelPrediction prediction() {
  KernelPrediction made;
  made.name = "k";
  made.time_us = 20;
  made.lines = {{kLoad, 0.5, "device memory"}, {kMath, 0.5, "results of arithmetic"}};
  made.waits[static_cast<size_t>(Wait::dram)] = 0.5;
  made.waits[static_cast<size_t>(Wait::dependency)] = 0.5;
  made.shape.registers_per_thread = 30;
  made.occupancy.active_blocks = 8;
  return made;
}

/// 40 us, three quarters of it on the load.
MeasuredLaunches measurement() {
  MeasuredLaunches made;
  made.name = made.mangled = "k";
  made.launches = 10;
  made.median_us = made.min_us = made.max_us = made.first_us = 40;
  made.total_us = 400;
  made.lines = {{kLoad, samples(StallReason::long_scoreboard, 750)},
                {kMath, samples(StallReason::wait, 250)}};
  for (const LineSamples& each : made.lines) made.samples += each.samples;
  made.shape.registers_per_thread = 32;
  made.shape.grid = {132 * 8 * 10, 1, 1};
  made.shape.block = {256, 1, 1};
  return made;
}

DeviceFacts device() {
  DeviceFacts facts;
  facts.name = test::h200().name;
  facts.multiprocessors = test::h200().multiprocessors;
  facts.core_clock_khz = 1'980'000;
  return facts;
}

Comparison compared(const KernelPrediction& predicted, const MeasuredLaunches& measured,
                    bool arguments_decide = false) {
  return compare(predicted, measured, device(), test::h200(), arguments_decide);
}

std::optional<Finding> find(const Comparison& comparison, const std::string& kind) {
  for (const Finding& each : comparison.differs)
    if (each.kind == kind) return each;
  return std::nullopt;
}

TEST(Compare, TheLinesPartsAddUpToTheWholeDifference) {
  KernelPrediction predicted = prediction();
  predicted.lines.push_back({{"k.cu", 30}, 0.0, ""});
  MeasuredLaunches measured = measurement();
  measured.lines.push_back({{"k.cu", 99}, samples(StallReason::barrier, 111)});
  measured.samples += measured.lines.back().samples;
  const Comparison comparison = compared(predicted, measured);
  ASSERT_EQ(comparison.lines.size(), 4u) << "lines of either side";
  double lines = 0, states = 0;
  for (const LineGap& each : comparison.lines) lines += each.gap_us;
  for (const StateGap& each : comparison.states) states += each.gap_us;
  EXPECT_NEAR(lines, 20, 1e-9);
  EXPECT_NEAR(states, 20, 1e-9);
}

TEST(Compare, AGapNamesTheLineThatHasMostOfIt) {
  const Comparison comparison = compared(prediction(), measurement());
  EXPECT_EQ(comparison.verdict, Verdict::slower);
  EXPECT_DOUBLE_EQ(comparison.ratio, 0.5);
  ASSERT_FALSE(comparison.differs.empty());
  EXPECT_EQ(comparison.differs.front().kind, "slower-than-predicted");
  EXPECT_EQ(comparison.differs.front().location, kLoad);
  const std::optional<Finding> line = find(comparison, "line");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->title, "k.cu:23: more time than predicted");
  EXPECT_EQ(line->text,
            "75.0% of the samples, 50.0% predicted (+20 us): waiting for data from global or local "
            "memory.");
  ASSERT_TRUE(find(comparison, "state"));
  EXPECT_NE(find(comparison, "state")->title.find("global or local memory"), std::string::npos);
}

TEST(Compare, WhatIsNearIsNoGap) {
  MeasuredLaunches measured = measurement();
  for (const auto& [time, verdict] : {std::pair(24.9, Verdict::agrees),
                                      {25.1, Verdict::slower},
                                      {16.1, Verdict::agrees},
                                      {15.9, Verdict::faster}}) {
    measured.median_us = time;
    EXPECT_EQ(compared(prediction(), measured).verdict, verdict) << time;
  }
  measured.median_us = 20;
  measured.lines.front().samples = samples(StallReason::long_scoreboard, 250);
  measured.samples = samples(StallReason::long_scoreboard, 500);
  EXPECT_TRUE(compared(prediction(), measured).differs.empty());
}

TEST(Compare, TheHostsPartOfALaunchIsLeftOut) {
  KernelPrediction predicted = prediction();
  predicted.launch_us = 15;
  const double between = test::h200().prediction->launch.between_us;
  EXPECT_GT(between, 0);
  EXPECT_DOUBLE_EQ(compared(predicted, measurement()).predicted_us, 5 + between);
}

TEST(Compare, AssumptionsAreToldWhereTheyCount) {
  KernelPrediction predicted = prediction();
  predicted.assumed = {"the loop at k.cu:23 depends on data: 8 rounds",
                       "the loop at k.cu:231 depends on data: 8 rounds"};
  const std::optional<Finding> line = find(compared(predicted, measurement()), "line");
  ASSERT_TRUE(line);
  EXPECT_NE(line->text.find("Assumed there: the loop at k.cu:23 depends"), std::string::npos);
  EXPECT_EQ(line->text.find("k.cu:231"), std::string::npos) << "another line";
}

TEST(Compare, AGuessedArgumentMakesNoVerdict) {
  const Comparison comparison = compared(prediction(), measurement(), true);
  EXPECT_EQ(comparison.verdict, Verdict::unknown);
  EXPECT_TRUE(find(comparison, "arguments"));
  EXPECT_FALSE(find(comparison, "line"));
  MeasuredLaunches measured = measurement();
  measured.median_us = 20;
  EXPECT_EQ(compared(prediction(), measured, true).verdict, Verdict::agrees);
}

TEST(Compare, WithoutSamplesItSaysHowToGetThem) {
  MeasuredLaunches measured = measurement();
  measured.lines.clear();
  measured.samples = {};
  const Comparison comparison = compared(prediction(), measured);
  EXPECT_TRUE(comparison.lines.empty());
  ASSERT_TRUE(find(comparison, "slower-than-predicted"));
  EXPECT_NE(find(comparison, "slower-than-predicted")->text.find("-e gpu=cuda,pc"),
            std::string::npos);
}

TEST(Compare, CircumstancesAreTold) {
  struct Case {
    const char* kind;
    void (*change)(MeasuredLaunches&, KernelPrediction&);
  };
  for (const Case& each : std::vector<Case>{
           {"overlap", [](auto&m, auto&) { m.overlapped = 6; }},
           {"uneven-launches", [](auto&m, auto&) { m.max_us = 80; }},
           {"cold-cache",
            [](auto&m, auto&p) {
              m.after_others = 9;
              p.assumed = {"the data fit into L2 and are there from an earlier launch"};
            }},
           {"registers", [](auto&m, auto&) { m.shape.registers_per_thread = 40; }},
           {"cluster",
            [](auto&m, auto&) {
              m.shape.cluster = {2, 1, 1};
            }},
           {"tail",
            [](auto&m, auto&) {
              m.shape.grid = {132 * 8 + 9, 1, 1};
            }},
           {"idle", [](auto&m, auto&) { m.sampled_share = 0.5; }},
           {"argument-sets", [](auto&m, auto&) { m.argument_sets = 9; }},
           {"arguments-of-others", [](auto&m, auto&) { m.without_arguments = 1; }},
           {"mixed-samples", [](auto&m, auto&) { m.share_of_kernel = 0.5; }}}) {
    KernelPrediction predicted = prediction();
    MeasuredLaunches measured = measurement();
    EXPECT_FALSE(find(compared(predicted, measured), each.kind)) << each.kind;
    each.change(measured, predicted);
    EXPECT_TRUE(find(compared(predicted, measured), each.kind)) << each.kind;
  }
}

TEST(Compare, AnotherDeviceAndAnotherClockAreTold) {
  DeviceFacts facts = device();
  const auto told = [&](const char* kind) {
    const Comparison made = compare(prediction(), measurement(), facts, test::h200(), false);
    return find(made, kind).has_value();
  };
  EXPECT_FALSE(told("device"));
  EXPECT_FALSE(told("clock"));
  facts.core_clock_khz = 1'500'000;
  EXPECT_TRUE(told("clock"));
  facts = device();
  facts.multiprocessors = 66;
  EXPECT_TRUE(told("device"));
  facts = device();
  facts.name = "NVIDIA A100";
  EXPECT_TRUE(told("device"));
}

TEST(Compare, EveryWaitAndReasonHasAState) {
  std::array<int, kWarpStates> reasons{}, waits{};
  for (size_t i = 0; i < kStallReasonCount; ++i)
    ++reasons[static_cast<size_t>(state_of(static_cast<StallReason>(i)))];
  for (size_t i = 0; i < kWaits; ++i) ++waits[static_cast<size_t>(state_of(static_cast<Wait>(i)))];
  for (size_t i = 0; i < kWarpStates; ++i) {
    EXPECT_GT(reasons[i], 0) << name_of(static_cast<WarpState>(i));
    EXPECT_GT(waits[i], 0) << name_of(static_cast<WarpState>(i));
  }
}

TEST(Compare, APredictionOfARealKernelHasItsWaits) {
  const test::Kernel kernel("kernels.sm_90.cubin", "saxpy", test::launch_of(4096, 256),
                            {{"n", "1048576"}});
  double all = 0;
  for (double each : kernel.predict().waits) all += each;
  EXPECT_NEAR(all, 1, 1e-6);
  for (double each : kernel.predict(PredictionModel::roofline).waits) EXPECT_EQ(each, 0);
}

}  // namespace
}  // namespace fathom
