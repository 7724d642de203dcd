// The conservation laws of docs/design.md, section 3, on the recording from an H200.

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "fixture.h"

namespace fathom {
namespace {

using fathom::testing::fixture;
using fathom::testing::fixture_measurement;

const Profile& profile() {
  return fixture().profile;
}

TEST(Conservation, EverySampleIsAttributedOrCounted) {
  const RunFacts& run = profile().run;
  EXPECT_GT(run.samples_attributed, 1000000u);
  EXPECT_EQ(run.samples_attributed + run.samples_unattributed + run.samples_non_user +
                run.samples_dropped,
            run.samples_total);
  uint64_t on_instructions = 0;
  for (const InstructionFacts& instruction : profile().instructions)
    on_instructions += instruction.samples.total();
  EXPECT_EQ(on_instructions, run.samples_attributed);
}

TEST(Conservation, TheSamplesOfEachProcessAddUp) {
  for (const Process& process : fixture_measurement().processes) {
    uint64_t recorded = 0;
    for (const PcSampleRecord& sample : process.samples) {
      const std::string& name = process.stall_reasons.at(sample.stall_reason);
      auto reason = parse_vendor_reason(name);
      if (reason && !reason->not_issued) recorded += sample.samples;
    }
    EXPECT_EQ(recorded + process.sampling.non_user + process.sampling.dropped,
              process.sampling.total)
        << process.executable;
  }
}

TEST(Conservation, LatencySamplesAreAmongAllSamples) {
  for (const InstructionFacts& instruction : profile().instructions)
    for (size_t r = 0; r < kStallReasonCount; ++r)
      ASSERT_LE(instruction.samples.latency[r], instruction.samples.all[r]) << instruction.text;
}

TEST(Conservation, BlamedStallsAreTheObservedOnes) {
  std::map<std::pair<uint32_t, size_t>, std::pair<double, double>> blamed;
  for (const BlameEdge& edge : profile().blame) {
    auto& sum = blamed[{edge.consumer, size_t(edge.reason)}];
    sum.first += edge.stalls;
    sum.second += edge.latency;
  }
  for (uint32_t i = 0; i < profile().instructions.size(); ++i)
    for (size_t r = 0; r < kStallReasonCount; ++r) {
      if (r == size_t(StallReason::selected) || r == size_t(StallReason::not_selected)) continue;
      const StallCounts& observed = profile().instructions[i].samples;
      auto sum = blamed.find({i, r});
      double stalls = sum == blamed.end() ? 0 : sum->second.first;
      double latency = sum == blamed.end() ? 0 : sum->second.second;
      ASSERT_NEAR(stalls, double(observed.all[r]), 1e-6 * double(observed.all[r]) + 1e-9);
      ASSERT_NEAR(latency, double(observed.latency[r]), 1e-6 * double(observed.all[r]) + 1e-9);
    }
}

TEST(Conservation, TopDownPlacesEachSampleOnce) {
  for (const InstructionFacts& instruction : profile().instructions) {
    double placed = instruction.topdown.inclusive()[TopDown::cycles];
    ASSERT_NEAR(placed, double(instruction.samples.total()), 1e-3) << instruction.text;
  }
  for (const KernelSummary& kernel : profile().kernels) {
    double placed = kernel.topdown.inclusive()[TopDown::cycles];
    ASSERT_NEAR(placed, double(kernel.samples.total()), 20)
        << kernel.name;  // its samples are rounded by reason
  }
}

TEST(Conservation, AContextIsItsOwnPlusItsChildren) {
  std::map<std::pair<uint32_t, uint32_t>, double> own, inclusive, children;
  for (const MetricValue& value : profile().values) {
    if (profile().metrics[value.metric].kind != MetricKind::sum) continue;
    own[{value.context, value.metric}] = value.exclusive;
    inclusive[{value.context, value.metric}] = value.inclusive;
    uint32_t parent = profile().contexts[value.context].parent;
    if (parent != kNoId) children[{parent, value.metric}] += value.inclusive;
  }
  ASSERT_FALSE(inclusive.empty());
  for (const auto& [key, sum] : children) ASSERT_TRUE(inclusive.count(key));
  for (const auto& [key, value] : inclusive)
    ASSERT_NEAR(value, own[key] + children[key], 1e-9 * std::fabs(value) + 1e-12);
}

TEST(Conservation, AMetricIsTheSumOfItsChildren) {
  std::map<std::pair<uint32_t, uint32_t>, double> sums;
  std::map<uint32_t, bool> has_children;
  for (const MetricValue& value : profile().values) {
    uint32_t parent = profile().metrics[value.metric].parent;
    if (parent == kNoId) continue;
    sums[{value.context, parent}] += value.inclusive;
  }
  size_t checked = 0;
  for (const MetricValue& value : profile().values) {
    const std::string& name = profile().metrics[value.metric].name;
    auto sum = sums.find({value.context, value.metric});
    if (sum == sums.end() || name == "GCYCLES:STL:BE:MEM:LAT")
      continue;  // shared memory is its own part
    ASSERT_NEAR(value.inclusive, sum->second, 1e-9 * std::fabs(value.inclusive) + 1e-12) << name;
    ++checked;
  }
  EXPECT_GT(checked, 1000u);
}

TEST(Conservation, CyclesInTheContextTreeAreTheSamples) {
  double cycles = 0;
  for (const MetricValue& value : profile().values)
    if (value.context == 0 && profile().metrics[value.metric].name == "GCYCLES")
      cycles = value.inclusive;
  double expected =
      std::ldexp(double(profile().run.samples_attributed), int(profile().run.sampling_period_log2));
  EXPECT_NEAR(cycles, expected, 1e-6 * expected);
}

TEST(Conservation, KernelTimeInTheContextTreeIsTheLaunches) {
  double launches = 0, kernels = 0, tree = 0;
  for (const Process& process : fixture_measurement().processes)
    for (const GpuOperation& operation : process.operations)
      if (operation.kind == GpuOperationKind::kernel)
        launches += double(operation.end_ns - operation.start_ns) * 1e-9;
  for (const KernelSummary& kernel : profile().kernels) kernels += kernel.seconds;
  for (const MetricValue& value : profile().values)
    if (value.context == 0 && profile().metrics[value.metric].name == "GKER")
      tree = value.inclusive;
  EXPECT_NEAR(kernels, launches, 1e-9 * launches);
  EXPECT_NEAR(tree, launches, 1e-9 * launches);
}

// 16 blocks keep 16 of 132 multiprocessors busy: the utilization is known beforehand.
TEST(Conservation, UtilizationFollowsFromTheSamples) {
  std::map<uint32_t, double> utilization;
  for (const MetricValue& value : profile().values)
    if (profile().metrics[value.metric].name == "GSAMP:UTIL")
      utilization[value.context] = value.inclusive;
  ASSERT_FALSE(utilization.empty());
  bool few_blocks = false;
  for (const auto& [context, percent] : utilization) {
    EXPECT_GT(percent, 0);
    EXPECT_LT(percent, 105) << profile().contexts[context].name;
    if (profile().contexts[context].name.rfind("count_hits(", 0) != 0) continue;
    few_blocks = true;
    EXPECT_NEAR(percent, 100.0 * 16 / 132, 0.5);
  }
  EXPECT_TRUE(few_blocks);
}

TEST(Conservation, EveryKernelOfOneGraphLaunchHasTheCallOfTheLaunch) {
  size_t in_graphs = 0;
  for (const Process& process : fixture_measurement().processes) {
    std::map<uint32_t, size_t> per_launch;
    for (const GpuOperation& operation : process.operations)
      if (operation.kind == GpuOperationKind::kernel && operation.graph != kNoId) {
        ++per_launch[operation.correlation];
        EXPECT_TRUE(process.calls.count(operation.correlation));
      }
    for (const auto& [correlation, kernels] : per_launch) {
      EXPECT_GT(kernels, 1u);
      in_graphs += kernels;
    }
  }
  EXPECT_GT(in_graphs, 0u);
}

}  // namespace
}  // namespace fathom
