#include "attribution/blame.h"

#include <gtest/gtest.h>

#include <random>

#include "attribution/testing.h"
#include "attribution/topdown_mapping.h"

namespace fathom {
namespace {

using fathom::testing::function;
using fathom::testing::put;

const Blame* edge(const AnalyzedFunction& f, uint32_t producer, uint32_t consumer) {
  for (const Blame& blame : f.blame)
    if (blame.producer == producer && blame.consumer == consumer) return &blame;
  return nullptr;
}

// GPA paper, figure 3: the branch reads barrier B0, though not R0.
TEST(Blame, FollowsABarrierWithoutARegister) {
  AnalyzedFunction f = function(R"(
    LDG R0 <- R2 R3 | sets B0
    IADD R8 <- R8 R9
    BRA | waits B0 | to 3
    EXIT)");
  put(f, 2, StallReason::long_scoreboard, 10, 8);
  blame_stalls(f);
  ASSERT_EQ(f.blame.size(), 1u);
  EXPECT_EQ(f.blame[0].producer, 0u);
  EXPECT_EQ(f.blame[0].stalls, 10);
  EXPECT_EQ(f.blame[0].latency, 8);
  EXPECT_EQ(f.blame[0].kind, StallClass::global_memory);
  EXPECT_EQ(f.blame[0].through, "B0");
  EXPECT_EQ(f.blame[0].distance, 2u);
}

// GPA paper, figure 4: two loads under opposite predicates, a multiplication that cannot cause
// memory stalls, and stalls shared by issued samples (1 and 2) and path lengths (5 and 10).
TEST(Blame, SharesStallsByIssueAndPathAmongPredicatedLoads) {
  AnalyzedFunction f = function(R"(
    @!P0 LDG R0 <- R4 R5 | sets B0
    NOP
    NOP
    NOP
    IMAD R0 <- R4 R5
    @P0 LDG R0 <- R2 R3 | sets B1
    NOP
    NOP
    NOP
    NOP
    IADD R8 <- R0 R7 | waits B0 B1
    EXIT)");
  f.instructions[4].guard.always = false;  // @P1: one more definition that does not cover
  f.instructions[4].guard.predicate = {RegisterFile::predicate, 1};
  put(f, 5, StallReason::selected, 1);
  put(f, 0, StallReason::selected, 2);
  put(f, 10, StallReason::long_scoreboard, 4, 4);
  blame_stalls(f);
  const Blame* early = edge(f, 0, 10);
  const Blame* late = edge(f, 5, 10);
  ASSERT_TRUE(early && late);
  EXPECT_EQ(early->distance, 10u);
  EXPECT_EQ(late->distance, 5u);
  EXPECT_DOUBLE_EQ(early->stalls, 2);
  EXPECT_DOUBLE_EQ(late->stalls, 2);
  EXPECT_FALSE(edge(f, 4, 10)) << "pruned by opcode";
  EXPECT_EQ(early->through, "R0");
}

TEST(Blame, PrunesWhatAnEarlierUseWouldHaveWaitedFor) {
  AnalyzedFunction f = function(R"(
    LDG R0 <- R2 R3 | sets B0
    FADD R5 <- R0 R6 | waits B0
    FADD R7 <- R0 R6 | waits B0
    EXIT)");
  put(f, 2, StallReason::long_scoreboard, 6, 6);
  blame_stalls(f);
  ASSERT_EQ(f.blame.size(), 1u);
  EXPECT_EQ(f.blame[0].producer, 2u) << "the load was waited for at instruction 1 already";
}

TEST(Blame, APredicatedEarlierUseDoesNotPrune) {
  AnalyzedFunction f = function(R"(
    LDG R0 <- R2 R3 | sets B0
    @P0 FADD R5 <- R0 R6 | waits B0
    FADD R7 <- R0 R6 | waits B0
    EXIT)");
  put(f, 2, StallReason::long_scoreboard, 6, 6);
  blame_stalls(f);
  EXPECT_TRUE(edge(f, 0, 2));
}

TEST(Blame, PrunesFixedLatencyProducersThatFinishedLongAgo) {
  std::string lines = "IMAD R0 <- R4 R5\n";
  for (int i = 0; i < 40; ++i) lines += "FADD R9 <- R10 R11\n";
  lines += "IADD R8 <- R0 R7\nEXIT";
  AnalyzedFunction f = function(lines);
  put(f, 41, StallReason::wait, 5, 5);
  blame_stalls(f);
  EXPECT_FALSE(edge(f, 0, 41));
  EXPECT_TRUE(edge(f, 40, 41)) << "the issue delay of the instruction before remains";
}

TEST(Blame, WaitComesFromTheFixedLatencyProducer) {
  AnalyzedFunction f = function(R"(
    FFMA R0 <- R4 R5
    FFMA R8 <- R0 R7
    EXIT)");
  put(f, 1, StallReason::wait, 5, 3);
  blame_stalls(f);
  ASSERT_TRUE(edge(f, 0, 1));
  EXPECT_EQ(edge(f, 0, 1)->kind, StallClass::arithmetic);
}

TEST(Blame, ClassifiesAsInFigureFive) {
  struct Case {
    const char* producer;
    StallReason reason;
    StallClass kind;
  };
  for (const Case& c :
       {Case{"LDG R0 <- R2 | sets B0", StallReason::long_scoreboard, StallClass::global_memory},
        Case{"LDL R0 <- R2 | sets B0", StallReason::long_scoreboard, StallClass::local_memory},
        Case{"LDC R0 <- R2 | sets B0", StallReason::short_scoreboard, StallClass::constant_memory},
        Case{"LDS R0 <- R2 | sets B0", StallReason::short_scoreboard, StallClass::shared_memory},
        Case{"MUFU R0 <- R2 | sets B0", StallReason::short_scoreboard, StallClass::arithmetic},
        Case{"STS <- R2 R0 | reads B0", StallReason::short_scoreboard,
             StallClass::write_after_read},
        Case{"STG <- R2 R0 | reads B0", StallReason::short_scoreboard,
             StallClass::write_after_read}}) {
    AnalyzedFunction f = function(std::string(c.producer) + "\nIADD R0 <- R0 R7 | waits B0\nEXIT");
    put(f, 1, c.reason, 5, 5);
    blame_stalls(f);
    ASSERT_TRUE(edge(f, 0, 1)) << c.producer;
    EXPECT_EQ(edge(f, 0, 1)->kind, c.kind) << c.producer;
  }
}

TEST(Blame, FullQueuesAndBusyPipesStayWhereTheyAre) {
  AnalyzedFunction f = function("STG <- R2 R0\nSTG <- R4 R0\nEXIT");
  put(f, 1, StallReason::lg_throttle, 7, 2);
  blame_stalls(f);
  ASSERT_EQ(f.blame.size(), 1u);
  EXPECT_EQ(f.blame[0].producer, 1u);
  EXPECT_EQ(f.blame[0].kind, StallClass::throttle);
}

TEST(Blame, BarrierStallsBelongToTheBarrierBefore) {
  AnalyzedFunction f = function(R"(
    STS <- R2 R0
    BAR
    LDS R1 <- R2 | sets B0
    EXIT)");
  put(f, 2, StallReason::barrier, 9, 9);
  put(f, 1, StallReason::barrier, 4, 4);
  blame_stalls(f);
  ASSERT_TRUE(edge(f, 1, 2));
  EXPECT_EQ(edge(f, 1, 2)->kind, StallClass::synchronization);
  ASSERT_TRUE(edge(f, 1, 1));
  EXPECT_EQ(edge(f, 1, 1)->stalls, 4);
}

TEST(Blame, CoverageCountsSingleDependencyNodes) {
  AnalyzedFunction f = function(R"(
    LDG R0 <- R2 | sets B0
    LDG R1 <- R3 | sets B1
    FADD R5 <- R0 R1 | waits B0 B1
    FADD R6 <- R5 R5
    EXIT)");
  put(f, 2, StallReason::long_scoreboard, 5, 5);
  put(f, 3, StallReason::wait, 5, 5);
  blame_stalls(f);
  EXPECT_DOUBLE_EQ(f.coverage_before, 0.5);
  EXPECT_DOUBLE_EQ(f.coverage_after, 0.5);
}

TEST(Blame, FindsTheProducerAroundALoop) {
  AnalyzedFunction f = function(R"(
    FADD R5 <- R0 R5 | waits B0
    LDG R0 <- R2 R3 | sets B0
    @P0 BRA | to 0
    EXIT)");
  put(f, 0, StallReason::long_scoreboard, 5, 5);
  blame_stalls(f);
  ASSERT_TRUE(edge(f, 1, 0));
  EXPECT_EQ(edge(f, 1, 0)->distance, 2u);
}

/// Random code: whatever the structure, no stall is lost or invented, in the blame and in the
/// top-down tree.
TEST(Blame, ConservesStallsOnRandomCode) {
  std::mt19937 random(7);
  auto pick = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
  const char* names[] = {"LDG", "LDS", "STG", "IADD", "FFMA", "MUFU", "BAR", "TEX", "LDC"};
  for (int round = 0; round < 100; ++round) {
    unsigned size = 5 + pick(40);
    std::string lines;
    for (unsigned i = 0; i < size; ++i) {
      if (pick(4) == 0) lines += "@P" + std::to_string(pick(3)) + " ";
      if (pick(8) == 0) {
        lines += "BRA | to " + std::to_string(pick(size));
      } else {
        lines += std::string(names[pick(9)]) + " R" + std::to_string(pick(8)) + " <- R" +
                 std::to_string(pick(8));
        if (pick(2)) lines += " | sets B" + std::to_string(pick(3));
      }
      if (pick(3) == 0) lines += " | waits B" + std::to_string(pick(3));
      lines += "\n";
    }
    AnalyzedFunction f = function(lines + "EXIT");
    for (uint32_t i = 0; i < f.instructions.size(); ++i)
      for (size_t r = 0; r < kStallReasonCount; ++r) {
        uint64_t all = pick(5);
        put(f, i, static_cast<StallReason>(r), all, r == 0 ? 0 : pick(unsigned(all) + 1));
      }
    blame_stalls(f);
    std::vector<std::array<double, kStallReasonCount>> stalls(f.instructions.size());
    std::vector<std::array<double, kStallReasonCount>> latency(f.instructions.size());
    for (const Blame& blame : f.blame) {
      stalls[blame.consumer][size_t(blame.reason)] += blame.stalls;
      latency[blame.consumer][size_t(blame.reason)] += blame.latency;
    }
    TopDownMapper mapper(f);
    for (uint32_t i = 0; i < f.instructions.size(); ++i) {
      for (size_t r = 0; r < kStallReasonCount; ++r) {
        bool blamed = r != size_t(StallReason::selected) && r != size_t(StallReason::not_selected);
        EXPECT_NEAR(stalls[i][r], blamed ? double(f.samples[i].all[r]) : 0, 1e-9);
        EXPECT_NEAR(latency[i][r], blamed ? double(f.samples[i].latency[r]) : 0, 1e-9);
      }
      TopDownCounts topdown = mapper.map(i, f.samples[i]).inclusive();
      EXPECT_NEAR(topdown[TopDown::cycles], double(f.samples[i].total()), 1e-6);
    }
  }
}

TEST(TopDownMapper, AsksTheProducerWhereAScoreboardStallBelongs) {
  AnalyzedFunction f = function(R"(
    LDS R0 <- R2 | sets B0
    MUFU R1 <- R2 | sets B1
    TEX R3 <- R2 | sets B2
    IADD R8 <- R0 R7 | waits B0
    IADD R8 <- R1 R7 | waits B1
    IADD R8 <- R3 R7 | waits B2
    EXIT)");
  put(f, 3, StallReason::short_scoreboard, 10, 6);
  put(f, 4, StallReason::short_scoreboard, 10, 10);
  put(f, 5, StallReason::long_scoreboard, 10, 10);
  blame_stalls(f);
  TopDownMapper mapper(f);
  EXPECT_EQ(mapper.map(3, f.samples[3])[TopDown::memory_latency], 6);
  EXPECT_EQ(mapper.map(3, f.samples[3])[TopDown::other_hidden], 4);
  EXPECT_EQ(mapper.map(4, f.samples[4])[TopDown::instruction_dependence], 10);
  EXPECT_EQ(mapper.map(5, f.samples[5])[TopDown::texture_memory], 10);
}

}  // namespace
}  // namespace fathom
