#include <algorithm>
#include <deque>

#include "flow/components.h"
#include "flow/control_flow.h"

namespace fathom {
namespace {

class LoopFinder {
 public:
  LoopFinder(const ControlFlowGraph& graph, const DominatorTree& dominators)
      : graph_(graph),
        dominators_(dominators),
        components_(static_cast<uint32_t>(graph.blocks.size())),
        region_of_(graph.blocks.size(), kNoBlock),
        irreducible_entry_(graph.blocks.size(), false) {}

  LoopNest find() {
    nest_.innermost.assign(graph_.blocks.size(), kNoBlock);
    Region whole;
    for (uint32_t block = 0; block < graph_.blocks.size(); ++block) {
      if (dominators_.reachable(block)) whole.blocks.push_back(block);
    }
    regions_.push_back(std::move(whole));
    for (uint32_t id = 0; !regions_.empty(); ++id) {
      const Region region = std::move(regions_.front());
      regions_.pop_front();
      search(region, id);
    }
    return std::move(nest_);
  }

 private:
  /// Blocks among which the loops of the next depth are looked for. Pending regions are disjoint.
  struct Region {
    std::vector<uint32_t> blocks;
    uint32_t parent = kNoBlock;  ///< loop
  };

  void search(const Region& region, uint32_t id) {
    for (uint32_t block : region.blocks) region_of_[block] = id;
    const auto successors = [&](uint32_t block) {
      return std::span<const uint32_t>(graph_.blocks[block].successors);
    };
    const auto follow = [&](uint32_t from, uint32_t to) {
      return region_of_[to] == id && (!irreducible_entry_[to] || dominators_.dominates(to, from));
    };
    auto found = components_.run(region.blocks, successors, follow);
    std::erase_if(found, [&](const auto& blocks) {
      return blocks.size() == 1 && !jumps_to(blocks[0], blocks[0]);
    });
    for (auto& blocks : found) std::sort(blocks.begin(), blocks.end());
    std::sort(found.begin(), found.end());
    for (auto& blocks : found) add_loop(std::move(blocks), region.parent);
  }

  bool jumps_to(uint32_t from, uint32_t to) const {
    const auto& successors = graph_.blocks[from].successors;
    return std::find(successors.begin(), successors.end(), to) != successors.end();
  }

  void add_loop(std::vector<uint32_t> blocks, uint32_t parent) {
    const auto index = static_cast<uint32_t>(nest_.loops.size());
    for (uint32_t block : blocks) nest_.innermost[block] = index;
    const std::vector<uint32_t> entries = entries_of(index, blocks);

    Loop loop;
    loop.parent = parent;
    loop.depth = parent == kNoBlock ? 1 : nest_.loops[parent].depth + 1;
    loop.irreducible = entries.size() > 1;
    loop.header = loop.irreducible ? blocks.front() : entries.front();
    for (uint32_t block : graph_.blocks[loop.header].predecessors) {
      if (nest_.innermost[block] == index) loop.latches.push_back(block);
    }
    loop.blocks = std::move(blocks);

    if (loop.depth < kMaxLoopDepth) look_inside(loop, entries, index);
    nest_.loops.push_back(std::move(loop));
  }

  /// The blocks where control comes in from outside. Called while `innermost` names this loop for
  /// all of its blocks.
  std::vector<uint32_t> entries_of(uint32_t loop, const std::vector<uint32_t>& blocks) const {
    std::vector<uint32_t> entries;
    for (uint32_t block : blocks) {
      const auto& from = graph_.blocks[block].predecessors;
      const bool entered = std::any_of(from.begin(), from.end(), [&](uint32_t predecessor) {
        return dominators_.reachable(predecessor) && nest_.innermost[predecessor] != loop;
      });
      if (entered || block == 0) entries.push_back(block);
    }
    return entries;
  }

  void look_inside(const Loop& loop, const std::vector<uint32_t>& entries, uint32_t index) {
    Region inside{loop.blocks, index};
    if (loop.irreducible) {
      for (uint32_t entry : entries) irreducible_entry_[entry] = true;
    } else {
      std::erase(inside.blocks, loop.header);
    }
    if (!inside.blocks.empty()) regions_.push_back(std::move(inside));
  }

  const ControlFlowGraph& graph_;
  const DominatorTree& dominators_;
  ComponentSearch components_;
  std::deque<Region> regions_;
  std::vector<uint32_t> region_of_;      ///< by block: the last region searched that holds it
  std::vector<bool> irreducible_entry_;  ///< by block: follow only edges from what it dominates
  LoopNest nest_;
};

}  // namespace

LoopNest LoopNest::build(const ControlFlowGraph& graph, const DominatorTree& dominators) {
  return LoopFinder(graph, dominators).find();
}

bool LoopNest::contains(uint32_t loop, uint32_t block) const {
  if (loop >= loops.size()) return false;
  return std::binary_search(loops[loop].blocks.begin(), loops[loop].blocks.end(), block);
}

}  // namespace fathom
