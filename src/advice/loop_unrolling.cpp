// Loop Unrolling (GPA paper, table 2): latency within a loop that has not been unrolled. Unrolled,
// the loads of several iterations are under way at the same time.

#include <algorithm>
#include <cmath>

#include "advice/estimators.h"
#include "advice/loops.h"
#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Loops with less of the kernel's samples than this are not looked into.
constexpr double kLeastShare = 0.005;

class LoopUnrolling : public Optimizer {
 public:
  std::string_view kind() const override { return "loop-unrolling"; }

  std::vector<Finding> match(const KernelView& view) const override {
    std::vector<Finding> findings;
    for (const FunctionPart& part : view.parts())
      for (const LoopView& loop : view_loops(view, part)) {
        if (unroll_factor(loop) < 2 || loop.active < kLeastShare * view.total()) continue;
        if (trips_of(*part.function, loop.loop).value_or(2) < 2) continue;
        LoopDependences dependences(*part.function, loop.loop);
        Hotspots matched = match_loop(view, part, loop.loop, dependences);
        if (!matched.empty()) findings.push_back(describe(view, part, loop, dependences, matched));
      }
    return findings;
  }

 private:
  static Hotspots match_loop(const KernelView& view, const FunctionPart& part, uint32_t loop,
                             const LoopDependences& dependences) {
    const AnalyzedFunction& function = *part.function;
    Hotspots matched;
    std::map<uint32_t, bool> serial;
    for (const Blame& edge : function.blame) {
      if (!is_hideable(edge) || common_loop(function, edge.producer, edge.consumer) != loop)
        continue;
      auto [known, is_new] = serial.try_emplace(edge.producer, false);
      if (is_new) known->second = dependences.is_recurrent(edge.producer);
      if (!known->second) matched.add(view, part, edge);
    }
    return matched;
  }

  static Finding describe(const KernelView& view, const FunctionPart& part, const LoopView& loop,
                          const LoopDependences& dependences, const Hotspots& matched) {
    const LoopFacts& facts = view.profile().loops[part.function->first_loop + loop.loop];
    uint32_t factor = unroll_factor(loop);
    std::optional<double> trips = trips_of(*part.function, loop.loop);
    if (trips) factor = std::max(2u, std::min(factor, uint32_t(*trips)));
    // Iterations that make no full group run one at a time as before.
    double grouped = trips ? std::min(1.0, std::floor(*trips / factor) * factor / *trips) : 1;
    Finding finding;
    finding.location = matched.hottest_cause();
    finding.related = related_of(matched, 3);
    finding.related.push_back(
        {"loop", facts.at,
         format("%u instructions, executed one iteration at a time", loop.instructions)});
    finding.evidence = sample_evidence(view, matched.latency());
    finding.evidence.push_back({"active samples in the loop", loop.active, "samples"});
    if (trips) finding.evidence.push_back({"iterations each time, at least", *trips, "iterations"});
    finding.evidence.push_back({"unroll factor assumed", double(factor), "iterations"});
    // The paper's bound (equation 5) is what rearranging the present body can hide. Unrolling also
    // overlaps the latencies of the iterations with each other, so that one of `factor` remains.
    double total = view.total();
    Change change = loop_overhead(view, part, loop.loop, dependences);
    change.delay += matched.latency();
    finding.speedup =
        estimate(view, view.model(), change.scaled(grouped * (1 - 1.0 / factor)), 0.6, 1.1);
    if (finding.speedup)
      finding.speedup->low =
          std::min(finding.speedup->low, latency_hiding(total, loop.active, matched.latency()));
    finding.title = "A loop waits for each iteration's data in turn";
    finding.text = format(
        "%.0f%% of the kernel's samples wait, with nothing else to do, for results within the loop "
        "at line %u. Each "
        "iteration starts its load, waits, and uses the value before the next iteration starts.",
        100 * matched.latency() / total, facts.at.line);
    finding.suggestions = {
        format("put #pragma unroll %u in front of the loop", factor),
        "make the trip count known to the compiler (template parameter, constexpr), or handle the "
        "remainder apart",
        "use several accumulators, so that the iterations do not wait for each other's sum",
        "mark pointers __restrict__, so that loads may move above stores"};
    finding.assumptions = {trips ? format("the loop runs for about %.0f iterations or more", *trips)
                                 : format("the loop runs for many more than %u iterations", factor),
                           "memory bandwidth is not used up yet"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_loop_unrolling() {
  return std::make_unique<LoopUnrolling>();
}

}  // namespace fathom
