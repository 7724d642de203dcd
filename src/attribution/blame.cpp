#include "attribution/blame.h"

#include <algorithm>
#include <deque>
#include <map>
#include <set>

#include "attribution/latency_class.h"
#include "flow/paths.h"
#include "flow/slices.h"

namespace fathom {
namespace {

/// What kind of cause a stall reason has.
enum class Cause { scoreboard_l1, scoreboard_other, fixed_latency, synchronization, itself };

Cause cause_of(StallReason reason) {
  switch (reason) {
    case StallReason::long_scoreboard:
      return Cause::scoreboard_l1;
    case StallReason::short_scoreboard:
      return Cause::scoreboard_other;
    case StallReason::wait:
      return Cause::fixed_latency;
    case StallReason::barrier:
    case StallReason::membar:
    case StallReason::warpgroup_arrive:
      return Cause::synchronization;
    default:
      return Cause::itself;
  }
}

bool is_synchronization(const Instruction& instruction, StallReason reason) {
  if (reason == StallReason::membar) return instruction.op_class == OpClass::memory_barrier;
  if (reason == StallReason::warpgroup_arrive)
    return instruction.op_class == OpClass::barrier || instruction.op_class == OpClass::tensor;
  return instruction.op_class == OpClass::barrier;
}

/// The barrier guards the producer's operands, not its result: the consumer overwrites what it
/// still reads.
bool is_write_after_read(const Instruction& producer, Register through) {
  return through.file == RegisterFile::barrier && producer.control.read_barrier == through.index &&
         producer.control.write_barrier != through.index;
}

/// Pruning by opcode: can `producer` make somebody who depends on it through `through` stall in
/// this way?
bool may_cause(Cause cause, const Instruction& producer, Register through) {
  switch (cause) {
    case Cause::scoreboard_l1:
      return is_l1_access(producer) && has_scoreboard(producer);
    case Cause::scoreboard_other:
      return has_scoreboard(producer) &&
             (!is_l1_access(producer) || is_write_after_read(producer, through));
    case Cause::fixed_latency:
      return through.file != RegisterFile::barrier && producer.control.write_barrier > 5;
    default:
      return false;
  }
}

StallClass class_of(Cause cause, const Instruction& producer, Register through) {
  if (cause == Cause::synchronization) return StallClass::synchronization;
  if (is_write_after_read(producer, through)) return StallClass::write_after_read;
  if (cause == Cause::scoreboard_l1)
    return producer.space == MemorySpace::local ? StallClass::local_memory
                                                : StallClass::global_memory;
  if (producer.op_class == OpClass::load && producer.space == MemorySpace::constant)
    return StallClass::constant_memory;
  if (producer.is_store()) return StallClass::write_after_read;
  return producer.is_memory() ? StallClass::shared_memory : StallClass::arithmetic;
}

StallClass class_of_own(StallReason reason) {
  switch (reason) {
    case StallReason::no_instructions:
      return StallClass::instruction_fetch;
    case StallReason::imc_miss:
      return StallClass::constant_memory;
    case StallReason::drain:
      return StallClass::global_memory;
    case StallReason::barrier:
    case StallReason::membar:
    case StallReason::warpgroup_arrive:
      return StallClass::synchronization;
    case StallReason::long_scoreboard:
      return StallClass::global_memory;
    case StallReason::short_scoreboard:
    case StallReason::wait:
      return StallClass::arithmetic;
    case StallReason::math_pipe_throttle:
    case StallReason::dispatch_stall:
    case StallReason::lg_throttle:
    case StallReason::mio_throttle:
    case StallReason::tex_throttle:
      return StallClass::throttle;
    default:
      return StallClass::other;
  }
}

/// A possible cause of a consumer's stalls. One for each producer; of several registers between the
/// same two instructions a general one names the edge best.
struct Candidate {
  uint32_t producer = 0;
  Register through;
  uint32_t shortest = 1, longest = 1;
};

class Blamer {
 public:
  explicit Blamer(AnalyzedFunction& function)
      : function_(function), slicer_(function.instructions, function.graph) {
    const auto& instructions = function_.instructions;
    for (uint32_t i = 0; i < instructions.size(); ++i)
      for (Register use : instructions[i].uses) users_[use].push_back(i);
  }

  void run() {
    for (uint32_t i = 0; i < function_.instructions.size(); ++i)
      if (function_.samples[i].stalls() > 0) blame_instruction(i);
    std::sort(function_.blame.begin(), function_.blame.end(), [](const Blame& a, const Blame& b) {
      return std::tie(a.consumer, a.producer, a.reason) <
             std::tie(b.consumer, b.producer, b.reason);
    });
    function_.coverage_before = nodes_ ? double(single_before_) / nodes_ : 1;
    function_.coverage_after = nodes_ ? double(single_after_) / nodes_ : 1;
  }

