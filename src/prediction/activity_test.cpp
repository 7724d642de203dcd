#include "prediction/activity.h"

#include <gtest/gtest.h>

#include <set>

#include "prediction/testing.h"

namespace fathom {
namespace {

using test::Kernel;
using test::launch_of;

constexpr double kRounding = 1e-3;  // sums of shares of warps

TEST(Activity, CountsOfSaxpyAreThoseOfItsSource) {
  const double warps = 1u << 21;  // each reads two lines of four sectors and writes one
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "saxpy", launch_of(1u << 18, 256), {{"n", "67108864"}});
    const Activity counted = kernel.predict().activity;
    EXPECT_NEAR(counted[Count::warps], warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::load_global], 2 * warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::store_global], warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::fp32_multiply_add], warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::l1_lines], 3 * warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::l1_sectors], 12 * warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::l2_sectors_read], 8 * warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::l2_sectors_written], 4 * warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::partial_sectors_written], 0, kRounding) << file;
    EXPECT_NEAR(counted[Count::dram_bytes_read], 8.0 * (1u << 26), 0.02 * 8 * (1u << 26)) << file;
    EXPECT_NEAR(counted[Count::active_share], 1, kRounding) << file;
  }
}

TEST(Activity, BankConflictsAreMorePasses) {
  Launch launch = launch_of(8, 32);
  launch.grid[1] = 8;
  launch.block[1] = 32;
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "transpose_conflicts", launch, {{"n", "256"}});
    const Activity counted = kernel.predict().activity;
    const double warps = 64 * 32;
    EXPECT_NEAR(counted[Count::shared_passes_written], warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::shared_passes_read], 32 * warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::barrier], warps, kRounding) << file;
    EXPECT_NEAR(counted[Count::active_share], 64.0 / 132, 1e-9) << file;
  }
}

TEST(Activity, ALongerLoopCountsInProportion) {
  for (const std::string& file : test::both_files()) {
    const Kernel once(file, "long_chain", launch_of(132, 256), {{"steps", "20000"}}),
        twice(file, "long_chain", launch_of(132, 256), {{"steps", "40000"}});
    const Activity a = once.predict().activity, b = twice.predict().activity;
    EXPECT_NEAR(b[Count::fp32_multiply_add] / a[Count::fp32_multiply_add], 2, 0.01) << file;
    EXPECT_NEAR(a[Count::fp32_multiply_add], 132 * 8 * 20000.0, 132 * 8 * 200.0) << file;
    EXPECT_NEAR(a[Count::lanes_fp32], 32 * a[Count::fp32_multiply_add], 0.05 * a[Count::lanes_fp32])
        << file;
  }
}

TEST(Activity, EachCountHasItsOwnName) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kCounts; ++i) names.insert(name_of(static_cast<Count>(i)));
  EXPECT_EQ(names.size(), kCounts);
  EXPECT_EQ(name_of(Count::l2_sectors_read), "l2_sectors_read");
  EXPECT_EQ(name_of(Count::balance), "balance");
  EXPECT_EQ(name_of(Count::memory_us), "memory_us");
}

}  // namespace
}  // namespace fathom
