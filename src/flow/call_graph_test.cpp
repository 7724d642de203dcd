#include <gtest/gtest.h>

#include "flow/call_graph.h"

namespace fathom {
namespace {

TEST(CallGraph, PutsCalleesFirst) {
  const auto graph = CallGraph::build(4, {{0, 1, 7}, {0, 2, 3}, {1, 3, 1}, {2, 3, 1}});
  EXPECT_EQ(graph.component_count, 4u);
  EXPECT_LT(graph.component[3], graph.component[1]);
  EXPECT_LT(graph.component[3], graph.component[2]);
  EXPECT_LT(graph.component[1], graph.component[0]);
  ASSERT_EQ(graph.sites.size(), 4u);
  EXPECT_EQ(graph.sites[0].instruction, 3u);
  EXPECT_EQ(graph.sites[1].instruction, 7u);
  for (uint32_t function = 0; function < 4; ++function) EXPECT_FALSE(graph.recursive(function));
}

TEST(CallGraph, JoinsFunctionsThatCallEachOther) {
  const auto graph = CallGraph::build(5, {{0, 1, 0}, {1, 2, 0}, {2, 1, 0}, {2, 3, 1}, {4, 4, 0}});
  EXPECT_EQ(graph.component_count, 4u);
  EXPECT_EQ(graph.component[1], graph.component[2]);
  EXPECT_LT(graph.component[3], graph.component[1]);
  EXPECT_LT(graph.component[1], graph.component[0]);
  EXPECT_FALSE(graph.recursive(0));
  EXPECT_TRUE(graph.recursive(1));
  EXPECT_TRUE(graph.recursive(2));
  EXPECT_FALSE(graph.recursive(3));
  EXPECT_TRUE(graph.recursive(4));
}

TEST(CallGraph, LeavesOutFunctionsThatAreNotThere) {
  const auto graph = CallGraph::build(1, {{0, 1, 0}, {9, 0, 0}});
  EXPECT_TRUE(graph.sites.empty());
  EXPECT_EQ(graph.component_count, 1u);
  EXPECT_EQ(CallGraph::build(0, {}).component_count, 0u);
}

TEST(CallGraph, OfALongChainNeedsNoRecursion) {
  const uint32_t count = 100'000;
  std::vector<CallSite> sites;
  for (uint32_t i = 0; i + 1 < count; ++i) sites.push_back({i, i + 1, 0});
  const auto chain = CallGraph::build(count, sites);
  EXPECT_EQ(chain.component[0], count - 1);
  EXPECT_EQ(chain.component[count - 1], 0u);
  sites.push_back({count - 1, 0, 0});
  EXPECT_EQ(CallGraph::build(count, sites).component_count, 1u);
}

}  // namespace
}  // namespace fathom
