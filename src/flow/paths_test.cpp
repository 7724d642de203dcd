#include "flow/paths.h"

#include <gtest/gtest.h>

#include "flow/test_code.h"

namespace fathom {
namespace {

std::pair<uint32_t, uint32_t> lengths(const ControlFlowGraph& graph, uint32_t producer,
                                      uint32_t consumer) {
  const auto found = path_lengths(graph, producer, consumer);
  return found ? std::pair(found->shortest, found->longest) : std::pair(0u, 0u);
}
using Pair = std::pair<uint32_t, uint32_t>;

TEST(PathLengths, NeighboursHaveDistanceOne) {
  const auto graph = test::graph_of(1, {}, {10});
  EXPECT_EQ(lengths(graph, 3, 4), Pair(1, 1));
  EXPECT_EQ(lengths(graph, 0, 9), Pair(9, 9));
  EXPECT_FALSE(path_lengths(graph, 4, 3));
  EXPECT_FALSE(path_lengths(graph, 4, 4));
}

TEST(PathLengths, DifferBetweenTheSidesOfADiamond) {
  const auto graph = test::graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {2, 3, 7, 2});
  EXPECT_EQ(lengths(graph, 1, 12), Pair(4, 8));
  EXPECT_EQ(lengths(graph, 0, 13), Pair(6, 10));
  EXPECT_EQ(lengths(graph, 2, 12), Pair(3, 3));
  EXPECT_FALSE(path_lengths(graph, 2, 5));
}

// A loop of blocks 1 and 2 (two instructions each) between 0 and 3.
TEST(PathLengths, GoOnceAroundALoopForAConsumerBeforeTheProducer) {
  const auto graph = test::graph_of(4, {{0, 1}, {1, 2}, {2, 1}, {2, 3}}, {2, 2, 2, 2});
  EXPECT_EQ(lengths(graph, 5, 2), Pair(1, 1));
  EXPECT_EQ(lengths(graph, 5, 4), Pair(3, 3));
  EXPECT_EQ(lengths(graph, 4, 4), Pair(4, 4));
  EXPECT_EQ(lengths(graph, 2, 3), Pair(1, 1)) << "not around the loop: that passes the producer";
  EXPECT_EQ(lengths(graph, 0, 7), Pair(7, 7));
}

TEST(PathLengths, ALoopBetweenCountsOnce) {
  // 0 -> 1 -> (2 -> 1 | 3), the loop being 1 and 2.
  const auto graph = test::graph_of(4, {{0, 1}, {1, 2}, {2, 1}, {1, 3}}, {1, 1, 50, 1});
  EXPECT_EQ(lengths(graph, 0, 52), Pair(2, 2));
  EXPECT_EQ(lengths(graph, 1, 52), Pair(1, 1));
  EXPECT_EQ(lengths(graph, 2, 52), Pair(51, 51));
}

TEST(PathLengths, AreFoundThroughIrreducibleCode) {
  const auto graph = test::graph_of(4, {{0, 1}, {0, 2}, {1, 2}, {2, 1}, {2, 3}}, {1, 5, 1, 1});
  EXPECT_EQ(lengths(graph, 0, 7), Pair(2, 7));
}

/// All paths without a repeated block, one by one.
struct Enumeration {
  const ControlFlowGraph& graph;
  uint32_t start, end;
  std::vector<bool> on_path = std::vector<bool>(graph.blocks.size(), false);
  uint32_t shortest = 0xffffffffu, longest = 0;
  bool any = false;

  void visit(uint32_t block, uint32_t length) {
    for (uint32_t successor : graph.blocks[block].successors) {
      if (successor == end) {
        any = true;
        shortest = std::min(shortest, length);
        longest = std::max(longest, length);
      } else if (successor != start && !on_path[successor]) {
        const Block& next = graph.blocks[successor];
        on_path[successor] = true;
        visit(successor, length + next.last - next.first + 1);
        on_path[successor] = false;
      }
    }
  }
};

/// No cycle is left among the blocks other than `start` and `end` once edges to dominators, seen
/// from `start`, are gone.
bool reducible_between(const ControlFlowGraph& graph, uint32_t start, uint32_t end) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  // Block 0 of a graph is its entry: swap it with `start`.
  const auto renamed = [&](uint32_t block) {
    return block == 0 ? start : block == start ? 0 : block;
  };
  for (uint32_t from = 0; from < graph.blocks.size(); ++from) {
    for (uint32_t to : graph.blocks[from].successors) {
      if (to != start && (from != end || from == start))
        edges.push_back({renamed(from), renamed(to)});
    }
  }
  const auto seen = test::graph_of(static_cast<uint32_t>(graph.blocks.size()), edges);
  const auto nest = LoopNest::build(seen, DominatorTree::build(seen));
  return std::none_of(nest.loops.begin(), nest.loops.end(),
                      [](const Loop& loop) { return loop.irreducible; });
}

