// "A Simple, Fast Dominance Algorithm", K. Cooper, T. Harvey, K. Kennedy, 2001.

#include <algorithm>

#include "flow/control_flow.h"

namespace fathom {
namespace {

/// Reachable blocks, each before its successors apart from back edges.
std::vector<uint32_t> reverse_postorder(const ControlFlowGraph& graph) {
  struct Frame {
    uint32_t block;
    size_t next;
  };
  std::vector<uint32_t> order;
  if (graph.blocks.empty()) return order;
  std::vector<bool> visited(graph.blocks.size(), false);
  std::vector<Frame> frames{{0, 0}};
  visited[0] = true;
  while (!frames.empty()) {
    const Block& block = graph.blocks[frames.back().block];
    if (frames.back().next == block.successors.size()) {
      order.push_back(frames.back().block);
      frames.pop_back();
      continue;
    }
    const uint32_t successor = block.successors[frames.back().next++];
    if (visited[successor]) continue;
    visited[successor] = true;
    frames.push_back({successor, 0});
  }
  std::reverse(order.begin(), order.end());
  return order;
}

/// Immediate dominators as positions in `order`; the entry's is itself.
std::vector<uint32_t> immediate_positions(const ControlFlowGraph& graph,
                                          const std::vector<uint32_t>& order,
                                          const std::vector<uint32_t>& position) {
  std::vector<uint32_t> immediate(order.size(), kNoBlock);
  immediate[0] = 0;
  const auto intersect = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (a > b) a = immediate[a];
      while (b > a) b = immediate[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t i = 1; i < order.size(); ++i) {
      uint32_t best = kNoBlock;
      for (uint32_t predecessor : graph.blocks[order[i]].predecessors) {
        const uint32_t at = position[predecessor];
        if (at == kNoBlock || immediate[at] == kNoBlock) continue;
        best = best == kNoBlock ? at : intersect(best, at);
      }
      if (immediate[i] == best) continue;
      immediate[i] = best;
      changed = true;
    }
  }
  return immediate;
}

}  // namespace

DominatorTree DominatorTree::build(const ControlFlowGraph& graph) {
  DominatorTree tree;
  const size_t count = graph.blocks.size();
  tree.immediate.assign(count, kNoBlock);
  tree.enter.assign(count, kNoBlock);
  tree.leave.assign(count, kNoBlock);
  if (count == 0) return tree;

  const std::vector<uint32_t> order = reverse_postorder(graph);
  std::vector<uint32_t> position(count, kNoBlock);
  for (uint32_t i = 0; i < order.size(); ++i) position[order[i]] = i;
  const std::vector<uint32_t> immediate = immediate_positions(graph, order, position);

  // A dominator stands before what it dominates, so sizes of subtrees add up from the back and
  // preorder numbers are given out from the front.
  std::vector<uint32_t> size(order.size(), 1), next(order.size(), 0);
  for (size_t i = order.size(); --i > 0;) size[immediate[i]] += size[i];
  for (uint32_t i = 0; i < order.size(); ++i) {
    const uint32_t block = order[i];
    const uint32_t number = i == 0 ? 0 : next[immediate[i]];
    if (i > 0) {
      next[immediate[i]] += size[i];
      tree.immediate[block] = order[immediate[i]];
    }
    next[i] = number + 1;
    tree.enter[block] = number;
    tree.leave[block] = number + size[i] - 1;
  }
  return tree;
}

bool DominatorTree::dominates(uint32_t a, uint32_t b) const {
  return reachable(a) && reachable(b) && enter[a] <= enter[b] && enter[b] <= leave[a];
}

}  // namespace fathom
