// Memory Transaction Reduction (GPA paper, table 2) where the code shows why: the 32 threads of a
// warp access addresses that are far apart, so that each request moves many sectors of 32 bytes.

#include "advice/coalescing.h"

#include <algorithm>

#include "advice/optimizer.h"
#include "base/text.h"

namespace fathom {
namespace {

double superfluous(const AccessCost& cost) {
  return cost.issued * (cost.access->sectors.value_or(0) - cost.access->ideal_sectors);
}

}  // namespace

bool is_uncoalesced(const Instruction& instruction, const LaneAccess& access) {
  return access.space != MemorySpace::shared && instruction.op_class != OpClass::atomic &&
         access.pattern != LanePattern::uniform && access.sectors &&
         *access.sectors > 1.5 * access.ideal_sectors && access.ideal_sectors > 0;
}

bool Coalescing::is_cause(const FunctionPart& part, uint32_t instruction) const {
  return std::any_of(spread.begin(), spread.end(), [&](const AccessCost& cost) {
    return cost.part->function == part.function && cost.access->instruction == instruction;
  });
}

Coalescing coalescing_of(const KernelView& view) {
  Coalescing result;
  double cycles = 0, sectors = 0, fewer_cycles = 0, fewer_sectors = 0;
  for (const AccessCost& cost : view.access_costs()) {
    const LaneAccess& access = *cost.access;
    double now = unit_cycles(access, access.sectors.value_or(cost.sectors), access.lines);
    cycles += cost.issued * now;
    sectors += cost.issued * cost.sectors;
    if (!is_uncoalesced(cost.instruction(), access) || cost.vectorizable) continue;
    fewer_cycles +=
        cost.issued * (now - unit_cycles(access, access.ideal_sectors, access.ideal_sectors / 4));
    fewer_sectors += cost.issued * (cost.sectors - cost.needed_sectors);
    result.spread.push_back(cost);
  }
  if (cycles > 0) result.access_excess = fewer_cycles / cycles;
  if (sectors > 0) result.memory_excess = fewer_sectors / sectors;
  std::stable_sort(
      result.spread.begin(), result.spread.end(),
      [](const AccessCost& a, const AccessCost& b) { return superfluous(a) > superfluous(b); });
  return result;
}

namespace {

/// Stalls at queues for memory, and for the data of spread accesses.
Hotspots stalls_of(const KernelView& view, const Coalescing& coalescing) {
  Hotspots hotspots;
  bool dominates = coalescing.access_excess >= kSpreadDominates;
  for (const FunctionPart& part : view.parts())
    for (const Blame& edge : part.function->blame) {
      bool queue = edge.reason == StallReason::lg_throttle ||
                   edge.reason == StallReason::tex_throttle || edge.reason == StallReason::drain;
      if ((queue && dominates) || coalescing.is_cause(part, edge.producer))
        hotspots.add(view, part, edge);
    }
  return hotspots;
}

/// The line whose accesses move most sectors for nothing, with what waits for them counted as well.
SourceLocation worst_line(const KernelView& view, const Coalescing& coalescing) {
  double stalls = 0, excess = 0;
  for (const AccessCost& cost : coalescing.spread) {
    stalls += cost.waits + cost.unread + cost.throttled;
    excess += superfluous(cost);
  }
  std::map<SourceLocation, double> lines;
  SourceLocation worst;
  double most = -1;
  for (const AccessCost& cost : coalescing.spread) {
    const SourceLocation& at = view.facts(*cost.part, cost.access->instruction).at;
    if (at.line == 0) continue;
    double& weight = lines[at];
    if (excess > 0) weight += superfluous(cost) / excess;
    if (stalls > 0) weight += (cost.waits + cost.unread + cost.throttled) / stalls;
    if (weight > most) most = weight, worst = at;
  }
  return worst;
}

std::string distance_text(const LaneAccess& access) {
  switch (access.pattern) {
    case LanePattern::strided:
      return format("%lld bytes apart", static_cast<long long>(std::abs(access.stride)));
    case LanePattern::by_parameter:
      return "at a distance that the launch's parameters set (a row, a column or a field size)";
    default:
      return "scattered";
  }
}

class CoalescedAccess : public Optimizer {
 public:
  std::string_view kind() const override { return "memory-transaction-reduction"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Coalescing coalescing = coalescing_of(view);
    if (coalescing.spread.empty()) return {};
    Hotspots hotspots = stalls_of(view, coalescing);
    if (hotspots.empty()) return {};
    return {describe(view, coalescing, hotspots)};
  }