TEST(PathLengths, AgreeWithEnumerationInRandomGraphs) {
  std::mt19937 random(3);
  int exact = 0, irreducible = 0;
  for (int round = 0; round < 3000; ++round) {
    const auto graph = test::random_graph(random, 1 + random() % 10);
    const auto count = static_cast<uint32_t>(graph.block_of.size());
    const uint32_t producer = random() % count, consumer = random() % count;
    const uint32_t from = graph.block_of[producer], to = graph.block_of[consumer];
    if (from == to && producer < consumer) continue;
    Enumeration all{graph, from, to};
    all.visit(from, 0);
    const auto found = path_lengths(graph, producer, consumer);
    ASSERT_EQ(found.has_value(), all.any) << round;
    if (!found) continue;
    const uint32_t ends =
        graph.blocks[from].last - producer + consumer - graph.blocks[to].first + 1;
    ASSERT_EQ(found->shortest, all.shortest + ends) << round;
    ASSERT_LE(found->longest, all.longest + ends) << round;
    ASSERT_GE(found->longest, found->shortest) << round;
    if (reducible_between(graph, from, to)) {
      ASSERT_EQ(found->longest, all.longest + ends) << round;
      ++exact;
    } else {
      ++irreducible;
    }
  }
  EXPECT_GT(exact, 500);
  EXPECT_GT(irreducible, 20);
}

TEST(PathLengths, OfALongChainNeedNoRecursion) {
  const uint32_t count = 50'000;
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (uint32_t i = 0; i + 1 < count; ++i) edges.push_back({i, i + 1});
  for (uint32_t i = 0; i + 2 < count; ++i) edges.push_back({i, i + 2});
  const auto graph = test::graph_of(count, edges);
  EXPECT_EQ(lengths(graph, 0, count - 1), Pair(count / 2, count - 1));
}

TEST(OnEveryPath, WithinABlock) {
  const auto graph = test::graph_of(1, {}, {10});
  EXPECT_TRUE(on_every_path(graph, 2, 5, 8));
  EXPECT_FALSE(on_every_path(graph, 2, 9, 8));
  EXPECT_FALSE(on_every_path(graph, 2, 1, 8));
  EXPECT_FALSE(on_every_path(graph, 2, 2, 8));
  EXPECT_FALSE(on_every_path(graph, 2, 8, 8));
}

TEST(OnEveryPath, ThroughADiamond) {
  const auto graph = test::graph_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}, {2, 1, 1, 2});
  EXPECT_FALSE(on_every_path(graph, 0, 2, 4));
  EXPECT_FALSE(on_every_path(graph, 0, 3, 4));
  EXPECT_TRUE(on_every_path(graph, 0, 1, 4));
  EXPECT_TRUE(on_every_path(graph, 0, 4, 5));
  EXPECT_TRUE(on_every_path(graph, 4, 0, 2)) << "there is no path";
}

TEST(OnEveryPath, AroundALoop) {
  const auto graph = test::graph_of(3, {{0, 1}, {1, 1}, {1, 2}}, {1, 4, 1});
  EXPECT_TRUE(on_every_path(graph, 3, 4, 1)) << "behind the producer";
  EXPECT_TRUE(on_every_path(graph, 3, 1, 2)) << "before the consumer, next time around";
  EXPECT_FALSE(on_every_path(graph, 3, 2, 1)) << "between consumer and producer";
  EXPECT_TRUE(on_every_path(graph, 3, 1, 3));
}

/// Whether `to` can be reached from `from`, instruction by instruction, without `via`.
bool avoidable(const ControlFlowGraph& graph, uint32_t from, uint32_t via, uint32_t to) {
  std::vector<std::pair<uint32_t, uint32_t>> edges;
  for (const Block& block : graph.blocks) {
    for (uint32_t i = block.first; i < block.last; ++i) edges.push_back({i, i + 1});
    for (uint32_t successor : block.successors) {
      edges.push_back({block.last, graph.blocks[successor].first});
    }
  }
  const auto single = test::graph_of(static_cast<uint32_t>(graph.block_of.size()), edges);
  for (uint32_t next : single.blocks[from].successors) {
    if (test::reachable_from(single, next, via)[to]) return true;
  }
  return false;
}

TEST(OnEveryPath, AgreesWithRemovingTheInstructionInRandomGraphs) {
  std::mt19937 random(4);
  int unavoidable = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto graph = test::random_graph(random, 1 + random() % 7);
    const auto count = static_cast<uint32_t>(graph.block_of.size());
    const uint32_t from = random() % count, via = random() % count, to = random() % count;
    if (via == from || via == to) continue;
    const bool expected = !avoidable(graph, from, via, to);
    ASSERT_EQ(on_every_path(graph, from, via, to), expected)
        << round << ": " << from << ' ' << via << ' ' << to;
    unavoidable += expected;
  }
  EXPECT_GT(unavoidable, 500);
}

}  // namespace
}  // namespace fathom
