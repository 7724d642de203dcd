// Function Inlining (GPA paper, table 2): calls of device functions in hot code. A call costs the
// jumps there and back, during which the next instructions have to be found, and keeps the compiler
// from moving code across it.

#include "advice/loops.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

bool is_jump_delay(StallReason reason) {
  return reason == StallReason::branch_resolving || reason == StallReason::no_instructions;
}

/// Routines of the compiler itself cannot be inlined by the user.
bool is_compiler_routine(const Instruction& call) {
  return call.target_symbol.find("__cuda_sm") != std::string::npos;
}

constexpr double kUnrolledByDefault = 4;

class FunctionInlining : public Optimizer {
 public:
  std::string_view kind() const override { return "function-inlining"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots hotspots;
    for (const FunctionPart& part : view.parts()) {
      match_calls(view, part, hotspots);
      if (&part != &view.parts().front()) match_callee(view, part, hotspots);
    }
    if (hotspots.empty()) return {};
    const WhatIf& model = view.model();
    Change change;
    for (const FunctionPart& part : view.parts()) change += saved(view, model, part);
    return {describe(view, model, hotspots, change)};
  }

 private:
  /// Jumps there and back, return addresses, and all looking for instructions in code that calls or
  /// is called. A loop without a call is unrolled by the compiler, four times as a rule.
  static Change saved(const KernelView& view, const WhatIf& model, const FunctionPart& part) {
    const AnalyzedFunction& function = *part.function;
    const auto& instructions = function.instructions;
    std::set<uint32_t> gone, loops;
    bool jumps = &part != &view.parts().front();
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      bool calls = instructions[i].flow == Flow::call && !is_compiler_routine(instructions[i]);
      bool returns = instructions[i].flow == Flow::return_;
      if (!calls && !returns) continue;
      jumps = true;
      gone.insert(i);
      add_address_moves(function, i, gone);
      uint32_t loop = function.loops.innermost[function.graph.block_of[i]];
      if (calls && loop != kNoBlock) loops.insert(loop);
    }
    Change change;
    for (uint32_t i : gone) change += model.without(view, part, i);
    for (uint32_t i = 0; jumps && i < instructions.size(); ++i)
      for (StallReason reason : {StallReason::branch_resolving, StallReason::no_instructions})
        change.delay += part.fraction * double(function.samples[i].all[size_t(reason)]);
    for (const LoopView& loop : view_loops(view, part))
      if (loops.count(loop.loop) && loop.innermost && !loop.has_barrier)
        change += loop_overhead(view, part, loop.loop, LoopDependences(function, loop.loop))
                      .scaled(1 - 1 / kUnrolledByDefault);
    return change;
  }

  /// Before a call or a return the moves of the return address, within its block.
  static void add_address_moves(const AnalyzedFunction& function, uint32_t jump,
                                std::set<uint32_t>& gone) {
    const Instruction& code = function.instructions[jump];
    std::string address = "0x" + format("%llx", (unsigned long long)code.offset + 16);
    const Block& block = function.graph.blocks[function.graph.block_of[jump]];
    for (uint32_t i = jump; i-- > block.first;) {
      const Instruction& move = function.instructions[i];
      bool is_move = move.op_class == OpClass::move || starts_with(move.opcode, "IMAD.MOV");
      if (!is_move || move.defs.empty()) continue;
      bool used = std::binary_search(code.uses.begin(), code.uses.end(), move.defs.front());
      if (used || ends_with(move.text, address)) gone.insert(i);
    }
  }

  /// The call itself, and the delay after it when it has come back.
  static void match_calls(const KernelView& view, const FunctionPart& part, Hotspots& hotspots) {
    const auto& instructions = part.function->instructions;
    for (uint32_t i = 0; i < instructions.size(); ++i) {
      if (instructions[i].flow != Flow::call || is_compiler_routine(instructions[i])) continue;
      hotspots.add_own(view, part, i, double(part.function->samples[i].total()));
      if (i + 1 == instructions.size()) continue;
      for (StallReason reason : {StallReason::branch_resolving, StallReason::no_instructions})
        hotspots.add_own(view, part, i, double(part.function->samples[i + 1].all[size_t(reason)]));
    }
  }

  /// The delay at its first instruction, and the return. They count at the lines that call it.
  static void match_callee(const KernelView& view, const FunctionPart& callee, Hotspots& hotspots) {
    const AnalyzedFunction& function = *callee.function;
    double samples = 0;
    for (size_t r = 0; r < kStallReasonCount && !function.samples.empty(); ++r)
      if (is_jump_delay(static_cast<StallReason>(r))) samples += double(function.samples[0].all[r]);
    for (uint32_t i = 0; i < function.instructions.size(); ++i)
      if (function.instructions[i].flow == Flow::return_)
        samples += double(function.samples[i].total());
    std::vector<std::pair<const FunctionPart*, uint32_t>> calls;
    for (const FunctionPart& part : view.parts())
      for (uint32_t i = 0; i < part.function->instructions.size(); ++i) {
        const Instruction& call = part.function->instructions[i];
        if (call.flow == Flow::call && call.target_symbol == function.mangled &&
            !is_compiler_routine(call))
          calls.push_back({&part, i});
      }
    for (auto [part, i] : calls)
      hotspots.add_own(view, {part->function, 1}, i,
                       callee.fraction * samples / double(calls.size()));
  }

  static Finding describe(const KernelView& view, const WhatIf& model, const Hotspots& hotspots,
                          const Change& change) {
    Finding finding;
    finding.location = hotspots.hottest_cause();
    for (const Hotspots::Spot& spot : hotspots.sorted()) {
      if (finding.related.size() == 3) break;
      finding.related.push_back({"call", spot.cause, spot.cause_text});
    }
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.speedup = estimate(view, model, change, 0.6, 1.2);
    finding.title = "A function is called in hot code";
    finding.text = format(
        "%.0f%% of the kernel's samples are spent on calling device functions and returning from "
        "them: passing arguments, "
        "jumping, and waiting until the instructions at the other end have been found.",
        100 * hotspots.stalls() / view.total());
    finding.suggestions = {
        "mark the function __forceinline__ and define it where it is called (in a header)",
        "remove __noinline__, function pointers and virtual calls from the hot path",
        "without a definition in the same file: link with -dlto, or move it there"};
    finding.assumptions = {
        "the larger code still fits into the instruction cache, and registers suffice"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_function_inlining() {
  return std::make_unique<FunctionInlining>();
}

}  // namespace fathom
