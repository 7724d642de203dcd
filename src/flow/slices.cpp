#include "flow/slices.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace fathom {
namespace {

/// So many different unions of predicates are told apart at the end of one block.
constexpr size_t kMaxCoversPerBlock = 16;

/// One bit for each predicate register; 0 for what is none, or is beyond any known machine.
uint32_t bit_of(Register reg) {
  if (reg.index >= 16) return 0;
  if (reg.file == RegisterFile::predicate) return 1u << reg.index;
  if (reg.file == RegisterFile::uniform_predicate) return 1u << (16 + reg.index);
  return 0;
}

/// The union of the predicates of the definitions found on the way back from a use, as far as those
/// still have the value that they had for these definitions.
struct Cover {
  uint32_t positive = 0, negative = 0;
  bool guard_changed = false;  ///< the predicate of the use had another value here

  /// Whatever is found behind `other` is found behind this one too.
  bool at_most(const Cover& other) const {
    return (positive & ~other.positive) == 0 && (negative & ~other.negative) == 0 &&
           guard_changed >= other.guard_changed;
  }
};

bool is_predicate(Register reg) {
  return reg.file == RegisterFile::predicate || reg.file == RegisterFile::uniform_predicate;
}

/// Where each register is written, so that a search jumps from write to write.
class DefinitionIndex {
 public:
  explicit DefinitionIndex(std::span<const Instruction> code) : first_(kRegisters + 1, 0) {
    for (const Instruction& instruction : code) {
      for (Register reg : instruction.defs) ++first_[number_of(reg) + 1];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    positions_.resize(first_.back());
    std::vector<uint32_t> next(first_.begin(), first_.end() - 1);
    for (uint32_t i = 0; i < code.size(); ++i) {
      for (Register reg : code[i].defs) positions_[next[number_of(reg)]++] = i;
      if (std::any_of(code[i].defs.begin(), code[i].defs.end(), is_predicate)) {
        predicate_writes_.push_back(i);
      }
    }
  }

  /// Instructions that write the register, in ascending order.
  std::span<const uint32_t> writes_of(Register reg) const {
    const uint32_t number = number_of(reg);
    return std::span(positions_).subspan(first_[number], first_[number + 1] - first_[number]);
  }
  /// Instructions that write any predicate.
  std::span<const uint32_t> predicate_writes() const { return predicate_writes_; }

 private:
  static constexpr uint32_t kRegisters = 5 * 256;
  static uint32_t number_of(Register reg) {
    return static_cast<uint32_t>(reg.file) * 256 + reg.index;
  }

  std::vector<uint32_t> first_;  ///< by register number: its range in `positions_`
  std::vector<uint32_t> positions_;
  std::vector<uint32_t> predicate_writes_;
};

/// What one function's searches share.
struct Workspace {
  Workspace(std::span<const Instruction> instructions, const ControlFlowGraph& graph_to_search)
      : code(instructions),
        graph(graph_to_search),
        index(instructions),
        seen(graph_to_search.blocks.size()) {}

  std::span<const Instruction> code;
  const ControlFlowGraph& graph;
  DefinitionIndex index;
  std::vector<std::vector<Cover>> seen;  ///< by block: what the current search came to its end with
  std::vector<uint32_t> touched;         ///< blocks with an entry in `seen`
};

/// The searches for one use, a register at a time.
class BackwardSearch {
 public:
  BackwardSearch(Workspace& memory, uint32_t use)
      : memory_(memory),
        use_(use),
        guard_(memory.code[use].guard),
        guard_bit_(guard_.always ? 0 : bit_of(guard_.predicate)) {}

  void find(Register through, std::vector<Dependency>& found) {
    through_ = through;
    writes_ = memory_.index.writes_of(through);
    defs_.clear();
    const uint32_t home = memory_.graph.block_of[use_];
    const uint32_t first = memory_.graph.blocks[home].first;
    Cover cover;
    if (walk_back(first, use_, cover)) {
      spread(home, cover);
      search_blocks();
    }
    std::sort(defs_.begin(), defs_.end());
    defs_.erase(std::unique(defs_.begin(), defs_.end()), defs_.end());
    for (uint32_t def : defs_) found.push_back({def, use_, through});
  }

 private:
  static constexpr uint32_t kNone = 0xffffffffu;
  struct State {
    uint32_t block;
    Cover cover;  ///< at its end
  };

