#include "attribution/arguments.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

GpuOperation memory(GpuOperationKind kind, uint64_t time, uint64_t address, uint64_t bytes) {
  GpuOperation made;
  made.kind = kind;
  made.start_ns = made.end_ns = time;
  made.address = address;
  made.bytes = bytes;
  return made;
}

constexpr uint64_t kBase = 0x7f0000000000;

TEST(Allocations, HoldAnAddressWhileTheyLast) {
  const Allocations allocations({memory(GpuOperationKind::allocate, 10, kBase, 1000),
                                 memory(GpuOperationKind::release, 20, kBase, 1000),
                                 memory(GpuOperationKind::allocate, 30, kBase, 500),
                                 memory(GpuOperationKind::allocate, 30, kBase + 4096, 64)});
  EXPECT_EQ(allocations.bytes_from(kBase, 15), 1000u);
  EXPECT_EQ(allocations.bytes_from(kBase + 600, 15), 400u);
  EXPECT_EQ(allocations.bytes_from(kBase, 5), 0u) << "not yet";
  EXPECT_EQ(allocations.bytes_from(kBase, 25), 0u) << "no more";
  EXPECT_EQ(allocations.bytes_from(kBase, 35), 500u);
  EXPECT_EQ(allocations.bytes_from(kBase + 500, 35), 0u) << "behind its end";
  EXPECT_EQ(allocations.bytes_from(kBase - 1, 35), 0u);
  EXPECT_EQ(allocations.bytes_from(kBase + 4096 + 60, 35), 4u);
}

GpuOperation launch(const std::string& kernel, uint32_t correlation) {
  GpuOperation made;
  made.name = kernel;
  made.correlation = correlation;
  made.start_ns = 1000;
  return made;
}

Process process() {
  Process made;
  made.operations = {memory(GpuOperationKind::allocate, 10, kBase, 1 << 20)};
  made.argument_sets[0] = {"k",
                           {{1, 8, 8, 5000},
                            {0, 0, 8, kBase + 16},
                            {2, 16, 8, 0x3ff0000000000000},
                            {3, 24, 8, 0x123400000000},
                            {4, 32, 8, 0x300000002},
                            {4, 40, 8, kBase}}};
  made.argument_sets[1] = {"k", {{1, 8, 8, 6000}}};
  made.launch_arguments = {{1, 0}, {2, 1}, {3, 1}};
  return made;
}

TEST(RecordedArguments, TellPointersFromNumbers) {
  const Process recorded = process();
  RecordedArguments arguments(recorded);
  const auto known = arguments.of(launch("k", 1));
  ASSERT_TRUE(known.arguments);
  EXPECT_FALSE(known.of_others);
  const std::vector<KnownArgument> expected{
      {0, 0, 8, true, 0, (1 << 20) - 16},
      {1, 8, 8, false, 5000, 0},
      {2, 16, 8, false, 0x3ff0000000000000, 0},  // 1.0
      {3, 24, 8, true, 0, 0},                    // of memory that nobody recorded
      {4, 32, 8, false, 0x300000002, 0},         // two small numbers in a structure
      {4, 40, 8, true, 0, 1 << 20}};
  EXPECT_EQ(*known.arguments, expected);
}

TEST(RecordedArguments, OfLaunchesWithoutAnyAreTheUsualOnes) {
  const Process recorded = process();
  RecordedArguments arguments(recorded);
  for (const GpuOperation& each : {launch("k", 99), launch("other", 1)}) {
    const auto known = arguments.of(each);
    if (each.name == "other") {
      EXPECT_FALSE(known.arguments) << "a set of another kernel";
      continue;
    }
    ASSERT_TRUE(known.arguments);
    EXPECT_TRUE(known.of_others);
    EXPECT_EQ(known.arguments->front().value, 6000u) << "which two launches had";
  }
}

}  // namespace
}  // namespace fathom
