#include "flow/control_flow.h"

#include <algorithm>

namespace fathom {
namespace {

bool ends_block(const Instruction& instruction) {
  switch (instruction.flow) {
    case Flow::branch:
    case Flow::indirect_branch:
    case Flow::return_:
    case Flow::exit:
      return true;
    default:
      return false;
  }
}

/// BRA.DIV and BRA.CONV ask whether the warp has diverged; that condition is no register.
bool asks_for_divergence(const Instruction& instruction) {
  return instruction.opcode.find(".DIV") != std::string::npos ||
         instruction.opcode.find(".CONV") != std::string::npos;
}

bool falls_through(const Instruction& instruction) {
  if (!ends_block(instruction) || !instruction.guard.always) return true;
  if (instruction.flow != Flow::branch) return false;
  const bool reads_condition =
      std::any_of(instruction.uses.begin(), instruction.uses.end(),
                  [](Register reg) { return reg.file != RegisterFile::barrier; });
  return reads_condition || asks_for_divergence(instruction);
}

bool has_unknown_targets(const Instruction& instruction) {
  return instruction.flow == Flow::indirect_branch && instruction.table.empty();
}

class Builder {
 public:
  explicit Builder(std::span<const Instruction> instructions)
      : code_(instructions), seen_by_(instructions.size(), kNoBlock) {}

  ControlFlowGraph build() {
    if (code_.empty()) return {};
    split_into_blocks();
    for (uint32_t block = 0; block < graph_.blocks.size(); ++block) add_edges_of(block);
    guess_unknown_targets();
    // Edges are added both ways at once; only guessed ones come out of order.
    for (Block& block : graph_.blocks) {
      std::sort(block.predecessors.begin(), block.predecessors.end());
    }
    return std::move(graph_);
  }

 private:
  /// The index of the instruction at a byte offset; nothing outside the function or between two.
  std::optional<uint32_t> index_at(uint64_t offset) const {
    const auto at = std::lower_bound(
        code_.begin(), code_.end(), offset,
        [](const Instruction& instruction, uint64_t value) { return instruction.offset < value; });
    if (at == code_.end() || at->offset != offset) return std::nullopt;
    return static_cast<uint32_t>(at - code_.begin());
  }

  template <class Visit>
  void for_each_target(const Instruction& instruction, const Visit& visit) const {
    if (instruction.flow == Flow::branch && instruction.target) {
      if (const auto index = index_at(*instruction.target)) visit(*index);
    } else if (instruction.flow == Flow::indirect_branch) {
      for (uint64_t target : instruction.table) {
        if (const auto index = index_at(target)) visit(*index);
      }
    }
  }

  void split_into_blocks() {
    std::vector<bool> leader(code_.size() + 1, false);
    leader[0] = leader[code_.size()] = true;
    for (size_t i = 0; i < code_.size(); ++i) {
      if (ends_block(code_[i])) leader[i + 1] = true;
      for_each_target(code_[i], [&](uint32_t target) { leader[target] = true; });
    }
    graph_.block_of.resize(code_.size());
    for (uint32_t i = 0; i < code_.size(); ++i) {
      if (leader[i]) graph_.blocks.push_back({.first = i});
      graph_.blocks.back().last = i;
      graph_.block_of[i] = static_cast<uint32_t>(graph_.blocks.size() - 1);
    }
  }

  void add_edge(uint32_t from, uint32_t to) {
    graph_.blocks[from].successors.push_back(to);
    graph_.blocks[to].predecessors.push_back(from);
  }

  void add_edges_of(uint32_t block) {
    const auto add_once = [&](uint32_t to) {
      if (seen_by_[to] == block) return;
      seen_by_[to] = block;
      add_edge(block, to);
    };
    const Instruction& last = code_[graph_.blocks[block].last];
    if (falls_through(last) && block + 1 < graph_.blocks.size()) add_once(block + 1);
    for_each_target(last, [&](uint32_t target) { add_once(graph_.block_of[target]); });
  }

  void reach_from(uint32_t start) {
    std::vector<uint32_t> open{start};
    reached_[start] = true;
    while (!open.empty()) {
      const uint32_t block = open.back();
      open.pop_back();
      for (uint32_t successor : graph_.blocks[block].successors) {
        if (reached_[successor]) continue;
        reached_[successor] = true;
        open.push_back(successor);
      }
    }
  }

  bool is_trap(uint32_t block) const {
    const Block& candidate = graph_.blocks[block];
    return candidate.first == candidate.last &&
           candidate.successors == std::vector<uint32_t>{block};
  }

  void guess_unknown_targets() {
    const auto count = static_cast<uint32_t>(graph_.blocks.size());
    const auto is_source = [&](uint32_t block) {
      return reached_[block] && has_unknown_targets(code_[graph_.blocks[block].last]);
    };
    reached_.assign(count, false);
    reach_from(0);
    uint32_t source = 0;
    while (source < count && !is_source(source)) ++source;
    if (source == count) return;
    for (uint32_t block = 0; block < count; ++block) {
      if (!reached_[block] && !is_trap(block)) {
        add_edge(source, block);
        reach_from(block);
      }
      if (is_source(block)) source = block;
    }
  }

  std::span<const Instruction> code_;
  ControlFlowGraph graph_;
  std::vector<uint32_t> seen_by_;  ///< by block: the last block that got an edge to it
  std::vector<bool> reached_;
};

}  // namespace

ControlFlowGraph ControlFlowGraph::build(std::span<const Instruction> instructions) {
  return Builder(instructions).build();
}

}  // namespace fathom
