#include "attribution/launches.h"

#include <gtest/gtest.h>

#include "base/files.h"

namespace fathom {
namespace {

constexpr char kSha[] = "0123";

GpuOperation launch(const std::string& name, uint64_t start, uint64_t end, uint32_t grid = 132) {
  GpuOperation made;
  made.name = name;
  made.start_ns = start;
  made.end_ns = end;
  made.context = 1;
  made.shape.grid = {grid, 1, 1};
  made.shape.block = {256, 1, 1};
  return made;
}

/// A process that loaded tests/fixtures/ptx/kernels.sm_90.cubin.
Measurement measurement(std::vector<GpuOperation> operations) {
  Measurement made;
  Process process;
  process.executable = "/bin/app";
  process.devices.push_back({});
  process.devices.back().name = "NVIDIA H200";
  process.context_device = {{1, 0}};
  process.binaries = {{kSha, 7, 1}};
  process.operations = std::move(operations);
  made.processes.push_back(std::move(process));
  const std::string path =
      std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/ptx/kernels.sm_90.cubin";
  made.binaries[kSha] = {
      path, std::make_shared<const std::vector<uint8_t>>(read_file(path).value()), "", ""};
  return made;
}

std::vector<MeasuredLaunches> launches(const Measurement& recorded) {
  const Result<Attribution> attribution = attribute(recorded, {});
  EXPECT_TRUE(attribution.ok());
  return launches_of(recorded, *attribution);
}

TEST(Launches, AreTogetherWhereKernelAndShapeAreTheSame) {
  const auto all =
      launches(measurement({launch("saxpy", 0, 2000), launch("saxpy", 3000, 6000),
                            launch("saxpy", 7000, 17000), launch("saxpy", 20000, 24000),
                            launch("saxpy", 30000, 31000, 264), launch("unknown", 40000, 140000)}));
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].name, "unknown") << "longest first";
  EXPECT_EQ(all[0].binary, "") << "no binary has it";
  const MeasuredLaunches& saxpy = all[1];
  EXPECT_EQ(saxpy.binary, kSha);
  EXPECT_EQ(saxpy.program, "app");
  EXPECT_EQ(saxpy.launches, 4u);
  EXPECT_DOUBLE_EQ(saxpy.total_us, 19);
  EXPECT_DOUBLE_EQ(saxpy.mean_us(), 4.75);
  EXPECT_DOUBLE_EQ(saxpy.median_us, 3.5);
  EXPECT_DOUBLE_EQ(saxpy.min_us, 2);
  EXPECT_DOUBLE_EQ(saxpy.max_us, 10);
  EXPECT_DOUBLE_EQ(saxpy.first_us, 2);
  EXPECT_EQ(all[2].shape.grid[0], 264u);
}

TEST(Launches, AfterOtherWorkAreCounted) {
  GpuOperation copy = launch("", 2500, 2600);
  copy.kind = GpuOperationKind::copy;
  GpuOperation allocation = launch("", 6500, 6500);
  allocation.kind = GpuOperationKind::allocate;
  const auto all =
      launches(measurement({launch("saxpy", 0, 2000), copy, launch("saxpy", 3000, 6000), allocation,
                            launch("saxpy", 7000, 9000)}));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].after_others, 2u) << "the first, and the one after the copy";
}

TEST(Launches, AtTheSameTimeAreCountedOnBothSides) {
  const auto all =
      launches(measurement({launch("saxpy", 0, 5000), launch("sum_rows", 1000, 2000),
                            launch("sum_rows", 3000, 6000), launch("sum_rows", 7000, 8000)}));
  ASSERT_EQ(all.size(), 2u);
  for (const MeasuredLaunches& each : all)
    EXPECT_EQ(each.overlapped, each.name == "saxpy" ? 1u : 2u) << each.name;
}

/// Launch number i + 1 has the value i.
Measurement with_arguments(uint64_t launches) {
  std::vector<GpuOperation> operations;
  for (uint64_t i = 0; i < launches; ++i) {
    operations.push_back(launch("saxpy", 10000 * i, 10000 * i + 1000 + 100 * i));
    operations.back().correlation = static_cast<uint32_t>(i + 1);
  }
  Measurement made = measurement(std::move(operations));
  for (uint32_t i = 0; i < launches; ++i) {
    made.processes[0].argument_sets[i] = {"saxpy", {{3, 20, 4, i}}};
    made.processes[0].launch_arguments.emplace_back(i + 1, i);
  }
  return made;
}

TEST(Launches, AreToldApartByTheirArguments) {
  const auto all = launches(with_arguments(8));
  ASSERT_EQ(all.size(), 8u);
  EXPECT_EQ(all[0].arguments, (std::vector<KnownArgument>{{3, 20, 4, false, 7, 0}}));
  EXPECT_EQ(all[0].argument_sets, 1u);
  EXPECT_DOUBLE_EQ(all[0].median_us, 1.7);
}

TEST(Launches, OfVeryManyArgumentsAreOneWithThoseOfTheMedian) {
  const auto all = launches(with_arguments(9));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].launches, 9u);
  EXPECT_EQ(all[0].argument_sets, 9u);
  EXPECT_EQ(all[0].arguments, (std::vector<KnownArgument>{{3, 20, 4, false, 4, 0}}));
  EXPECT_DOUBLE_EQ(all[0].median_us, 1.4);
  EXPECT_DOUBLE_EQ(all[0].first_us, 1);
  EXPECT_EQ(all[0].after_others, 1u);
}

TEST(Launches, CarryTheSamplesOfTheirKernel) {
  Measurement recorded =
      measurement({launch("saxpy", 0, 30000), launch("saxpy", 40000, 50000, 264)});
  Process& process = recorded.processes.front();
  process.names = {"saxpy"};
  process.stall_reasons = {{1, "smsp__pcsamp_warps_issue_stalled_long_scoreboard"}};
  process.samples = {{7, 0x20, 0, 0, 1, 60, 0}, {7, 0x30, 0, 0, 1, 40, 0}};
  const auto all = launches(recorded);
  ASSERT_EQ(all.size(), 2u);
  for (const MeasuredLaunches& each : all) {
    EXPECT_EQ(each.samples.total(), 100u);
    uint64_t lines = 0;
    for (const LineSamples& line : each.lines) lines += line.samples.total();
    EXPECT_EQ(lines, 100u);
  }
  EXPECT_DOUBLE_EQ(all[0].share_of_kernel, 0.75);
  EXPECT_DOUBLE_EQ(all[1].share_of_kernel, 0.25);
}

}  // namespace
}  // namespace fathom
