#include "advice/advice.h"
#include "advice/estimators.h"
#include "advice/optimizer.h"
#include "advice/program_advice.h"
#include "base/text.h"

#include <algorithm>
#include <set>
#include <tuple>

namespace fathom {

const std::vector<std::unique_ptr<Optimizer>>& optimizers() {
  static const std::vector<std::unique_ptr<Optimizer>> list = [] {
    std::vector<std::unique_ptr<Optimizer>> all;
    all.push_back(make_register_reuse());
    all.push_back(make_strength_reduction());
    all.push_back(make_warp_balance());
    all.push_back(make_coalescing());
    all.push_back(make_memory_transaction_reduction());
    all.push_back(make_vectorized_loads());
    all.push_back(make_bank_conflicts());
    all.push_back(make_atomic_contention());
    all.push_back(make_constant_indexing());
    all.push_back(make_asynchronous_copy());
    all.push_back(make_tensor_cores());
    all.push_back(make_loop_unrolling());
    all.push_back(make_code_reordering());
    all.push_back(make_function_inlining());
    all.push_back(make_function_split());
    all.push_back(make_fast_math());
    all.push_back(make_divergence());
    all.push_back(make_branch_elimination());
    all.push_back(make_block_increase());
    all.push_back(make_thread_increase());
    all.push_back(make_occupancy_increase());
    all.push_back(make_tail_effect());
    return all;
  }();
  return list;
}

std::vector<RelatedLocation> related_of(const Hotspots& hotspots, size_t most) {
  std::vector<RelatedLocation> related;
  for (const Hotspots::Spot& spot : hotspots.sorted()) {
    if (most-- == 0) break;
    double share = hotspots.stalls() > 0 ? spot.stalls / hotspots.stalls() : 0;
    if (share < 0.01 && !related.empty()) break;
    related.push_back({"value comes from", spot.cause, spot.cause_text});
    if (spot.distance > 0)
      related.push_back({"waits here", spot.wait,
                         format("%s (%u instruction%s later, %.0f%% of the matched stalls)",
                                spot.wait_text.c_str(), spot.distance,
                                spot.distance == 1 ? "" : "s", share * 100)});
    for (size_t i = 0; i < spot.chain.size(); ++i)
      related.push_back({i + 1 == spot.chain.size() ? "root of the wait" : "which waits for",
                         spot.chain[i].second, spot.chain[i].first});
  }
  return related;
}

std::vector<Evidence> sample_evidence(const KernelView& view, double matched) {
  return {{"matched samples", matched, "samples"},
          {"all samples of the kernel", view.total(), "samples"},
          {"matched share", view.total() > 0 ? matched / view.total() : 0, "fraction"}};
}

namespace {

/// Findings that promise less than this are noise.
constexpr double kLeastSpeedup = 1.01;

void complete(Finding& finding, std::string_view kind, const KernelView& view) {
  finding.kind = kind;
  finding.subject = view.kernel().name;
  const RunFacts& run = view.profile().run;
  if (finding.speedup && run.wall_seconds > 0)
    finding.program_speedup = of_whole(*finding.speedup, view.kernel().seconds / run.wall_seconds);
  if (!finding.speedup)
    finding.assumptions.push_back(
        format("the kernel has only %.0f samples: too few for an estimate; run it longer or sample "
               "more often "
               "(pc@k with a smaller k)",
               view.total()));
}

/// The compiler makes several loops of one: the same advice on the same line is given once, for the
/// heaviest.
void drop_repetitions(std::vector<Finding>& findings) {
  std::set<std::tuple<std::string, std::string, SourceLocation>> said;
  std::erase_if(findings, [&](const Finding& finding) {
    return !said.insert({finding.kind, finding.fix, finding.location}).second;
  });
}

double rank(const Finding& finding) {
  return finding.speedup ? finding.speedup->mid : 0;
}

}  // namespace

void advise(Attribution& attribution) {
  Profile& profile = attribution.profile;
  profile.findings.clear();
  for (uint32_t k = 0; k < profile.kernels.size(); ++k) {
    if (attribution.kernel_functions[k].empty()) continue;
    KernelView view(attribution, k);
    std::vector<Finding> findings;
    for (const auto& optimizer : optimizers())
      for (Finding& finding : optimizer->match(view)) {
        complete(finding, optimizer->kind(), view);
        if (finding.speedup && finding.speedup->mid < kLeastSpeedup) continue;
        findings.push_back(std::move(finding));
      }
    std::stable_sort(findings.begin(), findings.end(),
                     [](const Finding& a, const Finding& b) { return rank(a) > rank(b); });
    drop_repetitions(findings);
    std::move(findings.begin(), findings.end(), std::back_inserter(profile.findings));
  }
  std::vector<Finding> program = advise_program(attribution);
  std::move(program.begin(), program.end(), std::back_inserter(profile.findings));
}

}  // namespace fathom
