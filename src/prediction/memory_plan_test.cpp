#include "prediction/memory_plan.h"

#include <gtest/gtest.h>

#include "prediction/testing.h"

namespace fathom {
namespace {

using test::Kernel;
using test::launch_of;

KernelPrediction cross(uint32_t n, const char* bytes) {
  Launch launch;
  launch.grid = {n / 32, n / 32, 1};
  launch.block = {32, 32, 1};
  std::vector<ArgumentValue> arguments{{"n", std::to_string(n)}};
  if (*bytes) arguments = {{"in", bytes}, {"out", bytes}, {"n", std::to_string(n)}};
  return Kernel("reuse.ptx", "cross", launch, arguments).predict();
}

// Each warp reads three rows, two of which its neighbours read as well.
TEST(MemoryPlan, WarpsFindWhatTheirNeighboursRead) {
  const double array = 8192.0 * 8192 * 4;
  const KernelPrediction made = cross(8192, "");
  EXPECT_LT(made.l2_bytes, 2.8 * array) << "with an edge of 34 rows of 10 sectors around 32 of 8";
  EXPECT_GT(made.l2_bytes, 2.0 * array);
  EXPECT_NEAR(made.dram_bytes, 2 * array, 0.35 * array) << "rows between blocks are still in L2";
  EXPECT_NEAR(made.footprint_bytes, 2 * array, 0.35 * array);
}

TEST(MemoryPlan, NoMoreOfABufferIsTouchedThanThereIs) {
  const double array = 8192.0 * 8192 * 4;
  EXPECT_LE(cross(8192, "@268435456").footprint_bytes, 2 * array);
}

TEST(MemoryPlan, BlocksFindWhatThoseBesideThemRead) {
  const auto of = [](const char* columns) {
    return Kernel("reuse.ptx", "scale_columns", launch_of(8192, 128), {{"columns", columns}})
        .predict();
  };
  const double array = 8192.0 * 2048 * 4;
  EXPECT_NEAR(of("2048").l2_bytes, 2 * array, 0.2 * array) << "8 KiB of factors stay in L1";
}

// All blocks read their rows at once: where these do not fit into L2, the second time comes from
// memory again.
TEST(MemoryPlan, WhatIsReadTwiceIsLostWhereTheRestGoesThroughInBetween) {
  const auto moved = [](uint32_t blocks, const char* columns) {
    return Kernel("reuse.ptx", "subtract_mean", launch_of(blocks, 256), {{"columns", columns}})
        .predict()
        .dram_bytes;
  };
  const double row = 131072 * 4, all = 1056 * row;
  EXPECT_NEAR(moved(1056, "131072"), 3 * all, 0.2 * all) << "read, read again, written";
  const double short_row = 2048 * 4, many = 67584 * short_row;
  EXPECT_NEAR(moved(67584, "2048"), 2 * many, 0.3 * many) << "the second time it is still there";
}

TEST(MemoryPlan, WhatTheMiddleBlockLeavesAloneIsTouchedAllTheSame) {
  const double array = 65536 / 2 * 1024 * 4;
  const KernelPrediction made =
      Kernel("guards.sm_90.cubin", "copy_odd_blocks", launch_of(65536, 1024), {}).predict();
  EXPECT_NEAR(made.footprint_bytes, 2 * array, 0.35 * array) << "of seven blocks three copy";
  EXPECT_NEAR(made.dram_bytes, 2 * array, 0.35 * array);
}

// As measured on an H200 with 4 warps on each multiprocessor: 752 cycles for one load in flight,
// 915 for four.
TEST(Predict, TheSlowestOfSeveralLoadsIsWaitedFor) {
  const auto cycles = [](const char* kernel, double arrays) {
    const double n = (1u << 27) / arrays;
    const KernelPrediction made =
        Kernel("reuse.ptx", kernel, launch_of(132, 128), {{"n", std::to_string(int(n))}}).predict();
    return made.time_us * test::h200().prediction->clock_mhz / (n / (132 * 128));
  };
  EXPECT_NEAR(cycles("sum_one", 1), 752, 0.06 * 752);
  EXPECT_NEAR(cycles("sum_four", 4), 915, 0.08 * 915);
}

}  // namespace
}  // namespace fathom
