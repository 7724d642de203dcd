#include "flow/paths.h"

#include <algorithm>
#include <functional>

namespace fathom {
namespace {

uint32_t size_of(const Block& block) {
  return block.last - block.first + 1;
}

/// Marks on blocks that are dropped all at once, so that a query costs what it visits.
class Marks {
 public:
  void reset(size_t count) {
    if (epoch_of_.size() < count) epoch_of_.resize(count, 0);
    if (++epoch_ == 0) {
      std::fill(epoch_of_.begin(), epoch_of_.end(), 0);
      epoch_ = 1;
    }
  }
  bool has(uint32_t block) const { return epoch_of_[block] == epoch_; }
  /// False if it was there already.
  bool add(uint32_t block) {
    if (has(block)) return false;
    epoch_of_[block] = epoch_;
    return true;
  }

 private:
  uint32_t epoch_ = 0;
  std::vector<uint32_t> epoch_of_;
};

struct Frame {
  uint32_t block;
  size_t next;  ///< position among its successors
};
struct Arrival {
  uint32_t length, block;
  auto operator<=>(const Arrival&) const = default;
};

/// Memory of the queries of one thread.
struct Scratch {
  Marks between, visited, finished;
  std::vector<uint32_t> open;
  std::vector<Frame> frames;
  std::vector<Arrival> heap;
  std::vector<uint32_t> longest;
};
Scratch& scratch() {
  static thread_local Scratch memory;
  return memory;
}

/// Paths from the end of block `from` to the start of block `to` through neither of them. Lengths
/// are instructions of the blocks in between.
class PathSearch {
 public:
  PathSearch(const ControlFlowGraph& graph, uint32_t from, uint32_t to)
      : graph_(graph), from_(from), to_(to), memory_(scratch()) {}

  /// Finds the blocks that lead to `to`; false if no path starts at `from`. Must come first.
  bool mark_between() {
    memory_.between.reset(graph_.blocks.size());
    memory_.open.assign(1, to_);
    bool found = false;
    while (!memory_.open.empty()) {
      const uint32_t block = memory_.open.back();
      memory_.open.pop_back();
      for (uint32_t predecessor : graph_.blocks[block].predecessors) {
        if (predecessor == from_) {
          found = true;
        } else if (predecessor != to_ && memory_.between.add(predecessor)) {
          memory_.open.push_back(predecessor);
        }
      }
    }
    return found;
  }

  /// Dijkstra's algorithm.
  uint32_t shortest() {
    auto& heap = memory_.heap;
    const auto push = [&](uint32_t length, uint32_t block) {
      if (!leads_to_end(block)) return;
      heap.push_back({length, block});
      std::push_heap(heap.begin(), heap.end(), std::greater<>());
    };
    heap.clear();
    memory_.visited.reset(graph_.blocks.size());
    for (uint32_t successor : graph_.blocks[from_].successors) push(0, successor);
    while (heap.front().block != to_) {
      const Arrival arrival = heap.front();
      std::pop_heap(heap.begin(), heap.end(), std::greater<>());
      heap.pop_back();
      if (!memory_.visited.add(arrival.block)) continue;
      const Block& block = graph_.blocks[arrival.block];
      for (uint32_t successor : block.successors) push(arrival.length + size_of(block), successor);
    }
    return heap.front().length;
  }

  /// Depth first; a block is complete once all its successors are, save those that are still open:
  /// the edges to them lead back.
  uint32_t longest() {
    memory_.visited.reset(graph_.blocks.size());
    memory_.finished.reset(graph_.blocks.size());
    if (memory_.longest.size() < graph_.blocks.size()) memory_.longest.resize(graph_.blocks.size());
    auto& frames = memory_.frames;
    frames.assign(1, {from_, 0});
    uint32_t result = 0;
    while (!frames.empty()) {
      const uint32_t current = frames.back().block;
      const auto& successors = graph_.blocks[current].successors;
      if (frames.back().next == successors.size()) {
        frames.pop_back();
        result = best_successor(current);
        if (result == kNoPath) continue;
        memory_.longest[current] = result + size_of(graph_.blocks[current]);
        memory_.finished.add(current);
        continue;
      }
      const uint32_t successor = successors[frames.back().next++];
      if (successor != to_ && leads_to_end(successor) && memory_.visited.add(successor)) {
        frames.push_back({successor, 0});
      }
    }
    return result;
  }

 private:
  static constexpr uint32_t kNoPath = 0xffffffffu;

  bool leads_to_end(uint32_t block) const { return block == to_ || memory_.between.has(block); }

  uint32_t best_successor(uint32_t block) const {
    uint32_t best = kNoPath;
    for (uint32_t successor : graph_.blocks[block].successors) {
      const bool at_end = successor == to_;
      if (!at_end && !(leads_to_end(successor) && memory_.finished.has(successor))) continue;
      const uint32_t length = at_end ? 0 : memory_.longest[successor];
      best = best == kNoPath ? length : std::max(best, length);
    }
    return best;
  }

  const ControlFlowGraph& graph_;
  uint32_t from_, to_;
  Scratch& memory_;
};

}  // namespace

std::optional<PathLengths> path_lengths(const ControlFlowGraph& graph, uint32_t producer,
                                        uint32_t consumer) {
  const uint32_t from = graph.block_of[producer], to = graph.block_of[consumer];
  if (from == to && producer < consumer)
    return PathLengths{consumer - producer, consumer - producer};
  PathSearch search(graph, from, to);
  if (!search.mark_between()) return std::nullopt;
  const uint32_t ends =
      (graph.blocks[from].last - producer) + (consumer - graph.blocks[to].first + 1);
  return PathLengths{ends + search.shortest(), ends + search.longest()};
}

bool on_every_path(const ControlFlowGraph& graph, uint32_t from, uint32_t via, uint32_t to) {
  if (via == from || via == to) return false;
  const uint32_t start = graph.block_of[from], cut = graph.block_of[via], end = graph.block_of[to];
  const bool straight_to_end = start == end && from < to;
  if (start == cut && from < via) return !straight_to_end || via < to;
  if (straight_to_end) return false;

  const bool cut_before_end = cut == end && via < to;
  Scratch& memory = scratch();
  memory.visited.reset(graph.blocks.size());
  memory.open.assign(1, start);
  while (!memory.open.empty()) {
    const uint32_t block = memory.open.back();
    memory.open.pop_back();
    for (uint32_t successor : graph.blocks[block].successors) {
      if (successor == end && !cut_before_end) return false;
      if (successor != cut && memory.visited.add(successor)) memory.open.push_back(successor);
    }
  }
  return true;
}

}  // namespace fathom
