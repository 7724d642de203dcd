// Compares with NVIDIA's own occupancy calculator where the CUDA toolkit is installed.

#include <gtest/gtest.h>

#include <random>

#include "machine/machine.h"

#ifdef FATHOM_HAVE_CUDA_OCCUPANCY
#include <cuda_occupancy.h>
#endif

namespace fathom {
namespace {

#ifdef FATHOM_HAVE_CUDA_OCCUPANCY

cudaOccDeviceProp properties_of(uint32_t compute, const OccupancyLimits& limits) {
  cudaOccDeviceProp properties;
  properties.computeMajor = static_cast<int>(compute / 10);
  properties.computeMinor = static_cast<int>(compute % 10);
  properties.maxThreadsPerBlock = static_cast<int>(limits.max_threads_per_block);
  properties.maxThreadsPerMultiprocessor = static_cast<int>(limits.max_warps * limits.warp_size);
  properties.regsPerBlock = static_cast<int>(limits.max_registers_per_block);
  properties.regsPerMultiprocessor = static_cast<int>(limits.registers);
  properties.warpSize = static_cast<int>(limits.warp_size);
  properties.sharedMemPerBlock = 48 * 1024;
  properties.sharedMemPerMultiprocessor = limits.shared_memory;
  properties.numSms = 1;
  properties.sharedMemPerBlockOptin = limits.max_shared_memory_per_block;
  properties.reservedSharedMemPerBlock = limits.reserved_shared_memory_per_block;
  return properties;
}

LaunchShape random_shape(std::mt19937& random, const OccupancyLimits& limits) {
  LaunchShape shape;
  const uint32_t threads = random() % 4 ? 32 * (1 + random() % 32) : 1 + random() % 1100;
  shape.grid = {1, 1, 1};
  shape.block = {threads, 1, 1};
  shape.registers_per_thread = random() % 256;
  const uint32_t most = random() % 3 == 0 ? limits.shared_memory + 4096 : 16 * 1024;
  shape.static_shared_memory = random() % 2 ? random() % (48 * 1024) : 0;
  shape.dynamic_shared_memory = random() % 2 ? random() % most : 0;
  return shape;
}

OccupancyLimit limit_of(uint32_t factors) {
  if (factors & OCC_LIMIT_WARPS) return OccupancyLimit::warps;
  if (factors & OCC_LIMIT_BLOCKS) return OccupancyLimit::blocks;
  if (factors & OCC_LIMIT_REGISTERS) return OccupancyLimit::registers;
  return OccupancyLimit::shared_memory;
}

TEST(OccupancyReference, AgreesWithNvidiasCalculatorOnRandomLaunches) {
  std::mt19937 random(6);
  for (uint32_t compute : {70, 75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121}) {
    const OccupancyLimits& limits = machine_for(compute).model->occupancy;
    const cudaOccDeviceProp properties = properties_of(compute, limits);
    int ran = 0;
    for (int round = 0; round < 20'000; ++round) {
      const LaunchShape shape = random_shape(random, limits);
      cudaOccFuncAttributes attributes;
      attributes.maxThreadsPerBlock = INT_MAX;
      attributes.numRegs = static_cast<int>(shape.registers_per_thread);
      attributes.sharedSizeBytes = shape.static_shared_memory;
      attributes.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
      attributes.maxDynamicSharedSizeBytes = shape.dynamic_shared_memory;
      attributes.numBlockBarriers = 1;
      const cudaOccDeviceState state;
      cudaOccResult expected;
      ASSERT_EQ(cudaOccMaxActiveBlocksPerMultiprocessor(&expected, &properties, &attributes, &state,
                                                        static_cast<int>(shape.block[0]),
                                                        shape.dynamic_shared_memory),
                CUDA_OCC_SUCCESS);
      const Occupancy found = occupancy_of(limits, shape);
      SCOPED_TRACE(testing::Message()
                   << "sm_" << compute << ", " << shape.block[0] << " threads, "
                   << shape.registers_per_thread << " registers, " << shape.static_shared_memory
                   << " + " << shape.dynamic_shared_memory << " bytes");
      ASSERT_EQ(static_cast<int>(found.active_blocks), expected.activeBlocksPerMultiprocessor);
      ASSERT_EQ(static_cast<int>(found.limit_blocks), expected.blockLimitBlocks);
      ASSERT_EQ(static_cast<int>(found.limit_warps), expected.blockLimitWarps);
      if (expected.blockLimitRegs != INT_MAX) {
        ASSERT_EQ(static_cast<int>(found.limit_registers), expected.blockLimitRegs);
      }
      if (expected.blockLimitSharedMem != INT_MAX) {
        ASSERT_EQ(static_cast<int>(found.limit_shared_memory), expected.blockLimitSharedMem);
      }
      ASSERT_EQ(found.limit, limit_of(expected.limitingFactors));
      ran += found.active_blocks > 0;
    }
    EXPECT_GT(ran, 5000);
  }
}

#else

TEST(OccupancyReference, AgreesWithNvidiasCalculatorOnRandomLaunches) {
  GTEST_SKIP() << "cuda_occupancy.h of the CUDA toolkit was not found when this was built";
}

#endif

}  // namespace
}  // namespace fathom
