#include "flow/slices.h"

#include <gtest/gtest.h>

#include <set>

#include "flow/test_code.h"

namespace fathom {
namespace {

using Sources = std::vector<std::pair<uint32_t, Register>>;

Sources sources_of(const std::string& text, uint32_t use) {
  const auto instructions = test::code(text);
  const auto graph = ControlFlowGraph::build(instructions);
  Sources sources;
  for (const Dependency& dependency : immediate_dependencies(instructions, graph, use)) {
    EXPECT_EQ(dependency.use, use);
    sources.push_back({dependency.def, dependency.through});
  }
  return sources;
}

const Register R0 = test::reg("R0"), R1 = test::reg("R1"), P0 = test::reg("P0"),
               B0 = test::reg("B0"), B1 = test::reg("B1");

TEST(Slices, FindTheLastDefinition) {
  const std::string text = R"(
      MOV R0
      MOV R0
      MOV R1
      IADD R2 <- R0 R1 R9)";
  EXPECT_EQ(sources_of(text, 3), (Sources{{1, R0}, {2, R1}}));
  EXPECT_EQ(sources_of(text, 0), (Sources{}));
}

// Figure 3 of the paper: the branch reads no register of the load, but waits for its barrier.
TEST(Slices, FollowBarriersAsRegisters) {
  EXPECT_EQ(sources_of(R"(
      LDG R0 <- R2 R3 | sets B0
      IADD R4 <- R5
      BRA out | waits B0
 out: EXIT)",
                       2),
            (Sources{{0, B0}}));
}

TEST(Slices, FindAWriteAfterReadThroughAReadBarrier) {
  EXPECT_EQ(sources_of(R"(
      STG <- R0 R2 | sets B1
      MOV R0 | waits B1)",
                       1),
            (Sources{{0, B1}}));
}

// Figure 4a of the paper: neither predicated load covers the addition, both together do; the
// multiplication is on the other path.
const char* const kFigure4 = R"(
          IADD R0 <- R1
     @!P0 LDC R0 <- R4
      @P1 BRA right
      @P0 LDG R0 <- R2
          BRA join
   right: IMAD R0 <- R4 R5
    join: IADD R8 <- R0 R7)";
TEST(Slices, GoOnUntilThePredicatesCoverTheUse) {
  EXPECT_EQ(sources_of(kFigure4, 6), (Sources{{1, R0}, {3, R0}, {5, R0}}));
}

TEST(Slices, AUseUnderThePredicateOfTheDefinitionIsCovered) {
  const std::string text = R"(
          MOV R0
      @P0 MOV R0
      @P0 IADD R2 <- R0
     @!P0 IADD R2 <- R0)";
  EXPECT_EQ(sources_of(text, 2), (Sources{{1, R0}}));
  EXPECT_EQ(sources_of(text, 3), (Sources{{0, R0}, {1, R0}}));
}

TEST(Slices, APredicateThatWasWrittenAnewIsAnotherCondition) {
  EXPECT_EQ(sources_of(R"(
          MOV R0
     @!P0 MOV R0
          ISETP P0
      @P0 MOV R0
          IADD R2 <- R0)",
                       4),
            (Sources{{0, R0}, {1, R0}, {3, R0}}));
  EXPECT_EQ(sources_of(R"(
          MOV R0
      @P0 MOV R0
          ISETP P0
      @P0 IADD R2 <- R0)",
                       3),
            (Sources{{0, R0}, {1, R0}, {2, P0}}));
}

TEST(Slices, PredicatesOfDifferentRegistersDoNotAddUp) {
  EXPECT_EQ(sources_of(R"(
          MOV R0
      @P0 MOV R0
     @!P1 MOV R0
    @!UP0 MOV R0
          IADD R2 <- R0)",
                       4),
            (Sources{{0, R0}, {1, R0}, {2, R0}, {3, R0}}));
}

TEST(Slices, AnInstructionCanDependOnItselfAroundALoop) {
  const std::string text = R"(
          MOV R0
     top: IADD R0 <- R0 R1
          MOV R1
      @P0 BRA top
          EXIT)";
  EXPECT_EQ(sources_of(text, 1), (Sources{{0, R0}, {1, R0}, {2, R1}}));
}

TEST(Slices, GoAroundALoopOnlyAsFarAsTheDefinition) {
  EXPECT_EQ(sources_of(R"(
     top: IADD R1 <- R0
          MOV R2
          MOV R0
      @P0 BRA top
          EXIT)",
                       0),
            (Sources{{2, R0}}));
}

TEST(Slices, EndOnALoopWithoutDefinitions) {
  EXPECT_EQ(sources_of("top: @P0 IADD R1 <- R0\n@P1 BRA top\nEXIT", 0), (Sources{}));
}

TEST(Slices, AreSortedByDefinitionThenRegister) {
  EXPECT_EQ(sources_of("LDG R0 R1 | sets B0\nIADD R2 <- R0 R1 | waits B0", 1),
            (Sources{{0, R0}, {0, R1}, {0, B0}}));
}

/// Straight-line and looping code, with every path followed up to a length, as an oracle.
class PathOracle {
 public:
  PathOracle(const std::vector<Instruction>& instructions, uint32_t use)
      : code_(instructions), graph_(ControlFlowGraph::build(instructions)), use_(use) {}

  std::set<uint32_t> defs(Register through) {
    through_ = through;
    found_.clear();
    std::vector<uint32_t> path;
    follow(use_, path, 0);
    return found_;
  }