  void search_blocks() {
    while (!open_.empty()) {
      auto [block, cover] = open_.back();
      open_.pop_back();
      const Block& at = memory_.graph.blocks[block];
      if (walk_back(at.first, at.last + 1, cover)) spread(block, cover);
    }
    for (uint32_t block : memory_.touched) memory_.seen[block].clear();
    memory_.touched.clear();
  }

  /// From before `end` back to `first`; false once the definitions found cover the use.
  bool walk_back(uint32_t first, uint32_t end, Cover& cover) {
    while (true) {
      const uint32_t at = last_event(first, end, cover);
      if (at == kNone) return true;
      if (step_back(at, cover)) return false;
      end = at;
    }
  }

  /// The last instruction in [first, end) that matters: one that writes the register, or one that
  /// writes a predicate as long as some predicate is known.
  uint32_t last_event(uint32_t first, uint32_t end, const Cover& cover) const {
    const auto last_of = [&](std::span<const uint32_t> positions) {
      const auto after = std::lower_bound(positions.begin(), positions.end(), end);
      return after == positions.begin() || *(after - 1) < first ? kNone : *(after - 1);
    };
    const uint32_t write = last_of(writes_);
    const bool knows_predicates =
        (cover.positive | cover.negative) != 0 || (guard_bit_ != 0 && !cover.guard_changed);
    const uint32_t change = knows_predicates ? last_of(memory_.index.predicate_writes()) : kNone;
    if (write == kNone || change == kNone) return std::min(write, change);
    return std::max(write, change);
  }

  /// True if this definition completes the cover.
  bool step_back(uint32_t index, Cover& cover) {
    const Instruction& instruction = memory_.code[index];
    bool defines = false;
    for (Register reg : instruction.defs) {
      defines |= reg == through_;
      // Before this instruction the predicate has another value: what was found says no more of it.
      const uint32_t bit = bit_of(reg);
      cover.positive &= ~bit;
      cover.negative &= ~bit;
      cover.guard_changed |= (bit & guard_bit_) != 0;
    }
    if (!defines) return false;
    defs_.push_back(index);
    const Guard& guard = instruction.guard;
    if (guard.always) return true;
    const uint32_t bit = bit_of(guard.predicate);
    (guard.negated ? cover.negative : cover.positive) |= bit;
    const bool as_the_use =
        !cover.guard_changed && (bit & guard_bit_) != 0 && guard.negated == guard_.negated;
    return as_the_use || (cover.positive & cover.negative) != 0;
  }

  void spread(uint32_t block, const Cover& cover) {
    for (uint32_t predecessor : memory_.graph.blocks[block].predecessors) visit(predecessor, cover);
  }

  void visit(uint32_t block, Cover cover) {
    std::vector<Cover>& seen = memory_.seen[block];
    if (seen.size() >= kMaxCoversPerBlock) cover = {.guard_changed = true};
    for (const Cover& other : seen) {
      if (other.at_most(cover)) return;
    }
    if (seen.empty()) memory_.touched.push_back(block);
    seen.push_back(cover);
    open_.push_back({block, cover});
  }

  Workspace& memory_;
  uint32_t use_;
  Guard guard_;
  uint32_t guard_bit_;
  Register through_;
  std::span<const uint32_t> writes_;  ///< of that register
  std::vector<uint32_t> defs_;
  std::vector<State> open_;
};

}  // namespace

struct Slicer::Memory : Workspace {
  using Workspace::Workspace;
};

Slicer::Slicer(std::span<const Instruction> instructions, const ControlFlowGraph& graph)
    : memory_(std::make_unique<Memory>(instructions, graph)) {}
Slicer::Slicer(Slicer&&) noexcept = default;
Slicer::~Slicer() = default;

std::vector<Dependency> Slicer::dependencies_of(uint32_t use) {
  std::vector<Dependency> found;
  BackwardSearch search(*memory_, use);
  for (Register through : memory_->code[use].uses) search.find(through, found);
  std::sort(found.begin(), found.end(), [](const Dependency& a, const Dependency& b) {
    return std::tie(a.def, a.through) < std::tie(b.def, b.through);
  });
  return found;
}

std::vector<Dependency> immediate_dependencies(std::span<const Instruction> instructions,
                                               const ControlFlowGraph& graph, uint32_t use) {
  return Slicer(instructions, graph).dependencies_of(use);
}

}  // namespace fathom
