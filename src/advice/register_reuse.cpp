// Register Reuse (GPA paper, table 2): values that do not fit into registers, or arrays indexed at
// run time, live in local memory, which is as far away as global memory.

#include <algorithm>
#include <set>

#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "attribution/operand_text.h"
#include "attribution/register_queries.h"
#include "base/text.h"

namespace fathom {
namespace {

bool is_local_access(const Instruction& instruction) {
  return instruction.space == MemorySpace::local && instruction.is_memory();
}

/// Spills are at constant distances from the stack pointer, R1; arrays at computed ones.
bool is_indexed(const Instruction& instruction) {
  for (const Operand& operand : parse_operands(instruction.text))
    for (const Operand& part : operand.parts)
      if (part.kind == Operand::Kind::general && part.number > 1) return true;
  return false;
}

/// Where most stalls come from local memory.
struct Hottest {
  const FunctionPart* part = nullptr;
  uint32_t instruction = 0;
};

struct Match {
  Hotspots hotspots;
  double indexed = 0;  ///< stalls that come from arrays
  Hottest hottest;     ///< spill or fill
};

/// A register's value that is needed behind a spill: from its definition to its next use.
struct Life {
  uint32_t defined = 0, used = 0;
  uint32_t length() const { return used - defined; }
};

/// The longest lives in code order of values that are needed at `at`.
std::vector<Life> longest_lives(const AnalyzedFunction& function, uint32_t at,
                                const std::vector<uint32_t>& live) {
  std::vector<Life> lives;
  const auto& code = function.instructions;
  auto names = [](const std::vector<Register>& list, Register reg) {
    return std::binary_search(list.begin(), list.end(), reg);
  };
  for (uint32_t r : live) {
    if (r < 2) continue;  // R1 is the stack pointer
    Register reg{RegisterFile::general, uint8_t(r)};
    Life life{at, at};
    while (life.defined > 0 && !names(code[life.defined].defs, reg)) --life.defined;
    while (life.used + 1 < code.size() && !names(code[life.used].uses, reg)) ++life.used;
    if (names(code[life.defined].defs, reg)) lives.push_back(life);
  }
  std::stable_sort(lives.begin(), lives.end(),
                   [](const Life& a, const Life& b) { return a.length() > b.length(); });
  return lives;
}

/// Who waits longer than this for each execution waits for device memory.
constexpr double kDeviceMemoryCycles = 700;

class RegisterReuse : public Optimizer {
 public:
  std::string_view kind() const override { return "register-reuse"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Match match;
    double most = 0;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame) {
        bool own = edge.producer == edge.consumer;
        const Instruction& producer = part.function->instructions[edge.producer];
        const Instruction& consumer = part.function->instructions[edge.consumer];
        // A value that has to go away as soon as it is there is waited for earlier than its use.
        bool spilled = !own && is_local_access(consumer) && consumer.is_store() &&
                       !is_indexed(consumer) && edge.kind == StallClass::global_memory;
        if (spilled) {
          match.hotspots.add(view, part, edge);
          continue;
        }
        if (!is_local_access(producer)) continue;
        if (own ? edge.kind != StallClass::throttle : edge.kind == StallClass::arithmetic) continue;
        match.hotspots.add(view, part, edge);
        double stalls = part.fraction * edge.stalls;
        if (is_indexed(producer))
          match.indexed += stalls;
        else if (stalls > most)
          most = stalls, match.hottest = {&part, edge.producer};
      }
    if (match.hotspots.empty()) return {};
    return {describe(view, match)};
  }

 private:
  static Change change_of(const KernelView& view, const WhatIf& model, const Match& match) {
    Change change;
    for (const FunctionPart& part : view.parts())
      for (uint32_t i = 0; i < part.function->instructions.size(); ++i)
        if (is_local_access(part.function->instructions[i])) change += model.without(view, part, i);
    double matched = match.hotspots.stalls();
    double share = local_share(view);
    change.delay = std::min(
        matched + share * behind_local_accesses(view) + (1 - share) * scheduled_too_late(view),
        view.total());
    return change;
  }

  /// Of the requests to the first cache those to local memory.
  static double local_share(const KernelView& view) {
    double local = 0, all = 0;
    for (const FunctionPart& part : view.parts()) {
      const auto& code = part.function->instructions;
      for (uint32_t i = 0; i < code.size(); ++i) {
        if (!code[i].is_memory() || code[i].space == MemorySpace::constant ||
            code[i].space == MemorySpace::shared)
          continue;
        double requests = part.fraction * double(part.function->samples[i].issued()) *
                          std::max(1.0, code[i].access_bytes / 4.0);
        all += requests;
        if (code[i].space == MemorySpace::local) local += requests;
      }
    }
    return all > 0 ? local / all : 0;
  }

  /// Local accesses stand in the same queue and cache as others, whose waiting they make longer by
  /// their share of the requests. Loads that wait for device memory do not wait for them.
  static double behind_local_accesses(const KernelView& view) {
    double waits = 0;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame)
        if (is_other_load(part, edge) &&
            wait_per_execution(part, edge.producer).value_or(0) < kDeviceMemoryCycles)
          waits += part.fraction * edge.stalls;
    return waits;
  }

