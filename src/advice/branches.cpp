// Branches. Divergence: the lanes of a warp take different sides, which then run one after the
// other. Elimination: a branch that nearly always goes the same way costs its test each time.
// Both are read from how often each side was seen to issue: where all lanes of every warp agree,
// the issues on both sides add up to those of the branch.

#include <algorithm>

#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "attribution/loop_queries.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Issues of the branch below which nothing is concluded.
constexpr double kFewestIssues = 400;
/// Both sides together beyond the branch's own by this much: lanes do not agree.
constexpr double kDivergent = 0.15;

/// A conditional branch forward with a side of its own at one or both ends.
struct Fork {
  uint32_t branch = 0;            ///< instruction
  uint32_t next = 0, target = 0;  ///< blocks: behind it, and where it jumps to
  double taken = 0, fallen = 0;   ///< share of the executions in which a side was run
  bool two_sided = false;
};

/// The side that begins with `block`, entered only from the fork: all that it dominates. Where the
/// sides meet is not among it.
double samples_of_side(const AnalyzedFunction& function, uint32_t block) {
  double samples = 0;
  for (uint32_t b = 0; b < function.graph.blocks.size(); ++b) {
    if (!function.dominators.dominates(block, b)) continue;
    for (uint32_t i = function.graph.blocks[b].first; i <= function.graph.blocks[b].last; ++i)
      samples += double(function.samples[i].total());
  }
  return samples;
}

std::vector<Fork> forks_of(const AnalyzedFunction& function) {
  std::vector<Fork> forks;
  const auto& blocks = function.graph.blocks;
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const Instruction& last = function.instructions[blocks[b].last];
    if (last.flow != Flow::branch || last.guard.always || blocks[b].successors.size() != 2)
      continue;
    double executions = executions_of(function, b);
    if (executions * (blocks[b].last - blocks[b].first + 1) < kFewestIssues) continue;
    uint32_t x = blocks[b].successors[0], y = blocks[b].successors[1];
    if (blocks[x].first > blocks[y].first) std::swap(x, y);
    // x is the next block; y is where the branch jumps to.
    if (blocks[x].first <= blocks[b].first) continue;
    bool own_x = blocks[x].predecessors.size() == 1, own_y = blocks[y].predecessors.size() == 1;
    if (!own_x) continue;
    Fork fork;
    fork.branch = blocks[b].last;
    fork.next = x;
    fork.target = y;
    fork.fallen = executions_of(function, x) / executions;
    fork.two_sided = own_y && function.loops.innermost[y] == function.loops.innermost[b];
    if (fork.two_sided) fork.taken = executions_of(function, y) / executions;
    forks.push_back(fork);
  }
  return forks;
}

class Divergence : public Optimizer {
 public:
  std::string_view kind() const override { return "divergence"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const WhatIf& model = view.model();
    Hotspots hotspots;
    Change change;
    double heaviest = 0;
    Fork worst;
    for (const FunctionPart& part : view.parts())
      for (const Fork& fork : forks_of(*part.function)) {
        double both = fork.taken + fork.fallen - 1;
        if (!fork.two_sided || both < kDivergent) continue;
        // Of the time in the sides, the part of warps that ran both of them and need only one.
        both = std::min(both, 1.0);
        double sides = samples_of_side(*part.function, fork.next) +
                       samples_of_side(*part.function, fork.target);
        double saved = part.fraction * sides * both / (1 + both);
        change += model.less_work(saved / std::max(1.0, view.total()));
        hotspots.add_own(view, part, fork.branch, sides);
        if (saved > heaviest) heaviest = saved, worst = fork;
      }
    if (hotspots.empty()) return {};
    Finding finding;
    finding.fix = "group-threads";
    finding.location = hotspots.hottest_cause();
    for (const Hotspots::Spot& spot : hotspots.sorted()) {
      if (finding.related.size() == 3) break;
      finding.related.push_back({"branch", spot.cause, spot.cause_text});
    }
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back(
        {"runs of the first side for each branch", worst.fallen, "fraction"});
    finding.evidence.push_back({"runs of the other side for each branch", worst.taken, "fraction"});
    finding.speedup = estimate(view, model, change, 0.7, 1.2);
    finding.title = "The threads of a warp take different branches";
    finding.text = format(
        "At the hottest branch warps run one side %.0f%% and the other side %.0f%% of the time, "
        "more than 100%% together: part of the lanes goes each way, and the sides are executed one "
        "after the other with the rest of the lanes idle.",
        100 * worst.fallen, 100 * worst.taken);
    finding.suggestions = {"sort or bin the work, so that neighbouring threads take the same side",
                           "move what both sides have in common out of the branch",
                           "compute both results without a branch if they are short (a select)",
                           "decide for a whole warp: let the branch depend on threadIdx.x / 32"};
    finding.assumptions = {"after the change all lanes of a warp take the same side"};
    return {finding};
  }
};

/// A side that is run less often than this is as good as never run.
constexpr double kNever = 0.02;

class BranchElimination : public Optimizer {
 public:
  std::string_view kind() const override { return "branch-elimination"; }

  std::vector<Finding> match(const KernelView& view) const override {
    const WhatIf& model = view.model();
    Hotspots hotspots;
    Change change;
    bool runs = false;
    for (const FunctionPart& part : view.parts()) {
      const AnalyzedFunction& function = *part.function;
      for (const Fork& fork : forks_of(function)) {
        if (function.loops.innermost[function.graph.block_of[fork.branch]] == kNoBlock) continue;
        bool never = fork.fallen < kNever;
        bool always = fork.two_sided ? fork.taken < kNever : false;
        if (!never && !always) continue;
        runs = always;
        change += test_cost(view, model, part, fork.branch);
        hotspots.add_own(view, part, fork.branch, double(function.samples[fork.branch].total()));
      }
    }
    if (hotspots.empty()) return {};
    Finding finding;
    finding.location = hotspots.hottest_cause();
    finding.related = related_of(hotspots, 3);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.speedup = estimate(view, model, change, 0.5, 1.3);
    finding.title = "A branch in a loop nearly always goes the same way";
    finding.text = format(
        "%.0f%% of the kernel's samples are spent on testing conditions whose result is the same "
        "in "
        "more than %.0f%% of the cases (one side is %s taken).",
        100 * (change.issue + change.delay) / view.total(), 100 * (1 - kNever),
        runs ? "always" : "never");
    finding.suggestions = {
        "test once before the loop and have two loops, the common one without the test",
        "handle the rare cases (borders, special values) in a kernel or a loop of their own",
        "let the rare case be computed without a branch, if it is cheap"};
    finding.assumptions = {"the rare side can be handled elsewhere"};
    return {finding};
  }

 private:
  /// The branch and the comparison in its block that nothing else uses.
  static Change test_cost(const KernelView& view, const WhatIf& model, const FunctionPart& part,
                          uint32_t branch) {
    const AnalyzedFunction& function = *part.function;
    Change change = model.without(view, part, branch);
    auto own = [&](StallReason r) {
      return part.fraction * double(function.samples[branch].all[size_t(r)]);
    };
    change.delay += own(StallReason::branch_resolving);
    if (auto test = test_of(function, branch)) {
      OpClass op_class = function.instructions[*test].op_class;
      if (op_class == OpClass::integer || op_class == OpClass::fp32)
        change += model.without(view, part, *test);
    }
    return change;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_divergence() {
  return std::make_unique<Divergence>();
}
std::unique_ptr<Optimizer> make_branch_elimination() {
  return std::make_unique<BranchElimination>();
}

}  // namespace fathom
