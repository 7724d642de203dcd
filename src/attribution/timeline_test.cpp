#include "attribution/timeline.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

GpuOperation operation(GpuOperationKind kind, uint64_t start_us, uint64_t end_us) {
  GpuOperation result;
  result.kind = kind;
  result.start_ns = start_us * 1000;
  result.end_ns = end_us * 1000;
  if (kind == GpuOperationKind::copy) result.copy_kind = CopyKind::h2d, result.bytes = 100;
  return result;
}

Measurement measurement(std::vector<GpuOperation> operations) {
  Measurement result;
  result.processes.emplace_back();
  result.processes[0].operations = std::move(operations);
  return result;
}

constexpr auto kKernel = GpuOperationKind::kernel;
constexpr auto kCopy = GpuOperationKind::copy;

TEST(Timeline, PartsAddUpToTheSpan) {
  // Copy, a kernel that overlaps its end, a short gap, a kernel, a long gap, a kernel.
  GpuTimeline t =
      timeline_of(measurement({operation(kCopy, 0, 100), operation(kKernel, 90, 150),
                               operation(kKernel, 160, 200), operation(kKernel, 1200, 1300)}));
  EXPECT_NEAR(t.span, 1300e-6, 1e-12);
  EXPECT_NEAR(t.kernels, 200e-6, 1e-12);
  EXPECT_NEAR(t.copies, 90e-6, 1e-12);
  EXPECT_NEAR(t.short_gaps, 10e-6, 1e-12);
  EXPECT_NEAR(t.long_gaps, 1000e-6, 1e-12);
  EXPECT_NEAR(t.kernels + t.copies + t.short_gaps + t.long_gaps, t.span, 1e-12);
  EXPECT_EQ(t.launches, 3u);
  EXPECT_EQ(t.gaps, 1u);
  EXPECT_EQ(t.copied_bytes, 100u);
}

TEST(Timeline, ThePauseBeforeTheFirstKernelIsNotTheProgramsHabit) {
  GpuTimeline t =
      timeline_of(measurement({operation(kCopy, 0, 100), operation(kKernel, 500100, 500200)}));
  EXPECT_NEAR(t.span, 200e-6, 1e-12);
}

TEST(Timeline, GapsBesideACopyBelongToIt) {
  GpuTimeline t = timeline_of(measurement(
      {operation(kKernel, 0, 100), operation(kCopy, 150, 200), operation(kKernel, 290, 300)}));
  EXPECT_NEAR(t.copy_gaps, 140e-6, 1e-12);
  EXPECT_EQ(t.short_gaps + t.long_gaps, 0);
}

TEST(Timeline, OverlappingKernelsCountOnce) {
  GpuTimeline t = timeline_of(measurement(
      {operation(kKernel, 0, 100), operation(kKernel, 50, 80), operation(kKernel, 60, 120)}));
  EXPECT_NEAR(t.kernels, 120e-6, 1e-12);
  EXPECT_NEAR(t.span, 120e-6, 1e-12);
}

TEST(Timeline, WhatDoesNotOccupyTheDeviceIsLeftOut) {
  GpuTimeline t = timeline_of(measurement({operation(GpuOperationKind::synchronize, 0, 900)}));
  EXPECT_EQ(t.span, 0);
}

}  // namespace
}  // namespace fathom
