#include <gtest/gtest.h>

#include "flow/test_code.h"

namespace fathom {
namespace {

using List = std::vector<uint32_t>;

ControlFlowGraph graph_for(const std::string& text) {
  const auto instructions = test::code(text);
  return ControlFlowGraph::build(instructions);
}

TEST(ControlFlow, TakesNoInstructions) {
  const auto graph = ControlFlowGraph::build({});
  EXPECT_TRUE(graph.blocks.empty());
  EXPECT_TRUE(graph.block_of.empty());
}

TEST(ControlFlow, SplitsADiamond) {
  const auto graph = graph_for(R"(
          ISETP P0 <- R0
      @P0 BRA else
          MOV R1
          BRA join
    else: MOV R1
    join: EXIT)");
  ASSERT_EQ(graph.blocks.size(), 4u);
  EXPECT_EQ(graph.blocks[0].successors, (List{1, 2}));
  EXPECT_EQ(graph.blocks[1].successors, (List{3}));
  EXPECT_EQ(graph.blocks[2].successors, (List{3}));
  EXPECT_EQ(graph.blocks[3].successors, (List{}));
  EXPECT_EQ(graph.blocks[3].predecessors, (List{1, 2}));
  EXPECT_EQ(graph.blocks[1].first, 2u);
  EXPECT_EQ(graph.blocks[1].last, 3u);
  EXPECT_EQ(graph.block_of, (List{0, 0, 1, 1, 2, 3}));
}

TEST(ControlFlow, ABranchIntoABlockSplitsIt) {
  const auto graph = graph_for(R"(
          MOV R0
     mid: MOV R1
      @P0 BRA mid
          EXIT)");
  ASSERT_EQ(graph.blocks.size(), 3u);
  EXPECT_EQ(graph.blocks[0].successors, (List{1}));
  EXPECT_EQ(graph.blocks[1].successors, (List{2, 1}));
}

TEST(ControlFlow, APredicatedExitFallsThroughAndACallGoesOn) {
  const auto graph = graph_for(R"(
      @P0 EXIT
          CALL
          ICALL
     @!P1 RET
          EXIT)");
  ASSERT_EQ(graph.blocks.size(), 3u);
  EXPECT_EQ(graph.blocks[0].successors, (List{1}));
  EXPECT_EQ(graph.blocks[1].first, 1u);
  EXPECT_EQ(graph.blocks[1].last, 3u);
  EXPECT_EQ(graph.blocks[1].successors, (List{2}));
}

TEST(ControlFlow, ABranchThatReadsAConditionFallsThrough) {
  const auto by_register = graph_for("BRA far <- P1\nfar: EXIT\nEXIT");
  EXPECT_EQ(by_register.blocks[0].successors, (List{1}));
  const auto both = graph_for("BRA far <- UP1\nEXIT\nfar: EXIT");
  EXPECT_EQ(both.blocks[0].successors, (List{1, 2}));
  const auto divergent = graph_for("BRA.DIV far\nEXIT\nfar: EXIT");
  EXPECT_EQ(divergent.blocks[0].successors, (List{1, 2}));
  const auto waiting = graph_for("BRA far | waits B0\nEXIT\nfar: EXIT");
  EXPECT_EQ(waiting.blocks[0].successors, (List{2}));
}

TEST(ControlFlow, ASwitchTableGivesEachTargetOnce) {
  const auto graph = graph_for(R"(
          BRX a b a elsewhere <- R0
       a: MOV R1
          EXIT
       b: EXIT)");
  ASSERT_EQ(graph.blocks.size(), 3u);
  EXPECT_EQ(graph.blocks[0].successors, (List{1, 2}));
  EXPECT_EQ(graph.blocks[1].predecessors, (List{0}));
}

TEST(ControlFlow, ATargetOutsideTheFunctionEndsThePath) {
  const auto graph = graph_for("@P0 BRA elsewhere\nBRA elsewhere\nEXIT");
  ASSERT_EQ(graph.blocks.size(), 3u);
  EXPECT_EQ(graph.blocks[0].successors, (List{1}));
  EXPECT_EQ(graph.blocks[1].successors, (List{}));
  auto between = test::code("BRA here\nhere: EXIT");
  between[0].target = 17;
  EXPECT_EQ(ControlFlowGraph::build(between).blocks[0].successors, (List{}));
  between[0].target.reset();
  EXPECT_EQ(ControlFlowGraph::build(between).blocks[0].successors, (List{}));
}

TEST(ControlFlow, PaddingBehindTheEndIsUnreachable) {
  const auto graph = graph_for(R"(
          EXIT
    trap: BRA trap
          NOP
          NOP)");
  ASSERT_EQ(graph.blocks.size(), 3u);
  EXPECT_EQ(graph.blocks[0].successors, (List{}));
  EXPECT_EQ(graph.blocks[1].successors, (List{1}));
  EXPECT_EQ(graph.blocks[2].successors, (List{}));
}

TEST(ControlFlow, UnknownTargetsAreTheCodeThatNothingElseReaches) {
  const auto graph = graph_for(R"(
          BRX <- R0
          MOV R1
      @P0 BRA same
          EXIT
    same: EXIT
          BRX <- R1
          MOV R2
          EXIT
    trap: BRA trap)");
  ASSERT_EQ(graph.blocks.size(), 7u);
  EXPECT_EQ(graph.blocks[0].successors, (List{1, 4}));
  EXPECT_EQ(graph.blocks[4].successors, (List{5}));
  EXPECT_EQ(graph.blocks[6].predecessors, (List{6}));
}

TEST(ControlFlow, AnUnknownBranchMayLeadBackwards) {
  const auto graph = graph_for(R"(
          BRA start
    case: EXIT
   start: BRX <- R0)");
  EXPECT_EQ(graph.blocks[2].successors, (List{1}));
}

TEST(ControlFlow, ManyUnknownBranchesMakeFewEdges) {
  const auto graph = ControlFlowGraph::build(std::vector<Instruction>(
      20'000, Instruction{.opcode = "BRX", .flow = Flow::indirect_branch}));
  size_t edges = 0;
  for (const Block& block : graph.blocks) edges += block.successors.size();
  EXPECT_EQ(edges, 19'999u);
}

TEST(ControlFlow, ALongStraightLineIsOneBlock) {
  std::vector<Instruction> line(50'000);
  for (size_t i = 0; i < line.size(); ++i) line[i].offset = i * 16;
  const auto graph = ControlFlowGraph::build(line);
  ASSERT_EQ(graph.blocks.size(), 1u);
  EXPECT_EQ(graph.blocks[0].last, 49'999u);
}

}  // namespace
}  // namespace fathom