 private:
  /// The conditions of a path's definitions name a predicate and the place where its value comes
  /// from on this path: the position of its last write before, or nothing.
  bool covered(const std::vector<uint32_t>& path) const {
    const auto origin = [&](size_t position, Register predicate) {
      for (size_t i = position + 1; i < path.size(); ++i) {
        const auto& defs = code_[path[i]].defs;
        if (std::find(defs.begin(), defs.end(), predicate) != defs.end()) return i;
      }
      return path.size();
    };
    using Condition = std::tuple<Register, size_t, bool>;
    std::set<Condition> conditions;
    for (size_t i = 0; i < path.size(); ++i) {
      const Instruction& instruction = code_[path[i]];
      const auto& defs = instruction.defs;
      if (i == 0 || std::find(defs.begin(), defs.end(), through_) == defs.end()) continue;
      const Guard& guard = instruction.guard;
      if (guard.always) return true;
      conditions.insert({guard.predicate, origin(i, guard.predicate), guard.negated});
    }
    for (const auto& [predicate, from, negated] : conditions) {
      if (conditions.count({predicate, from, !negated})) return true;
      const Guard& guard = code_[use_].guard;
      if (!guard.always && guard.predicate == predicate && guard.negated == negated &&
          from == origin(0, predicate)) {
        return true;
      }
    }
    return false;
  }

  void follow(uint32_t at, std::vector<uint32_t>& path, int blocks) {
    path.push_back(at);
    const auto& defs = code_[at].defs;
    if (path.size() > 1 && std::find(defs.begin(), defs.end(), through_) != defs.end()) {
      found_.insert(at);
    }
    if (!covered(path)) {
      const Block& block = graph_.blocks[graph_.block_of[at]];
      if (at > block.first) {
        follow(at - 1, path, blocks);
      } else if (blocks < 9) {
        for (uint32_t predecessor : block.predecessors) {
          follow(graph_.blocks[predecessor].last, path, blocks + 1);
        }
      }
    }
    path.pop_back();
  }

  const std::vector<Instruction>& code_;
  ControlFlowGraph graph_;
  uint32_t use_;
  Register through_;
  std::set<uint32_t> found_;
};

std::vector<Instruction> random_code(std::mt19937& random, uint32_t count) {
  std::vector<Instruction> code(count);
  for (uint32_t i = 0; i < count; ++i) {
    Instruction& instruction = code[i];
    instruction.offset = 16 * i;
    if (random() % 3 == 0) {
      instruction.guard = {
          false, random() % 2 == 0, {RegisterFile::predicate, static_cast<uint8_t>(random() % 2)}};
    }
    switch (random() % 6) {
      case 0:
        instruction.flow = Flow::branch;
        instruction.target = 16 * (random() % count);
        break;
      case 1:
        instruction.defs = {{RegisterFile::predicate, static_cast<uint8_t>(random() % 2)}};
        break;
      case 2:
      case 3:
        instruction.defs = {R0};
        break;
      default:
        break;
    }
    instruction.uses = {R0};
    if (instruction.flow == Flow::branch) instruction.uses.clear();
  }
  return code;
}

TEST(Slices, AgreeWithFollowingEveryPathInRandomCode) {
  std::mt19937 random(5);
  size_t edges = 0;
  for (int round = 0; round < 10'000; ++round) {
    const auto code = random_code(random, 3 + random() % 10);
    const auto graph = ControlFlowGraph::build(code);
    const auto use = static_cast<uint32_t>(random() % code.size());
    std::set<uint32_t> found;
    Slicer slicer(code, graph);
    slicer.dependencies_of(0);  // leaves no trace in the next search
    for (const Dependency& dependency : slicer.dependencies_of(use)) found.insert(dependency.def);
    const std::set<uint32_t> expected =
        code[use].uses.empty() ? std::set<uint32_t>{} : PathOracle(code, use).defs(R0);
    ASSERT_EQ(found, expected) << "round " << round;
    edges += expected.size();
  }
  EXPECT_GT(edges, 3000u);
}

TEST(Slices, EndSoonWhereManyPredicatesMeet) {
  // Each of 14 diamonds defines the register under a predicate on one side and under its opposite
  // on the other, so that 16,384 different unions reach the long chain of blocks before.
  std::string text = "MOV R0\n";
  for (int i = 0; i < 3000; ++i) text += "@P7 EXIT\n";
  for (int i = 0; i < 14; ++i) {
    const std::string name = std::to_string(i);
    const std::string predicate = (i < 7 ? "P" : "UP") + std::to_string(i % 7);
    text += "@P7 BRA other" + name + "\n@" + predicate + " MOV R0\nBRA join" + name + "\n";
    text += "other" + name + ": @!" + predicate + " MOV R0\njoin" + name + ": NOP\n";
  }
  text += "IADD R1 <- R0\n";
  const auto instructions = test::code(text);
  const auto graph = ControlFlowGraph::build(instructions);
  const auto use = static_cast<uint32_t>(instructions.size() - 1);
  EXPECT_EQ(immediate_dependencies(instructions, graph, use).size(), 29u);
}

TEST(Slices, CrossALongStraightLine) {
  std::vector<Instruction> line(50'000);
  for (size_t i = 0; i < line.size(); ++i) line[i].offset = 16 * i;
  line.front().defs = {R0};
  line.back().uses = {R0, R1};
  const auto graph = ControlFlowGraph::build(line);
  const auto found = immediate_dependencies(line, graph, 49'999);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].def, 0u);
}

}  // namespace
}  // namespace fathom
