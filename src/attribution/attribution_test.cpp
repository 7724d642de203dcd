#include "attribution/attribution.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace fathom {
namespace {

/// The warnings of a run of one process.
std::vector<Warning> warnings_of(Process process) {
  Measurement measurement;
  measurement.processes.push_back(std::move(process));
  auto attribution = attribute(measurement, {});
  EXPECT_TRUE(attribution.ok());
  return attribution.ok() ? attribution->profile.warnings : std::vector<Warning>{};
}

GpuOperation operation(GpuOperationKind kind, MemoryKind memory) {
  GpuOperation result;
  result.kind = kind;
  result.memory_kind = memory;
  return result;
}

TEST(Attribution, MissesNoCallForStaticMemory) {
  Process process;
  for (MemoryKind memory : {MemoryKind::device_static, MemoryKind::managed_static})
    for (GpuOperationKind kind : {GpuOperationKind::allocate, GpuOperationKind::release})
      process.operations.push_back(operation(kind, memory));
  EXPECT_TRUE(warnings_of(process).empty());
}

TEST(Attribution, MissesTheCallsOfAllOtherOperations) {
  Process process;
  process.operations = {operation(GpuOperationKind::allocate, MemoryKind::device),
                        operation(GpuOperationKind::memory_set, MemoryKind::device_static),
                        operation(GpuOperationKind::allocate, MemoryKind::device_static)};
  auto warnings = warnings_of(process);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].what.rfind("2 GPU operations have no recorded call", 0), 0u)
      << warnings[0].what;
}

TEST(Attribution, LeavesTheFullBufferToTheCollectorsMessage) {
  Process process;
  process.sampling.buffer_full = true;
  EXPECT_TRUE(warnings_of(process).empty());
  process.sampling.dropped = 41;
  auto warnings = warnings_of(process);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].what, "41 samples were dropped by the hardware");
}

}  // namespace
}  // namespace fathom
