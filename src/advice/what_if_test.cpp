#include "advice/what_if.h"

#include <gtest/gtest.h>

#include <cmath>

#include "advice/testing.h"

namespace fathom {
namespace {

/// Warps that issue `issued` samples, are not selected in some, and wait for a result in the rest.
/// W = active / issued.
Attribution kernel(uint64_t issued, uint64_t not_selected, uint64_t waiting, uint64_t covered) {
  AnalyzedFunction f = testing::function("FADD R1 <- R0\nFADD R2 <- R1\nEXIT");
  testing::put(f, 0, StallReason::selected, issued);
  testing::put(f, 1, StallReason::not_selected, not_selected);
  testing::put(f, 1, StallReason::wait, waiting + covered, waiting);
  return testing::kernel_of(std::move(f));
}

TEST(WhatIf, NoChangeIsNoSpeedup) {
  Attribution attribution = kernel(1000, 500, 5000, 2500);
  WhatIf model(KernelView(attribution, 0));
  EXPECT_DOUBLE_EQ(model.speedup({}), 1);
}

TEST(WhatIf, ReadsTheResidentWarpsFromTheSamples) {
  // A scheduler is busy in 4,000 of 9,000 samples; a warp issues in 1,000 of them.
  Attribution attribution = kernel(1000, 500, 5000, 2500);
  WhatIf model(KernelView(attribution, 0));
  EXPECT_DOUBLE_EQ(model.warps(), 4);
  EXPECT_NEAR(model.issue_busy(), 4.0 / 9, 1e-9);
}

TEST(WhatIf, EliminationOnAnIdleMachineIsEquationTwo) {
  Attribution attribution = kernel(100, 0, 9900, 0);  // one warp, nothing to queue for
  WhatIf model(KernelView(attribution, 0));
  Change change;
  change.delay = 4000;
  EXPECT_NEAR(model.speedup(change), 10000.0 / 6000, 1e-6);
}

TEST(WhatIf, EliminationCannotPassTheIssueSlots) {
  // 80% busy: without any delay at all the scheduler can be at most 1.25 times as fast.
  Attribution attribution = kernel(1000, 3000, 2000, 4000);
  WhatIf model(KernelView(attribution, 0));
  Change change;
  change.delay = 5900;
  EXPECT_GT(model.speedup(change), 1.05);
  EXPECT_LE(model.speedup(change), 1.25 + 1e-6);
  // Fewer instructions lift that limit.
  change.issue = change.math = 500;
  EXPECT_GT(model.speedup(change), 1.3);
}

TEST(WhatIf, MoreWarpsHelpUntilTheSlotsAreFull) {
  Attribution attribution = kernel(1000, 100, 8000, 900);
  WhatIf model(KernelView(attribution, 0));
  double before = 1;
  for (double factor : {1.5, 2.0, 4.0, 8.0, 16.0}) {
    Change change;
    change.warps = factor;
    double speedup = model.speedup(change);
    EXPECT_GE(speedup, before - 1e-9) << factor;
    EXPECT_LE(speedup, factor + 1e-9) << factor;
    EXPECT_LE(speedup, 1 / model.issue_busy() + 1e-6) << factor;
    before = speedup;
  }
}

/// Equations 6 to 10 of the GPA paper, for warps that keep their share of all work (f = C_W).
double by_the_paper(double issue_ratio, double warps, double new_warps) {
  auto issues = [&](double w) { return 1 - std::pow(1 - issue_ratio, w); };
  return issues(new_warps) / issues(warps);
}

TEST(WhatIf, MoreWarpsOfAKernelThatOnlyWaitsAgreesWithThePaper) {
  // Two warps that issue in a hundredth of their samples and wait for results in the rest.
  Attribution attribution = kernel(200, 2, 19600, 198);
  WhatIf model(KernelView(attribution, 0));
  ASSERT_NEAR(model.warps(), 2, 0.01);
  for (double factor : {1.5, 2.0, 4.0}) {
    Change change;
    change.warps = factor;
    EXPECT_NEAR(model.speedup(change) / by_the_paper(0.01, 2, 2 * factor), 1, 0.05) << factor;
  }
}

TEST(WhatIf, SpreadingBlocksGainsWhatTheWarpsDoNotWaitForEachOther) {
  // The same warps on four times the multiprocessors, a quarter on each.
  Attribution attribution = kernel(1000, 2000, 1000, 4000);
  WhatIf model(KernelView(attribution, 0));
  Change change;
  change.warps = 0.25;
  change.multiprocessors = 4;
  double speedup = model.speedup(change);
  EXPECT_GT(speedup, 1.1);
  EXPECT_LT(speedup, 4);
}

}  // namespace
}  // namespace fathom
