// Code Reordering (GPA paper, table 2): a value is used too soon after it was asked for, while
// other work in the same loop or function could have been done in between.

#include <algorithm>

#include "advice/loops.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// What is needed by a smaller share of the samples is not looked into.
constexpr double kLeastShare = 0.002;

/// Latency to hide in one scope, and the active samples that could hide it.
struct Scope {
  double active = 0;
  double latency = 0;
};

class CodeReordering : public Optimizer {
 public:
  std::string_view kind() const override { return "code-reordering"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots matched;
    double hidden = 0;  // sum over scopes of equation 5's minimum
    for (const FunctionPart& part : view.parts()) {
      std::map<uint32_t, Scope> scopes = match_function(view, part, matched);
      for (const auto& [loop, scope] : scopes) hidden += std::min(scope.active, scope.latency);
    }
    if (matched.empty() || hidden <= 0) return {};
    return {describe(view, matched, hidden)};
  }

 private:
  static std::map<uint32_t, Scope> match_function(const KernelView& view, const FunctionPart& part,
                                                  Hotspots& matched) {
    const AnalyzedFunction& function = *part.function;
    std::map<uint32_t, Scope> scopes;
    std::map<std::pair<uint32_t, uint32_t>, bool> serial;
    std::map<uint32_t, LoopDependences> dependences;
    for (const Blame& edge : function.blame) {
      if (!is_hideable(edge) || edge.kind == StallClass::arithmetic) continue;
      uint32_t loop = common_loop(function, edge.producer, edge.consumer);
      if (loop != kNoBlock) {
        auto [known, is_new] = serial.try_emplace({loop, edge.producer}, false);
        if (is_new) known->second = chases_pointer(function, loop, edge.producer);
        if (known->second) continue;
      }
      Scope& scope = scopes[loop];
      scope.latency += part.fraction * edge.latency;
      scope.active = std::max(scope.active, fillers(view, part, loop, edge, dependences));
      matched.add(view, part, edge);
    }
    return scopes;
  }

  /// Samples of work in the scope that the value's address does not come from.
  static double fillers(const KernelView& view, const FunctionPart& part, uint32_t loop,
                        const Blame& edge, std::map<uint32_t, LoopDependences>& dependences) {
    if (loop == kNoBlock) return active_outside_loops(part);
    if (part.fraction * edge.latency < kLeastShare * view.total()) return 0;
    auto known = dependences.try_emplace(loop, *part.function, loop).first;
    return part.fraction * known->second.independent_work(edge.producer);
  }

  static double active_outside_loops(const FunctionPart& part) {
    const AnalyzedFunction& function = *part.function;
    double active = 0;
    for (uint32_t i = 0; i < function.instructions.size(); ++i)
      if (function.loops.innermost[function.graph.block_of[i]] == kNoBlock)
        active += part.fraction * double(function.samples[i].active());
    return active;
  }

  static Finding describe(const KernelView& view, const Hotspots& matched, double hidden) {
    Finding finding;
    double total = view.total();
    finding.location = matched.hottest_cause();
    finding.related = related_of(matched, 3);
    finding.evidence = sample_evidence(view, matched.latency());
    finding.evidence.push_back({"samples that other work can hide", hidden, "samples"});
    Change change;
    change.delay = hidden;
    finding.speedup = estimate(view, view.model(), change, 0.5, 1.15);
    finding.title = "Values are used too soon after they were asked for";
    finding.text = format(
        "%.0f%% of the kernel's samples wait, with nothing else to do, for data that was requested "
        "only shortly before. "
        "Work that does not need the data stands after the wait, where it cannot fill it.",
        100 * matched.latency() / total);
    finding.suggestions = {
        "load earlier: ask for the next iteration's values before working on the present ones "
        "(software pipelining)",
        "load before a __syncthreads() what is needed after it",
        "separate the load from its use: a variable of its own, loaded at the top of the loop",
        "on sm_80 and later copy ahead into shared memory with cuda::memcpy_async"};
    finding.assumptions = {
        "the other work in the same loop does not depend on the value that is waited for",
        "registers suffice to hold values that are loaded earlier"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_code_reordering() {
  return std::make_unique<CodeReordering>();
}

}  // namespace fathom
