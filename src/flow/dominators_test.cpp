#include <gtest/gtest.h>

#include "flow/test_code.h"

namespace fathom {
namespace {

TEST(Dominators, TakeNoBlocks) {
  EXPECT_TRUE(DominatorTree::build(ControlFlowGraph{}).immediate.empty());
}

TEST(Dominators, OfADiamond) {
  const auto tree = DominatorTree::build(test::graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
  EXPECT_EQ(tree.immediate, (std::vector<uint32_t>{kNoBlock, 0, 0, 0}));
  EXPECT_TRUE(tree.dominates(0, 3));
  EXPECT_TRUE(tree.dominates(3, 3));
  EXPECT_FALSE(tree.dominates(1, 3));
  EXPECT_FALSE(tree.dominates(3, 0));
}

// Figure 4 of Cooper, Harvey and Kennedy: an irreducible graph that needs several rounds.
TEST(Dominators, OfTheirAuthorsIrreducibleGraph) {
  const auto tree = DominatorTree::build(
      test::graph_of(6, {{0, 1}, {0, 2}, {1, 3}, {2, 4}, {2, 5}, {3, 4}, {4, 3}, {4, 5}, {5, 4}}));
  EXPECT_EQ(tree.immediate, (std::vector<uint32_t>{kNoBlock, 0, 0, 0, 0, 0}));
}

TEST(Dominators, UnreachableBlocksDominateNothing) {
  const auto tree = DominatorTree::build(test::graph_of(3, {{0, 2}, {1, 2}}));
  EXPECT_EQ(tree.immediate, (std::vector<uint32_t>{kNoBlock, kNoBlock, 0}));
  EXPECT_FALSE(tree.reachable(1));
  EXPECT_FALSE(tree.dominates(1, 1));
  EXPECT_FALSE(tree.dominates(0, 1));
  EXPECT_TRUE(tree.dominates(0, 2));
}

TEST(Dominators, AgreeWithRemovingEachBlockInRandomGraphs) {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    const uint32_t count = 1 + random() % 14;
    const auto graph = test::random_graph(random, count);
    const auto tree = DominatorTree::build(graph);
    const auto reachable = test::reachable_from(graph, 0);
    for (uint32_t a = 0; a < count; ++a) {
      const auto without = test::reachable_from(graph, 0, a);
      for (uint32_t b = 0; b < count; ++b) {
        ASSERT_EQ(tree.dominates(a, b), reachable[a] && reachable[b] && !without[b])
            << "round " << round << ", " << a << " over " << b;
        if (tree.immediate[b] == kNoBlock || a == b) continue;
        // The immediate dominator is the one that all the others dominate.
        ASSERT_TRUE(!tree.dominates(a, b) || tree.dominates(a, tree.immediate[b]));
      }
    }
  }
}

TEST(Dominators, OfALongChainNeedNoRecursion) {
  const uint32_t count = 50'000;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i + 1 < count; ++i) edges.push_back({i, i + 1});
  const auto tree = DominatorTree::build(test::graph_of(count, edges));
  EXPECT_EQ(tree.immediate[count - 1], count - 2);
  EXPECT_TRUE(tree.dominates(1, count - 1));
}

}  // namespace
}  // namespace fathom
