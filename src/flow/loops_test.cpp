#include <gtest/gtest.h>

#include <set>

#include "flow/test_code.h"

namespace fathom {
namespace {

using List = std::vector<uint32_t>;

LoopNest loops_of(const ControlFlowGraph& graph) {
  return LoopNest::build(graph, DominatorTree::build(graph));
}

TEST(Loops, NoneWithoutCycles) {
  EXPECT_TRUE(loops_of(ControlFlowGraph{}).loops.empty());
  const auto nest = loops_of(test::graph_of(3, {{0, 1}, {0, 2}, {1, 2}}));
  EXPECT_TRUE(nest.loops.empty());
  EXPECT_EQ(nest.innermost, (List{kNoBlock, kNoBlock, kNoBlock}));
  EXPECT_FALSE(nest.contains(kNoBlock, 0));
}

TEST(Loops, ABlockThatJumpsToItselfIsOne) {
  const auto nest = loops_of(test::graph_of(3, {{0, 1}, {1, 1}, {1, 2}}));
  ASSERT_EQ(nest.loops.size(), 1u);
  EXPECT_EQ(nest.loops[0].header, 1u);
  EXPECT_EQ(nest.loops[0].blocks, (List{1}));
  EXPECT_EQ(nest.loops[0].latches, (List{1}));
  EXPECT_FALSE(nest.loops[0].irreducible);
}

TEST(Loops, TheEntryCanBeAHeader) {
  const auto nest = loops_of(test::graph_of(2, {{0, 0}, {0, 1}}));
  ASSERT_EQ(nest.loops.size(), 1u);
  EXPECT_EQ(nest.loops[0].header, 0u);
}

TEST(Loops, NestFromTheOutsideIn) {
  // 1 { 2 { 3 } 4 { 4 } 5 } 6
  const auto nest = loops_of(
      test::graph_of(7, {{0, 1}, {1, 2}, {2, 3}, {3, 2}, {3, 4}, {4, 4}, {4, 5}, {5, 1}, {5, 6}}));
  ASSERT_EQ(nest.loops.size(), 3u);
  EXPECT_EQ(nest.loops[0].blocks, (List{1, 2, 3, 4, 5}));
  EXPECT_EQ(nest.loops[0].parent, kNoBlock);
  EXPECT_EQ(nest.loops[1].blocks, (List{2, 3}));
  EXPECT_EQ(nest.loops[1].parent, 0u);
  EXPECT_EQ(nest.loops[1].depth, 2u);
  EXPECT_EQ(nest.loops[2].header, 4u);
  EXPECT_EQ(nest.innermost, (List{kNoBlock, 0, 1, 1, 2, 0, kNoBlock}));
  EXPECT_TRUE(nest.contains(0, 3));
  EXPECT_FALSE(nest.contains(1, 4));
}

TEST(Loops, TwoLatchesMakeOneLoop) {
  const auto nest = loops_of(test::graph_of(5, {{0, 1}, {1, 2}, {1, 3}, {2, 1}, {3, 1}, {3, 4}}));
  ASSERT_EQ(nest.loops.size(), 1u);
  EXPECT_EQ(nest.loops[0].blocks, (List{1, 2, 3}));
  EXPECT_EQ(nest.loops[0].latches, (List{2, 3}));
}

TEST(Loops, ARegionWithTwoEntriesIsIrreducible) {
  const auto nest = loops_of(test::graph_of(4, {{0, 2}, {0, 1}, {1, 2}, {2, 1}, {2, 3}}));
  ASSERT_EQ(nest.loops.size(), 1u);
  EXPECT_TRUE(nest.loops[0].irreducible);
  EXPECT_EQ(nest.loops[0].header, 1u);
  EXPECT_EQ(nest.loops[0].latches, (List{2}));
}

TEST(Loops, AnEntryOfAnIrreducibleRegionCanHeadALoopOfItsOwn) {
  // 1 and 2 jump to each other and are both entered; 1 and 3 are a natural loop.
  const auto nest =
      loops_of(test::graph_of(5, {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {1, 3}, {3, 1}, {2, 4}}));
  ASSERT_EQ(nest.loops.size(), 2u);
  EXPECT_TRUE(nest.loops[0].irreducible);
  EXPECT_EQ(nest.loops[0].blocks, (List{1, 2, 3}));
  EXPECT_FALSE(nest.loops[1].irreducible);
  EXPECT_EQ(nest.loops[1].header, 1u);
  EXPECT_EQ(nest.loops[1].blocks, (List{1, 3}));
  EXPECT_EQ(nest.loops[1].parent, 0u);
}

TEST(Loops, UnreachableCodeHasNone) {
  const auto nest = loops_of(test::graph_of(3, {{1, 1}, {1, 2}, {2, 2}}));
  EXPECT_TRUE(nest.loops.empty());
}

TEST(Loops, AJumpFromUnreachableCodeIsNoSecondEntry) {
  const auto nest = loops_of(test::graph_of(4, {{0, 1}, {1, 2}, {2, 1}, {3, 2}}));
  ASSERT_EQ(nest.loops.size(), 1u);
  EXPECT_FALSE(nest.loops[0].irreducible);
}

/// The natural loop of a header: its latches and all that reaches them without it.
List natural_loop(const ControlFlowGraph& graph, const DominatorTree& tree, uint32_t header) {
  std::set<uint32_t> blocks;
  List open;
  for (uint32_t latch : graph.blocks[header].predecessors) {
    if (tree.dominates(header, latch)) open.push_back(latch);
  }
  if (open.empty()) return {};
  blocks.insert(header);
  while (!open.empty()) {
    const uint32_t block = open.back();
    open.pop_back();
    if (!blocks.insert(block).second) continue;
    for (uint32_t predecessor : graph.blocks[block].predecessors) {
      if (tree.reachable(predecessor)) open.push_back(predecessor);
    }
  }
  return {blocks.begin(), blocks.end()};
}

void check_nesting(const LoopNest& nest) {
  for (uint32_t i = 0; i < nest.loops.size(); ++i) {
    const Loop& loop = nest.loops[i];
    EXPECT_TRUE(std::is_sorted(loop.blocks.begin(), loop.blocks.end()));
    EXPECT_FALSE(loop.latches.empty());
    if (loop.parent == kNoBlock) continue;
    const Loop& parent = nest.loops[loop.parent];
    EXPECT_LT(loop.parent, i);
    EXPECT_EQ(loop.depth, parent.depth + 1);
    EXPECT_LT(loop.blocks.size(), parent.blocks.size());
    EXPECT_TRUE(std::includes(parent.blocks.begin(), parent.blocks.end(), loop.blocks.begin(),
                              loop.blocks.end()));
  }
  for (uint32_t block = 0; block < nest.innermost.size(); ++block) {
    uint32_t smallest = kNoBlock;
    for (uint32_t i = 0; i < nest.loops.size(); ++i) {
      const bool smaller =
          smallest == kNoBlock || nest.loops[i].blocks.size() < nest.loops[smallest].blocks.size();
      if (nest.contains(i, block) && smaller) smallest = i;
    }
    EXPECT_EQ(nest.innermost[block], smallest);
  }
}

TEST(Loops, AgreeWithTheDefinitionInRandomGraphs) {
  std::mt19937 random(2);
  int irreducible = 0;
  for (int round = 0; round < 2000; ++round) {
    const uint32_t count = 1 + random() % 14;
    const auto graph = test::random_graph(random, count);
    const auto tree = DominatorTree::build(graph);
    const auto nest = LoopNest::build(graph, tree);
    SCOPED_TRACE(round);
    check_nesting(nest);
    std::set<List> natural, found;
    for (uint32_t header = 0; header < count; ++header) {
      const List blocks = tree.reachable(header) ? natural_loop(graph, tree, header) : List{};
      if (!blocks.empty()) natural.insert(blocks);
    }
    for (const Loop& loop : nest.loops) {
      if (!loop.irreducible) {
        EXPECT_EQ(loop.blocks, natural_loop(graph, tree, loop.header));
        found.insert(loop.blocks);
        continue;
      }
      ++irreducible;
      // Its blocks reach each other, and no single one of them dominates the rest.
      for (uint32_t block : loop.blocks) {
        const auto reached = test::reachable_from(graph, block);
        for (uint32_t other : loop.blocks) {
          EXPECT_TRUE(reached[other]);
          if (block != other) {
            EXPECT_FALSE(tree.dominates(block, loop.blocks.front()) &&
                         tree.dominates(block, loop.blocks.back()) &&
                         std::all_of(loop.blocks.begin(), loop.blocks.end(),
                                     [&](uint32_t b) { return tree.dominates(block, b); }));
          }
        }
      }
    }
    EXPECT_EQ(found, natural);
    // Whatever lies on a cycle is in a loop.
    for (uint32_t block = 0; block < count; ++block) {
      bool on_cycle = false;
      for (uint32_t successor : graph.blocks[block].successors) {
        on_cycle |= test::reachable_from(graph, successor)[block];
      }
      EXPECT_EQ(nest.innermost[block] != kNoBlock, on_cycle && tree.reachable(block));
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(irreducible, 100);
}

TEST(Loops, DeepNestsEndAtTheDeepestLevelThatIsToldApart) {
  const uint32_t levels = 3000;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i + 1 < 2 * levels; ++i) edges.push_back({i, i + 1});
  for (uint32_t i = 0; i < levels; ++i) edges.push_back({2 * levels - 1 - i, i});
  const auto nest = loops_of(test::graph_of(2 * levels, edges));
  ASSERT_EQ(nest.loops.size(), kMaxLoopDepth);
  EXPECT_EQ(nest.loops.back().header, kMaxLoopDepth - 1);
  EXPECT_EQ(nest.innermost[levels], kMaxLoopDepth - 1);
  EXPECT_EQ(nest.innermost[3], 3u);
}

}  // namespace
}  // namespace fathom
