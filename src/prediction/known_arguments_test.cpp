#include "prediction/known_arguments.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

KnownArgument value(uint32_t position, uint32_t offset, uint32_t bytes, uint64_t value) {
  return {position, offset, bytes, false, value, 0};
}
KnownArgument pointer(uint32_t position, uint32_t offset, uint64_t buffer_bytes) {
  return {position, offset, 8, true, 0, buffer_bytes};
}

TEST(KnownArguments, AreValuesAndSizesOfBuffers) {
  std::vector<Parameter> parameters{{"y", 0, 8, false, {}, 0}, {"n", 8, 4, false, {}, 0}};
  apply_known_arguments({pointer(0, 0, 4096), value(1, 8, 4, 77)}, parameters);
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_FALSE(parameters[0].value.has_value()) << "addresses are made up";
  EXPECT_EQ(parameters[0].buffer_bytes, 4096u);
  EXPECT_EQ(parameters[1].value, 77u);
}

TEST(KnownArguments, GiveWayToTheCallers) {
  std::vector<Parameter> parameters{{"y", 0, 8, false, {}, 512}, {"n", 8, 4, false, 5, 0}};
  apply_known_arguments({pointer(0, 0, 4096), value(1, 8, 4, 77)}, parameters);
  EXPECT_EQ(parameters[0].buffer_bytes, 512u);
  EXPECT_EQ(parameters[1].value, 5u);
}

TEST(KnownArguments, OfAStructureAreItsPieces) {
  std::vector<Parameter> parameters{{"s", 0, 40, false, {}, 0}, {"n", 40, 4, false, {}, 0}};
  apply_known_arguments({pointer(0, 0, 4096), value(0, 8, 8, uint64_t{7} << 32 | 3),
                         value(0, 32, 8, 1), value(1, 40, 4, 9)},
                        parameters);
  ASSERT_EQ(parameters.size(), 5u) << "the piece that nobody knows is there, too";
  ParameterBlock block(parameters, 1000);
  EXPECT_EQ(block.read(8, 4), 3u);
  EXPECT_EQ(block.read(12, 4), 7u);
  EXPECT_EQ(block.read(32, 8), 1u);
  EXPECT_EQ(block.read(40, 4), 9u);
  EXPECT_GE(block.read(16, 8), uint64_t{1} << kBufferShift) << "a made-up address";
  ASSERT_EQ(block.buffers().size(), 1u);
  EXPECT_EQ(block.buffers().begin()->first, block.read(0, 8) >> kBufferShift);
  EXPECT_TRUE(block.guessed().empty());
}

TEST(KnownArguments, ThatDoNotFitAreLeftOut) {
  std::vector<Parameter> parameters{{"s", 0, 16, false, {}, 0}, {"n", 16, 4, false, {}, 0}};
  apply_known_arguments(
      {value(0, 12, 8, 1), value(0, 4000000000u, 8, 1), value(1, 16, 8, 5), value(7, 0, 8, 5)},
      parameters);
  ASSERT_EQ(parameters.size(), 2u);
  EXPECT_EQ(parameters[0].size, 16u);
  EXPECT_FALSE(parameters[1].value.has_value());
}

}  // namespace
}  // namespace fathom
