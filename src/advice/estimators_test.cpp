#include "advice/estimators.h"

#include <gtest/gtest.h>

#include <cmath>

namespace fathom {
namespace {

TEST(Estimators, StallEliminationIsEquationTwo) {
  EXPECT_DOUBLE_EQ(stall_elimination(100, 20), 1.25);
  EXPECT_DOUBLE_EQ(stall_elimination(100, 0), 1);
  EXPECT_DOUBLE_EQ(stall_elimination(0, 0), 1);
}

TEST(Estimators, NoEstimatePromisesThatNothingIsLeft) {
  EXPECT_LE(stall_elimination(100, 100), 100);
  EXPECT_GT(stall_elimination(100, 100), 1);
  EXPECT_DOUBLE_EQ(stall_elimination(100, -5), 1);
}

TEST(Estimators, LatencyHidingIsBoundedByTheWorkInScope) {
  EXPECT_DOUBLE_EQ(latency_hiding(100, 10, 60), 100.0 / 90);
  EXPECT_DOUBLE_EQ(latency_hiding(100, 60, 10), 100.0 / 90);
}

// GPA paper, theorem 5.1.
TEST(Estimators, LatencyHidingOfAWholeKernelNeverExceedsTwo) {
  for (double active = 1; active < 100; ++active)
    for (double matched = 0; matched <= 100 - active; ++matched)
      ASSERT_LE(latency_hiding(100, active, matched), 2 + 1e-12) << active << " " << matched;
}

TEST(Estimators, TooFewSamplesGiveNoNumber) {
  auto estimate = [](double matched) { return stall_elimination(100, matched); };
  EXPECT_FALSE(with_sampling_error(kFewestSamples - 1, 50, estimate));
  EXPECT_TRUE(with_sampling_error(kFewestSamples, 50, estimate));
}

TEST(Estimators, TheRangeNarrowsWithMoreSamples) {
  auto width = [](double total) {
    auto range = with_sampling_error(total, total / 4,
                                     [&](double m) { return stall_elimination(total, m); });
    EXPECT_LT(range->low, range->mid);
    EXPECT_GT(range->high, range->mid);
    return range->high - range->low;
  };
  // A hundred times the samples, a tenth of the error.
  EXPECT_NEAR(width(1000) / width(100000), 10, 0.5);
}

TEST(Estimators, AmdahlScalesToTheWhole) {
  SpeedupRange whole = of_whole({1.5, 2, 4}, 0.5);
  EXPECT_DOUBLE_EQ(whole.mid, 1 / 0.75);
  EXPECT_LT(whole.low, whole.mid);
  EXPECT_GT(whole.high, whole.mid);
  EXPECT_DOUBLE_EQ(of_whole({2, 2, 2}, 0).mid, 1);
  EXPECT_DOUBLE_EQ(of_whole({2, 2, 2}, 1).mid, 2);
}

}  // namespace
}  // namespace fathom
