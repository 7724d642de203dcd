#pragma once
// Strongly connected components, for loops and call graphs.

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace fathom {

/// Tarjan's algorithm over parts of one graph, without recursion; memory is kept between runs.
class ComponentSearch {
 public:
  explicit ComponentSearch(uint32_t node_count) : order_(node_count), low_(node_count) {}

  /// The components of the subgraph of `nodes`, successors' components first. `successors(node)` is
  /// a span of nodes; `follow(from, to)` tells which edges count, and must be false for edges that
  /// leave `nodes`.
  template <class Successors, class Follow>
  std::vector<std::vector<uint32_t>> run(std::span<const uint32_t> nodes,
                                         const Successors& successors, const Follow& follow) {
    found_.clear();
    for (uint32_t node : nodes) order_[node] = kUnvisited;
    for (uint32_t node : nodes) {
      if (order_[node] == kUnvisited) search_from(node, successors, follow);
    }
    return std::move(found_);
  }

 private:
  static constexpr uint32_t kUnvisited = 0xffffffffu, kFinished = 0xfffffffeu;
  struct Frame {
    uint32_t node;
    size_t next;  ///< position among its successors
  };

  template <class Successors, class Follow>
  void search_from(uint32_t root, const Successors& successors, const Follow& follow) {
    uint32_t counter = 0;
    enter(root, counter);
    while (!frames_.empty()) {
      const uint32_t node = frames_.back().node;
      const std::span<const uint32_t> targets = successors(node);
      if (frames_.back().next == targets.size()) {
        leave(node);
        continue;
      }
      const uint32_t target = targets[frames_.back().next++];
      if (!follow(node, target)) continue;
      if (order_[target] == kUnvisited) {
        enter(target, counter);
      } else if (order_[target] != kFinished) {
        low_[node] = std::min(low_[node], order_[target]);
      }
    }
  }

  void enter(uint32_t node, uint32_t& counter) {
    order_[node] = low_[node] = counter++;
    open_.push_back(node);
    frames_.push_back({node, 0});
  }

  void leave(uint32_t node) {
    frames_.pop_back();
    if (!frames_.empty()) {
      uint32_t& low = low_[frames_.back().node];
      low = std::min(low, low_[node]);
    }
    if (low_[node] != order_[node]) return;
    const auto first = std::find(open_.rbegin(), open_.rend(), node).base() - 1;
    found_.emplace_back(first, open_.end());
    for (uint32_t member : found_.back()) order_[member] = kFinished;
    open_.erase(first, open_.end());
  }

  std::vector<uint32_t> order_, low_;
  std::vector<uint32_t> open_;  ///< visited nodes whose component is not complete yet
  std::vector<Frame> frames_;
  std::vector<std::vector<uint32_t>> found_;
};

}  // namespace fathom