 private:
  void blame_instruction(uint32_t consumer) {
    const StallCounts& counts = function_.samples[consumer];
    std::vector<Dependency> dependencies = slicer_.dependencies_of(consumer);
    bool single = true;
    for (size_t r = 1; r < kStallReasonCount; ++r) {
      auto reason = static_cast<StallReason>(r);
      if (counts.all[r] == 0 || reason == StallReason::not_selected) continue;
      std::vector<Candidate> causes = causes_of(consumer, reason, dependencies);
      single = single && causes.size() <= 1;
      apportion(consumer, reason, causes);
    }
    ++nodes_;
    single_before_ += single_before_pruning(dependencies);
    single_after_ += single;
  }

  /// Before pruning, a node is single if it has at most one producer for each kind of dependency.
  bool single_before_pruning(const std::vector<Dependency>& dependencies) const {
    std::map<int, std::set<uint32_t>> producers;
    for (const Dependency& dependency : dependencies) {
      const Instruction& producer = function_.instructions[dependency.def];
      int kind = is_l1_access(producer) ? 0 : has_scoreboard(producer) ? 1 : 2;
      producers[kind].insert(dependency.def);
    }
    return std::all_of(producers.begin(), producers.end(),
                       [](const auto& kind) { return kind.second.size() <= 1; });
  }

  std::vector<Candidate> causes_of(uint32_t consumer, StallReason reason,
                                   const std::vector<Dependency>& dependencies) {
    Cause cause = cause_of(reason);
    if (cause == Cause::itself) return {};
    if (cause == Cause::synchronization) return synchronizations_before(consumer, reason);
    std::vector<Candidate> causes;
    for (const Dependency& dependency : dependencies) {
      const Instruction& producer = function_.instructions[dependency.def];
      if (!may_cause(cause, producer, dependency.through)) continue;
      if (used_on_every_path(dependency)) continue;
      auto lengths = path_lengths(function_.graph, dependency.def, consumer);
      if (!lengths || done_before(dependency, lengths->shortest)) continue;
      add(causes, {dependency.def, dependency.through, lengths->shortest, lengths->longest});
    }
    // A scoreboard stall ends when a barrier clears: where such edges are left, only they can be
    // the cause.
    if (cause != Cause::fixed_latency) keep_barrier_producers(causes, dependencies);
    if (causes.empty() && cause == Cause::fixed_latency) add_preceding(causes, consumer);
    return causes;
  }

  /// Pruning by latency: at least one cycle goes by for each instruction in between. Within a block
  /// the issue delays in the control fields say more exactly how many.
  bool done_before(const Dependency& dependency, uint32_t shortest) const {
    uint32_t cycles = shortest;
    const auto& block_of = function_.graph.block_of;
    if (dependency.def < dependency.use && block_of[dependency.def] == block_of[dependency.use]) {
      cycles = 0;
      for (uint32_t i = dependency.def; i < dependency.use; ++i)
        cycles += std::max<uint32_t>(1, function_.instructions[i].control.stall);
    }
    return cycles > latency_of(*function_.machine, function_.instructions[dependency.def]).max;
  }

  static void add(std::vector<Candidate>& causes, Candidate candidate) {
    for (Candidate& known : causes) {
      if (known.producer != candidate.producer) continue;
      if (known.through.file == RegisterFile::barrier) known.through = candidate.through;
      return;
    }
    causes.push_back(candidate);
  }

  static void keep_barrier_producers(std::vector<Candidate>& causes,
                                     const std::vector<Dependency>& dependencies) {
    std::set<uint32_t> behind_barrier;
    for (const Dependency& dependency : dependencies)
      if (dependency.through.file == RegisterFile::barrier) behind_barrier.insert(dependency.def);
    bool any = std::any_of(causes.begin(), causes.end(), [&](const Candidate& c) {
      return behind_barrier.count(c.producer) > 0;
    });
    if (!any) return;
    std::erase_if(causes,
                  [&](const Candidate& c) { return behind_barrier.count(c.producer) == 0; });
  }

  /// Without a fixed-latency producer, "wait" is the issue delay that the instruction before asked
  /// for.
  void add_preceding(std::vector<Candidate>& causes, uint32_t consumer) const {
    const Block& block = function_.graph.blocks[function_.graph.block_of[consumer]];
    if (consumer > block.first) causes.push_back({consumer - 1, {}, 1, 1});
  }

