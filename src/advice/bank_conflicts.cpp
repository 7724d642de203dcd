// Shared memory: lanes of a warp that access different words of one bank are served one after the
// other.

#include <algorithm>

#include "advice/access_costs.h"
#include "advice/optimizer.h"
#include "base/text.h"

namespace fathom {
namespace {

double extra_passes(const AccessCost& cost) {
  return cost.issued * (*cost.access->passes - cost.access->ideal_passes);
}

struct Conflicts {
  std::vector<AccessCost> accesses;  ///< most extra passes first
  double passes = 0, extra = 0;      ///< of the load/store unit, global accesses included
};

Conflicts conflicts_of(const KernelView& view) {
  Conflicts result;
  for (const AccessCost& cost : view.access_costs()) {
    const LaneAccess& access = *cost.access;
    result.passes += cost.issued * unit_cycles(access, cost.sectors, access.lines);
    if (access.space != MemorySpace::shared || !access.passes ||
        *access.passes <= 1.5 * access.ideal_passes)
      continue;
    result.extra += extra_passes(cost);
    result.accesses.push_back(cost);
  }
  std::stable_sort(
      result.accesses.begin(), result.accesses.end(),
      [](const AccessCost& a, const AccessCost& b) { return extra_passes(a) > extra_passes(b); });
  return result;
}

bool is_conflicting(const Conflicts& conflicts, const FunctionPart& part, uint32_t instruction) {
  return std::any_of(
      conflicts.accesses.begin(), conflicts.accesses.end(), [&](const AccessCost& cost) {
        return cost.part->function == part.function && cost.access->instruction == instruction;
      });
}

/// Waiting for the data of such accesses, and at the queue that they fill.
Hotspots stalls_of(const KernelView& view, const Conflicts& conflicts) {
  constexpr double kDominates = 0.3;
  bool dominates = conflicts.extra >= kDominates * conflicts.passes;
  Hotspots hotspots;
  for (const FunctionPart& part : view.parts())
    for (const Blame& edge : part.function->blame) {
      bool queue =
          edge.reason == StallReason::mio_throttle ||
          (edge.reason == StallReason::short_scoreboard && edge.kind == StallClass::shared_memory);
      if ((queue && dominates) || is_conflicting(conflicts, part, edge.producer))
        hotspots.add(view, part, edge);
    }
  return hotspots;
}

class BankConflicts : public Optimizer {
 public:
  std::string_view kind() const override { return "bank-conflicts"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Conflicts conflicts = conflicts_of(view);
    if (conflicts.extra <= 0) return {};
    Hotspots hotspots = stalls_of(view, conflicts);
    if (hotspots.empty()) return {};
    return {describe(view, conflicts, hotspots)};
  }

 private:
  static Change change_of(const WhatIf& model, const Conflicts& conflicts) {
    Change change;
    change.access = conflicts.extra / conflicts.passes * model.access_demand();
    for (const AccessCost& cost : conflicts.accesses)
      change.delay +=
          (cost.waits + cost.unread) * (1 - cost.access->ideal_passes / *cost.access->passes);
    return change;
  }

  static Finding describe(const KernelView& view, const Conflicts& conflicts,
                          const Hotspots& hotspots) {
    const AccessCost& worst = conflicts.accesses.front();
    const LaneAccess& access = *worst.access;
    Finding finding;
    finding.fix = "padding";
    finding.location = view.facts(*worst.part, access.instruction).at;
    for (const AccessCost& cost : conflicts.accesses) {
      if (finding.related.size() == 4) break;
      finding.related.push_back(
          {"conflicting access", view.facts(*cost.part, cost.access->instruction).at,
           format("%s (%.0f passes instead of %.0f)", cost.instruction().text.c_str(),
                  *cost.access->passes, cost.access->ideal_passes)});
    }
    for (const RelatedLocation& related : related_of(hotspots, 2))
      if (related.role == "waits here") finding.related.push_back(related);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back({"passes for each access", *access.passes, "passes"});
    finding.evidence.push_back({"passes without conflicts", access.ideal_passes, "passes"});
    finding.evidence.push_back({"superfluous passes of the load/store unit",
                                conflicts.extra / conflicts.passes, "fraction"});
    add_wait_evidence(worst, finding);
    const WhatIf& model = view.model();
    finding.speedup = estimate(view, model, change_of(model, conflicts), 0.7, 1.5);
    finding.title = "Threads of a warp access the same bank of shared memory";
    finding.text = format(
        "Shared memory has 32 banks of 4 bytes that work side by side. Here the threads of a warp "
        "access words of the same bank, so that the access takes %.0f passes instead of %.0f. "
        "%.0f%% of the kernel's samples wait for such accesses or for a place in the queue behind "
        "them.",
        *access.passes, access.ideal_passes, 100 * hotspots.stalls() / view.total());
    if (access.pattern == LanePattern::strided)
      finding.text += format(" Neighbouring threads are %lld bytes apart.",
                             static_cast<long long>(std::abs(access.stride)));
    finding.suggestions = {
        "pad the rows by one element: tile[32][33] instead of tile[32][32] (float tile[N][N + 1])",
        "exchange the indexes, so that neighbouring threads access neighbouring words",
        "swizzle the column: tile[row][column ^ row] instead of tile[row][column]",
        "keep structures in shared memory as one array for each field"};
    finding.assumptions = {
        "the banks follow from the code (thread index, block shape), not from a counter",
        "after the change every access takes the fewest passes"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_bank_conflicts() {
  return std::make_unique<BankConflicts>();
}

}  // namespace fathom
