#include "flow/liveness.h"

#include <gtest/gtest.h>

#include "flow/test_code.h"

namespace fathom {
namespace {

struct Subject {
  explicit Subject(const std::string& text)
      : instructions(test::code(text)),
        graph(ControlFlowGraph::build(instructions)),
        liveness(instructions, graph) {}
  std::vector<uint32_t> before(uint32_t instruction) const {
    std::vector<uint32_t> live;
    RegisterSet set = liveness.before(instruction);
    for (uint32_t r = 0; r < set.size(); ++r)
      if (set[r]) live.push_back(r);
    return live;
  }
  std::vector<Instruction> instructions;
  ControlFlowGraph graph;
  Liveness liveness;
};

using Registers = std::vector<uint32_t>;

TEST(Liveness, ALifeLastsFromDefinitionToLastUse) {
  Subject s(R"(
    MOV R0
    MOV R1
    ADD R2 <- R0 R1
    ST <- R2
    EXIT)");
  EXPECT_EQ(s.before(0), Registers{});
  EXPECT_EQ(s.before(1), Registers{0});
  EXPECT_EQ(s.before(2), (Registers{0, 1}));
  EXPECT_EQ(s.before(3), Registers{2});
  EXPECT_EQ(s.before(4), Registers{});
}

TEST(Liveness, LoopsKeepWhatTheNextIterationNeeds) {
  Subject s(R"(
          MOV R0
          MOV R5
    top:  ADD R0 <- R0 R5
          LD R3 <- R0
          ST <- R3
          @P0 BRA top
          EXIT)");
  EXPECT_EQ(s.before(4), (Registers{0, 3, 5}));
  EXPECT_EQ(s.before(6), Registers{});
}

TEST(Liveness, APredicatedDefinitionEndsNoLife) {
  Subject s(R"(
    MOV R0
    @P0 MOV R0
    ST <- R0
    EXIT)");
  EXPECT_EQ(s.before(1), Registers{0});
  EXPECT_EQ(s.before(0), Registers{});
}

TEST(Liveness, BranchesUnite) {
  Subject s(R"(
          MOV R0
          MOV R1
          @P0 BRA else
          ST <- R0
          EXIT
    else: ST <- R1
          EXIT)");
  EXPECT_EQ(s.before(2), (Registers{0, 1}));
  EXPECT_EQ(s.before(3), Registers{0});
  EXPECT_EQ(s.before(5), Registers{1});
}

}  // namespace
}  // namespace fathom
