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

/// Latency to hide in one scope, and the samples of work that could hide it.
struct Scope {
  double work = 0;
  double latency = 0;
};

class CodeReordering : public Optimizer {
 public:
  std::string_view kind() const override { return "code-reordering"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots matched;
    double hidden = 0;  // sum over scopes, as in equation 5
    for (const FunctionPart& part : view.parts()) {
      std::map<uint32_t, Scope> scopes = match_function(view, part, matched);
      for (const auto& [loop, scope] : scopes) hidden += std::min(scope.work, scope.latency);
    }
    if (matched.empty() || hidden <= 0) return {};
    return {describe(view, matched, hidden)};
  }

 private:
  static std::map<uint32_t, Scope> match_function(const KernelView& view, const FunctionPart& part,
                                                  Hotspots& matched) {
    const AnalyzedFunction& function = *part.function;
    std::map<uint32_t, Scope> scopes;
    std::map<uint32_t, LoopDependences> dependences;
    const double outside = active_outside_loops(part);
    for (const Blame& edge : function.blame) {
      if (!is_hideable(edge) || edge.kind == StallClass::arithmetic) continue;
      uint32_t loop = common_loop(function, edge.producer, edge.consumer);
      double work = outside;
      if (loop != kNoBlock) {
        const LoopDependences& within = dependences.try_emplace(loop, function, loop).first->second;
        // The next load cannot start earlier where it needs what this one loads.
        if (within.is_recurrent(edge.producer)) continue;
        bool small = part.fraction * edge.latency < kLeastShare * view.total();
        work = small ? 0 : part.fraction * within.independent_work(edge.producer);
      }
      Scope& scope = scopes[loop];
      scope.latency += part.fraction * edge.latency;
      scope.work = std::max(scope.work, work);
      matched.add(view, part, edge);
    }
    return scopes;
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
