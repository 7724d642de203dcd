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

TEST(WhatIf, AWarpWaitsAtMostForOneServiceOfEachOther) {
  // Two warps that nearly always meet when they issue: 1,500 waits for 2,000 instructions.
  Attribution attribution = kernel(2000, 1500, 8000, 500);
  WhatIf model(KernelView(attribution, 0));
  ASSERT_DOUBLE_EQ(model.warps(), 2);
  Change change;
  change.delay = 8000;
  // 2,500 samples are no wait for the issue slot and stay; no more than 2,000 such waits can come.
  EXPECT_GE(model.speedup(change), 12000.0 / 4500 - 1e-6);
  EXPECT_LE(model.speedup(change), 12000.0 / 4000 + 1e-6) << "two warps' instructions";
}

TEST(WhatIf, NoMoreWarpsAreResidentThanFit) {
  Attribution attribution = kernel(1000, 500, 5000, 2500);  // samples say four
  attribution.profile.kernels[0].groups[0].occupancy.active_warps = 8;
  WhatIf model(KernelView(attribution, 0));
  EXPECT_DOUBLE_EQ(model.warps(), 2);
  EXPECT_NEAR(model.issue_busy(), 2.0 / 9, 1e-9);
}

TEST(WhatIf, BlocksThatHaveAMultiprocessorForThemselvesAreAllThatIsResident) {
  Attribution attribution = kernel(1000, 500, 5000, 2500);
  attribution.profile.kernels[0].groups[0].shape.grid = {100, 1, 1};  // of 256 threads
  EXPECT_DOUBLE_EQ(WhatIf(KernelView(attribution, 0)).warps(), 2);
  attribution.profile.kernels[0].groups[0].shape.grid = {133, 1, 1};
  EXPECT_DOUBLE_EQ(WhatIf(KernelView(attribution, 0)).warps(), 4);
}

TEST(WhatIf, WaitsOfAWholeBlockHideNoQueue) {
  Attribution attribution = kernel(1000, 1000, 5000, 2000);
  Change change;
  change.delay = 3000;
  Change together = change;
  together.together = 3000;
  auto speedup = [&](uint32_t threads, const Change& c) {
    attribution.profile.kernels[0].groups[0].shape.block = {threads, 1, 1};
    return WhatIf(KernelView(attribution, 0)).speedup(c);
  };
  // Four warps of each scheduler are all of one block.
  EXPECT_NEAR(speedup(512, together), 9000.0 / 6000, 1e-6);
  EXPECT_LT(speedup(512, change), 9000.0 / 6000 - 0.02);
  // With blocks of four warps each scheduler has four blocks, which do not wait together.
  EXPECT_NEAR(speedup(128, together), speedup(128, change), 1e-6);
}

}  // namespace
}  // namespace fathom