 private:
  /// Samples that wait at the end for stores to get through, and for special registers, which take
  /// the same queue.
  static double behind_stores(const KernelView& view) {
    double samples = 0;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame) {
        bool special =
            edge.reason == StallReason::short_scoreboard &&
            part.function->instructions[edge.producer].op_class == OpClass::special_register;
        if (edge.reason == StallReason::drain || special) samples += part.fraction * edge.stalls;
      }
    return samples;
  }

  static Change change_of(const KernelView& view, const WhatIf& model,
                          const Coalescing& coalescing) {
    Change change;
    change.access = coalescing.access_excess * model.access_demand();
    if (!model.sectors_reused()) change.memory = coalescing.memory_excess * model.memory_demand();
    // Queues shrink faster than what goes through them.
    double kept = 1 - coalescing.access_excess;
    for (const AccessCost& cost : coalescing.spread)
      change.delay += cost.unread * (1 - kept * kept);
    if (coalescing.access_excess >= kSpreadDominates)
      change.delay += behind_stores(view) * (1 - kept * kept);
    return change;
  }

  static Finding describe(const KernelView& view, const Coalescing& coalescing,
                          const Hotspots& hotspots) {
    const AccessCost& worst = coalescing.spread.front();
    const LaneAccess& access = *worst.access;
    Finding finding;
    finding.fix = "coalescing";
    finding.location = worst_line(view, coalescing);
    add_accesses(view, coalescing, finding);
    for (const RelatedLocation& related : related_of(hotspots, 2))
      if (related.role == "waits here") finding.related.push_back(related);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back({"sectors for each request", *access.sectors, "sectors"});
    finding.evidence.push_back(
        {"sectors that the same bytes need", access.ideal_sectors, "sectors"});
    finding.evidence.push_back(
        {"superfluous work of the load/store unit", coalescing.access_excess, "fraction"});
    add_wait_evidence(worst, finding);
    const WhatIf& model = view.model();
    finding.speedup = estimate(view, model, change_of(view, model, coalescing), 0.75, 1.2);
    finding.title = "Threads of a warp access memory far apart";
    finding.text = format(
        "The 32 threads of a warp access addresses %s. One request then moves %.0f sectors of 32 "
        "bytes, where %.0f would hold its data. %.0f%% of the kernel's samples wait in the queues "
        "for memory or for such data.",
        distance_text(access).c_str(), *access.sectors, std::max(1.0, access.ideal_sectors),
        100 * hotspots.stalls() / view.total());
    suggest(access, finding);
    finding.assumptions = {
        "the distances between threads follow from the code (thread index, block shape), not from "
        "a counter",
        "after the change each request moves only the sectors that its data need"};
    return finding;
  }

  static void add_accesses(const KernelView& view, const Coalescing& coalescing, Finding& finding) {
    for (const AccessCost& cost : coalescing.spread) {
      if (finding.related.size() == 4) break;
      const LaneAccess& access = *cost.access;
      finding.related.push_back({"spread access", view.facts(*cost.part, access.instruction).at,
                                 format("%s (lanes %s)", cost.instruction().text.c_str(),
                                        distance_text(access).c_str())});
    }
  }

  static void suggest(const LaneAccess& access, Finding& finding) {
    bool structure = access.pattern == LanePattern::strided && std::abs(access.stride) <= 128;
    std::string layout =
        "store each field in an array of its own (structure of arrays), so that neighbouring "
        "threads read neighbouring values; or let a thread load its whole structure with one "
        "16-byte access";
    std::string index =
        "let threadIdx.x run along the innermost array index: exchange the loops or the roles of "
        "x and y";
    if (structure) finding.suggestions.push_back(layout);
    finding.suggestions.push_back(index);
    finding.suggestions.push_back(
        "load a tile with neighbouring addresses into shared memory, and read it from there in "
        "the other direction (pad its rows by one element)");
    if (!structure)
      finding.suggestions.push_back(
          "change the data layout: transpose the matrix once, or use a structure of arrays");
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_coalescing() {
  return std::make_unique<CoalescedAccess>();
}

}  // namespace fathom
