#include "calibration/constants.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

TEST(ConstantCapacity, IsTheLastTableThatTakesNoLonger) {
  EXPECT_EQ(constant_capacity({{1024, 86}, {2048, 91}, {2304, 124}, {4096, 153}, {8192, 158}}),
            2048);
  EXPECT_EQ(constant_capacity({{1024, 86}, {2048, 91}, {8192, 92}}), 0) << "all fit";
}

TEST(ConstantGroups, MissByHalfWhereTimesSaySo) {
  EXPECT_DOUBLE_EQ(groups_that_miss({{2, 1000}, {4, 1000}, {16, 5000}}, 1000), 8)
      << "half of the way between 4 and 16";
  EXPECT_DOUBLE_EQ(groups_that_miss({{2, 1000}, {4, 3000}, {8, 5000}}, 1000), 4);
  EXPECT_DOUBLE_EQ(groups_that_miss({{2, 5000}, {4, 5000}}, 1000), 2);
  EXPECT_EQ(groups_that_miss({{2, 1000}, {16, 1100}}, 1000), 0);
}

}  // namespace
}  // namespace fathom
