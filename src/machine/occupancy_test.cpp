#include <gtest/gtest.h>

#include "machine/machine.h"

namespace fathom {
namespace {

LaunchShape shape_of(uint32_t threads, uint32_t registers, uint32_t shared = 0) {
  LaunchShape shape;
  shape.grid = {1, 1, 1};
  shape.block = {threads, 1, 1};
  shape.registers_per_thread = registers;
  shape.dynamic_shared_memory = shared;
  return shape;
}

/// Worked by hand from the rules in the CUDA Programming Guide.
struct Case {
  uint32_t compute, threads, registers, shared;
  uint32_t blocks, warps;
  OccupancyLimit limit;
};
const Case kCases[] = {
    // 8 warps a block, 64 on the multiprocessor; 32 registers are 1,024 a warp, of which 64 fit.
    {90, 256, 32, 0, 8, 64, OccupancyLimit::warps},
    // 33 registers are 1,056 a warp, rounded up to 1,280: 12 warps of a partition's 16,384, 48.
    {90, 256, 33, 0, 6, 48, OccupancyLimit::registers},
    // 168 registers are 5,376 a warp: 3 warps a partition, 12 in all, so one block of 8.
    {90, 256, 168, 0, 1, 8, OccupancyLimit::registers},
    // 255 registers are 8,160, rounded up to 8,192: 2 a partition; 9 warps do not fit.
    {90, 288, 255, 0, 0, 0, OccupancyLimit::registers},
    {90, 256, 255, 0, 1, 8, OccupancyLimit::registers},
    // 32 blocks of one warp.
    {90, 32, 16, 0, 32, 32, OccupancyLimit::blocks},
    {86, 32, 16, 0, 16, 16, OccupancyLimit::blocks},
    {89, 32, 16, 0, 24, 24, OccupancyLimit::blocks},
    // 48 KiB and the reserved 1 KiB: 4 times in 228 KiB.
    {90, 128, 32, 48 * 1024, 4, 16, OccupancyLimit::shared_memory},
    // The most a block can opt in to, and one byte more.
    {90, 128, 32, 227 * 1024, 1, 4, OccupancyLimit::shared_memory},
    {90, 128, 32, 227 * 1024 + 1, 0, 0, OccupancyLimit::shared_memory},
    // Nothing is reserved before sm_80, but 48 KiB + 1 takes 256 more.
    {70, 128, 32, 48 * 1024, 2, 8, OccupancyLimit::shared_memory},
    {70, 128, 32, 48 * 1024 + 1, 1, 4, OccupancyLimit::shared_memory},
    {75, 1024, 32, 0, 1, 32, OccupancyLimit::warps},
    // 48 warps hold one block of 32 only.
    {120, 1024, 32, 0, 1, 32, OccupancyLimit::warps},
    // 33 threads are two warps.
    {80, 33, 16, 0, 32, 64, OccupancyLimit::warps},
    {80, 1025, 16, 0, 0, 0, OccupancyLimit::warps},
};

TEST(Occupancy, AgreesWithCasesWorkedByHand) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(testing::Message() << "sm_" << c.compute << ", " << c.threads << " threads, "
                                    << c.registers << " registers, " << c.shared << " bytes");
    const MachineModel& model = *machine_for(c.compute).model;
    const Occupancy found =
        occupancy_of(model.occupancy, shape_of(c.threads, c.registers, c.shared));
    EXPECT_EQ(found.active_blocks, c.blocks);
    EXPECT_EQ(found.active_warps, c.warps);
    EXPECT_EQ(found.limit, c.limit);
    EXPECT_EQ(found.available_warps, model.occupancy.max_warps);
  }
}

TEST(Occupancy, TellsWhatEachResourceAllows) {
  const OccupancyLimits& limits = machine_for(90).model->occupancy;
  const Occupancy found = occupancy_of(limits, shape_of(128, 64, 20 * 1024));
  EXPECT_EQ(found.limit_warps, 16u);
  EXPECT_EQ(found.limit_blocks, 32u);
  EXPECT_EQ(found.limit_registers, 8u);
  EXPECT_EQ(found.limit_shared_memory, 10u);
  EXPECT_EQ(found.active_warps, 32u);
  EXPECT_DOUBLE_EQ(found.fraction(), 0.5);
}

TEST(Occupancy, AnUnusedResourceIsNoLimit) {
  const OccupancyLimits& limits = machine_for(70).model->occupancy;
  const Occupancy found = occupancy_of(limits, shape_of(32, 0));
  EXPECT_EQ(found.limit_registers, 32u);
  EXPECT_EQ(found.limit_shared_memory, 32u);
  EXPECT_EQ(found.limit, OccupancyLimit::blocks);
}

TEST(Occupancy, StaticAndDynamicSharedMemoryAddUp) {
  const OccupancyLimits& limits = machine_for(90).model->occupancy;
  LaunchShape shape = shape_of(128, 32, 24 * 1024);
  shape.static_shared_memory = 24 * 1024;
  EXPECT_EQ(occupancy_of(limits, shape).active_blocks, 4u);
  shape.static_shared_memory = shape.dynamic_shared_memory = 0xffffffffu;
  EXPECT_EQ(occupancy_of(limits, shape).active_blocks, 0u);
}

TEST(Occupancy, AnEmptyOrImpossibleBlockCannotRun) {
  const OccupancyLimits& limits = machine_for(90).model->occupancy;
  EXPECT_EQ(occupancy_of(limits, LaunchShape{}).active_blocks, 0u);
  EXPECT_EQ(occupancy_of(limits, shape_of(0, 32)).active_warps, 0u);
  LaunchShape huge = shape_of(0xffffffffu, 255);
  huge.block = {0xffffffffu, 0xffffffffu, 0xffffffffu};
  EXPECT_EQ(occupancy_of(limits, huge).active_blocks, 0u);
  huge.block = {1u << 31, 1u << 31, 4};  // 2^64 threads
  EXPECT_EQ(occupancy_of(limits, huge).active_blocks, 0u);
  EXPECT_EQ(occupancy_of(limits, shape_of(32, 256)).active_blocks, 0u);
}

TEST(Occupancy, CountsTheThreadsOfAllDimensions) {
  LaunchShape shape = shape_of(16, 32);
  shape.block = {16, 4, 4};
  EXPECT_EQ(occupancy_of(machine_for(90).model->occupancy, shape).active_blocks, 8u);
}

}  // namespace
}  // namespace fathom