  static bool is_other_load(const FunctionPart& part, const Blame& edge) {
    const auto& code = part.function->instructions;
    return edge.kind == StallClass::global_memory && edge.producer != edge.consumer &&
           !is_local_access(code[edge.producer]) && !is_local_access(code[edge.consumer]);
  }

  /// Without a register to spare the compiler puts a load right before its use. With some it starts
  /// loads of a block as early as it can: what waits then for them is filled with the block's
  /// other work, as far as that goes.
  static double scheduled_too_late(const KernelView& view) {
    double filled = 0;
    for (const FunctionPart& part : view.parts()) {
      const AnalyzedFunction& function = *part.function;
      std::map<uint32_t, double> waits;  // by block
      for (const Blame& edge : function.blame) {
        uint32_t block = function.graph.block_of[edge.consumer];
        if (is_other_load(part, edge) && function.graph.block_of[edge.producer] == block)
          waits[block] += part.fraction * edge.stalls;
      }
      for (const auto& [block, waiting] : waits) filled += std::min(waiting, work_of(part, block));
    }
    return filled;
  }

  /// Samples of a block in which a warp neither waits for memory nor accesses local memory.
  static double work_of(const FunctionPart& part, uint32_t block) {
    const AnalyzedFunction& function = *part.function;
    double work = 0;
    for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
         ++i) {
      if (is_local_access(function.instructions[i])) continue;
      for (StallReason reason :
           {StallReason::selected, StallReason::not_selected, StallReason::wait,
            StallReason::dispatch_stall, StallReason::math_pipe_throttle})
        work += part.fraction * double(function.samples[i].all[size_t(reason)]);
    }
    return work;
  }

  /// Which values take the registers at the hottest spill.
  static void add_live_values(const KernelView& view, const Hottest& at, Finding& finding) {
    const AnalyzedFunction& function = *at.part->function;
    std::vector<uint32_t> live = live_registers(function, at.instruction);
    finding.evidence.push_back(
        {"registers in use at the hottest spill", double(live.size()), "registers"});
    std::set<SourceLocation> named;
    for (const Life& life : longest_lives(function, at.instruction, live)) {
      if (named.size() == 4) break;
      const SourceLocation& line = view.facts(*at.part, life.defined).at;
      if (line.line == 0 || !named.insert(line).second) continue;
      finding.related.push_back(
          {"live value", line,
           format("%s (kept for %u instructions)", function.instructions[life.defined].text.c_str(),
                  life.length())});
    }
  }

  static Finding describe(const KernelView& view, const Match& match) {
    const Hotspots& hotspots = match.hotspots;
    const LaunchShape& shape = view.main_group().shape;
    bool indexed = match.indexed > hotspots.stalls() / 2 || !match.hottest.part;
    Finding finding;
    finding.fix = indexed ? "indexed-array" : "spill";
    finding.location = hotspots.hottest_cause();
    finding.related = related_of(hotspots, 3);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back(
        {"registers per thread", double(shape.registers_per_thread), "registers"});
    finding.evidence.push_back(
        {"local memory per thread", double(shape.local_memory_per_thread), "bytes"});
    if (!indexed) add_live_values(view, match.hottest, finding);
    const WhatIf& model = view.model();
    finding.speedup = estimate(view, model, change_of(view, model, match), 0.7, 2);
    finding.title = indexed ? "Waiting for an array in local memory"
                            : "Waiting for registers that were spilled to local memory";
    double percent = 100 * hotspots.stalls() / view.total();
    if (indexed)
      describe_array(percent, finding);
    else
      describe_spill(percent, finding);
    finding.assumptions = {"the values find room in registers"};
    return finding;
  }

  static void describe_array(double percent, Finding& finding) {
    finding.text = format(
        "%.0f%% of the kernel's samples wait for local memory. An array of each thread lies there, "
        "since it is indexed by values that the compiler does not know, and registers cannot be "
        "indexed.",
        percent);
    finding.suggestions = {
        "unroll the loop around an indexed array completely, so that each index is a constant and "
        "its elements become registers",
        "keep a small window in named variables and shift them, instead of a ring buffer",
        "put the array into shared memory"};
  }

  static void describe_spill(double percent, Finding& finding) {
    finding.text = format(
        "%.0f%% of the kernel's samples wait for local memory. More values are needed at the same "
        "time than there are registers, so that the compiler stores some and loads them again "
        "(spills).",
        percent);
    finding.suggestions = {
        "raise the limit of registers: __launch_bounds__ with fewer threads or blocks, a higher "
        "-maxrregcount or none",
        "compute long-lived values again where they are used, or load them again",
        "split the loop or the kernel, so that fewer values live at a time", "unroll less"};
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_register_reuse() {
  return std::make_unique<RegisterReuse>();
}

}  // namespace fathom
