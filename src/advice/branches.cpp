// Branches. Divergence: the lanes of a warp take different sides, which then run one after the
// other. Elimination: a branch that nearly always goes the same way costs its test each time.
// Both are read from how often each side was seen to issue: where all lanes of every warp agree,
// the issues on both sides add up to those of the branch.

#include <algorithm>

#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Issues of the branch below which nothing is concluded.
constexpr double kFewestIssues = 400;
/// Both sides together beyond the branch's own by this much: lanes do not agree.
constexpr double kDivergent = 0.15;

/// A conditional branch forward with a side of its own at one or both ends.
struct Fork {
  uint32_t branch = 0;           ///< instruction
  double executions = 0;         ///< issued samples per instruction of its block
  double taken = 0, fallen = 0;  ///< share of the executions in which a side was run
  double side_samples = 0;       ///< in both sides
  bool two_sided = false;
};

double executions_of(const AnalyzedFunction& function, uint32_t block) {
  const Block& b = function.graph.blocks[block];
  double issued = 0;
  for (uint32_t i = b.first; i <= b.last; ++i) issued += double(function.samples[i].issued());
  return issued / (b.last - b.first + 1);
}

double issues_of(const AnalyzedFunction& function, uint32_t block) {
  const Block& b = function.graph.blocks[block];
  return executions_of(function, block) * (b.last - b.first + 1);
}

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
    if (issues_of(function, b) < kFewestIssues) continue;
    uint32_t x = blocks[b].successors[0], y = blocks[b].successors[1];
    if (blocks[x].first > blocks[y].first) std::swap(x, y);
    // x is the next block; y is where the branch jumps to.
    if (blocks[x].first <= blocks[b].first) continue;
    bool own_x = blocks[x].predecessors.size() == 1, own_y = blocks[y].predecessors.size() == 1;
    if (!own_x) continue;
    Fork fork;
    fork.branch = blocks[b].last;
    fork.executions = executions_of(function, b);
    fork.fallen = executions_of(function, x) / fork.executions;
    fork.two_sided = own_y && function.loops.innermost[y] == function.loops.innermost[b];
    fork.side_samples = samples_of_side(function, x);
    if (fork.two_sided) {
      fork.taken = executions_of(function, y) / fork.executions;
      fork.side_samples += samples_of_side(function, y);
    }
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
        double saved = part.fraction * fork.side_samples * both / (1 + both);
        change += model.less_work(saved / std::max(1.0, view.total()));
        hotspots.add_own(view, part, fork.branch, fork.side_samples);
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
    const Block& block = function.graph.blocks[function.graph.block_of[branch]];
    Register predicate = function.instructions[branch].guard.predicate;
    for (uint32_t i = branch; i-- > block.first;) {
      const Instruction& test = function.instructions[i];
      if (!std::binary_search(test.defs.begin(), test.defs.end(), predicate)) continue;
      if (test.op_class == OpClass::integer || test.op_class == OpClass::fp32)
        change += model.without(view, part, i);
      break;
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
