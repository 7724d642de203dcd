#include "attribution/chains.h"

#include <gtest/gtest.h>

#include "attribution/blame.h"
#include "attribution/testing.h"

namespace fathom {
namespace {

using fathom::testing::function;
using fathom::testing::put;

/// A pointer is loaded, then what it points to, then the sum waits.
AnalyzedFunction pointers(uint64_t first_wait, uint64_t second_wait) {
  AnalyzedFunction f = function(R"(
    LDG R2 <- R0 | sets B0
    LDG R4 <- R2 | sets B1 | waits B0
    FADD R5 <- R4 | waits B1
    EXIT)");
  put(f, 1, StallReason::long_scoreboard, first_wait);
  put(f, 2, StallReason::long_scoreboard, second_wait);
  blame_stalls(f);
  return f;
}

TEST(Chains, GoesBackToTheFirstThatDoesNotWait) {
  EXPECT_EQ(chain_behind(pointers(80, 100), 1, 100), std::vector<uint32_t>{0});
}

TEST(Chains, EndsWhereAStepExplainsLittle) {
  EXPECT_TRUE(chain_behind(pointers(5, 100), 1, 100).empty());
}

TEST(Chains, TheRootHasNothingBehindIt) {
  EXPECT_TRUE(chain_behind(pointers(80, 100), 0, 80).empty());
}

TEST(Chains, DoesNotGoRoundALoopForever) {
  AnalyzedFunction f = function(R"(
    LDG R2 <- R2 | sets B0
    IADD R3 <- R2 | waits B0
    LDG R2 <- R3 | sets B0
    BRA | waits B0 | to 0)");
  for (uint32_t i : {0u, 1u, 2u}) put(f, i, StallReason::long_scoreboard, 100);
  blame_stalls(f);
  EXPECT_LE(chain_behind(f, 0, 100).size(), 3u);
}

}  // namespace
}  // namespace fathom