  /// Pruning by dominator: an instruction without a predicate that uses the same operand on every
  /// path from the producer to the consumer would have stalled in the consumer's place.
  bool used_on_every_path(const Dependency& dependency) {
    auto key = std::tuple(dependency.def, dependency.use, dependency.through);
    if (auto known = dominated_.find(key); known != dominated_.end()) return known->second;
    bool result = false;
    for (uint32_t user : users_[dependency.through]) {
      if (user == dependency.def || user == dependency.use) continue;
      if (!function_.instructions[user].guard.always || !can_lie_between(dependency, user))
        continue;
      if (!on_every_path(function_.graph, dependency.def, user, dependency.use)) continue;
      result = true;
      break;
    }
    return dominated_[key] = result;
  }

  /// Cheap necessary condition: on each path from def to use means in one of their blocks, or in a
  /// block that dominates the use's.
  bool can_lie_between(const Dependency& dependency, uint32_t user) const {
    const auto& block_of = function_.graph.block_of;
    uint32_t block = block_of[user];
    return block == block_of[dependency.def] || block == block_of[dependency.use] ||
           function_.dominators.dominates(block, block_of[dependency.use]);
  }

  /// The nearest synchronization on each path backward; a stall on one itself is its own.
  std::vector<Candidate> synchronizations_before(uint32_t consumer, StallReason reason) const {
    const auto& instructions = function_.instructions;
    const auto& graph = function_.graph;
    if (is_synchronization(instructions[consumer], reason)) return {};
    std::vector<Candidate> found;
    std::vector<bool> seen(graph.blocks.size());
    std::deque<std::pair<uint32_t, uint32_t>>
        work;  // block, and the instruction after the last to look at
    work.push_back({graph.block_of[consumer], consumer});
    while (!work.empty()) {
      auto [block, end] = work.front();
      work.pop_front();
      uint32_t at = end;
      while (at > graph.blocks[block].first && !is_synchronization(instructions[at - 1], reason))
        --at;
      if (at > graph.blocks[block].first) {
        auto lengths = path_lengths(graph, at - 1, consumer);
        if (lengths) add(found, {at - 1, {}, lengths->shortest, lengths->longest});
        continue;
      }
      for (uint32_t before : graph.blocks[block].predecessors) {
        if (seen[before]) continue;
        seen[before] = true;
        work.push_back({before, graph.blocks[before].last + 1});
      }
    }
    return found;
  }

  /// Equation 1: by issued samples, and by 1 / longest path.
  void apportion(uint32_t consumer, StallReason reason, const std::vector<Candidate>& causes) {
    auto r = static_cast<size_t>(reason);
    double stalls = double(function_.samples[consumer].all[r]);
    double latency = double(function_.samples[consumer].latency[r]);
    if (causes.empty()) {
      function_.blame.push_back(
          {consumer, consumer, reason, class_of_own(reason), stalls, latency, 0, ""});
      return;
    }
    uint64_t issued = 0;
    for (const Candidate& cause : causes) issued += function_.samples[cause.producer].issued();
    auto weight = [&](const Candidate& cause) {
      double issue =
          issued ? double(function_.samples[cause.producer].issued()) / double(issued) : 1.0;
      return issue / std::max(1u, cause.longest);
    };
    double sum = 0;
    for (const Candidate& cause : causes) sum += weight(cause);
    for (const Candidate& cause : causes) {
      double share = weight(cause) / sum;
      if (share == 0) continue;
      const Instruction& producer = function_.instructions[cause.producer];

      function_.blame.push_back({cause.producer, consumer, reason,
                                 class_of(cause_of(reason), producer, cause.through),
                                 stalls * share, latency * share, cause.longest,
                                 uses(consumer, cause.through) ? to_string(cause.through) : ""});
    }
  }

  bool uses(uint32_t consumer, Register through) const {
    const auto& list = function_.instructions[consumer].uses;
    return std::binary_search(list.begin(), list.end(), through);
  }

  AnalyzedFunction& function_;
  Slicer slicer_;
  std::map<Register, std::vector<uint32_t>> users_;
  std::map<std::tuple<uint32_t, uint32_t, Register>, bool> dominated_;
  uint64_t nodes_ = 0, single_before_ = 0, single_after_ = 0;
};

}  // namespace

void blame_stalls(AnalyzedFunction& function) {
  function.blame.clear();
  if (!function.instructions.empty()) Blamer(function).run();
}

}  // namespace fathom
