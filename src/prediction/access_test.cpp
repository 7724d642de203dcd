#include "prediction/access.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

LaneValues spread(uint64_t first, uint64_t stride) {
  LaneValues addresses;
  for (uint32_t i = 0; i < kLanes; ++i) addresses[i] = first + i * stride;
  return addresses;
}
Step load_of(uint8_t bytes) {
  Step step;
  step.op = Op::load;
  step.bytes = bytes;
  return step;
}
Access global(uint64_t first, uint64_t stride, uint8_t bytes, uint32_t mask = ~0u) {
  std::vector<uint64_t> sectors;
  return global_access(load_of(bytes), spread(first, stride), mask, sectors);
}
Access shared(uint64_t stride, uint8_t bytes) {
  return shared_access(load_of(bytes), spread(0, stride), ~0u);
}

TEST(Access, NeighboursShareSectors) {
  EXPECT_EQ(global(0, 4, 4).sectors, 4u);
  EXPECT_EQ(global(0, 4, 4).lines, 1u);
  EXPECT_EQ(global(16, 4, 4).sectors, 5u) << "not aligned";
  EXPECT_EQ(global(0, 16, 16).sectors, 16u);
  EXPECT_EQ(global(0, 32, 4).sectors, 32u);
  EXPECT_EQ(global(0, 32, 4).lines, 8u);
  EXPECT_EQ(global(0, 4096, 4).lines, 32u);
  EXPECT_EQ(global(64, 0, 4).sectors, 1u) << "all read one word";
  EXPECT_EQ(global(0, 4, 4, 0xff).sectors, 1u);
  EXPECT_EQ(global(0, 8, 4).ideal, 4u);
}

TEST(Access, WordsOfOneBankTakeTurns) {
  EXPECT_EQ(shared(4, 4).wavefronts, 1u);
  EXPECT_EQ(shared(0, 4).wavefronts, 1u) << "one word for all";
  EXPECT_EQ(shared(8, 4).wavefronts, 2u);
  EXPECT_EQ(shared(128, 4).wavefronts, 32u);
  EXPECT_EQ(shared(132, 4).wavefronts, 1u) << "a padded row";
  EXPECT_EQ(shared(8, 8).wavefronts, 2u);
  EXPECT_EQ(shared(8, 8).ideal, 2u);
  EXPECT_EQ(shared(16, 16).wavefronts, 4u);
  EXPECT_EQ(shared(16, 16).ideal, 4u);
}

// As counted on an H200: LDS.128 of one address for all takes two passes, LDS.64 one.
TEST(Access, PartsThatWantTheSameGoTogether) {
  EXPECT_EQ(shared(0, 8).wavefronts, 1u);
  EXPECT_EQ(shared(0, 16).wavefronts, 2u);
  EXPECT_EQ(global(0, 0, 8).wavefronts, 2u) << "not in global memory";
}

TEST(Access, LinesAreLookedUpFourAtATime) {
  EXPECT_EQ(global(64, 4, 4).wavefronts, 1u) << "two lines with one word of each bank";
  EXPECT_EQ(global(0, 4096 + 4, 4).wavefronts, 32u) << "all in one part of the tags";
  EXPECT_EQ(global(0, 128 + 4, 4).wavefronts, 8u);
}

TEST(Access, AtomicsOnOneAddressTakeTurns) {
  Step atomic = load_of(4);
  atomic.op = Op::atomic;
  std::vector<uint64_t> sectors;
  EXPECT_EQ(global_access(atomic, spread(0, 0), ~0u, sectors).wavefronts, 32u);
  EXPECT_EQ(global_access(atomic, spread(0, 4), ~0u, sectors).wavefronts, 1u);
  EXPECT_EQ(shared_access(atomic, spread(0, 0), 0xff).wavefronts, 8u);
}

TEST(Access, LocalMemoryLiesSideBySide) {
  std::vector<uint64_t> sectors;
  const Access access = local_access(load_of(4), spread(64, 0), ~0u, 3, sectors);
  EXPECT_EQ(access.sectors, 4u);
  EXPECT_EQ(access.lines, 1u);
  EXPECT_EQ(sectors.front() >> (kBufferShift - 5), kLocalBuffer);
}

}  // namespace
}  // namespace fathom
