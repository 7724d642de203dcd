// Memory Transaction Reduction (GPA paper, table 2): the queue for global and local memory requests
// is full.

#include "advice/coalescing.h"
#include "advice/estimators.h"
#include "advice/optimizer.h"
#include "base/text.h"

namespace fathom {
namespace {

/// The queue in front of the memory unit is full: either an instruction cannot enter it, or one
/// that is in it has not even read its operands yet, which somebody wants to overwrite.
bool is_throttled(const FunctionPart& part, const Blame& edge) {
  if (edge.reason == StallReason::lg_throttle || edge.reason == StallReason::tex_throttle)
    return true;
  const Instruction& producer = part.function->instructions[edge.producer];
  bool to_memory = producer.is_store() || producer.op_class == OpClass::atomic;
  return edge.kind == StallClass::write_after_read && to_memory &&
         producer.space != MemorySpace::shared;
}

/// Atomic operations and local memory have optimizers of their own (atomic_contention.cpp,
/// register_reuse.cpp).
bool belongs_elsewhere(const FunctionPart& part, const Blame& edge) {
  const Instruction& producer = part.function->instructions[edge.producer];
  return producer.op_class == OpClass::atomic || producer.space == MemorySpace::local;
}

class MemoryTransactionReduction : public Optimizer {
 public:
  std::string_view kind() const override { return "memory-transaction-reduction"; }

  std::vector<Finding> match(const KernelView& view) const override {
    // Spread accesses have a finding of their own (coalescing.cpp), with all that waits for them.
    Coalescing coalescing = coalescing_of(view);
    if (coalescing.access_excess >= kSpreadDominates) return {};
    Hotspots hotspots;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame)
        if (is_throttled(part, edge) && !belongs_elsewhere(part, edge) &&
            !coalescing.is_cause(part, edge.producer))
          hotspots.add(view, part, edge);
    if (hotspots.empty()) return {};
    Finding finding = describe(view, hotspots);
    if (finding.fix == "wider-requests") return {};  // vectorized_loads.cpp
    return {finding};
  }

 private:
  static Finding describe(const KernelView& view, const Hotspots& hotspots) {
    Finding finding;
    finding.location = hotspots.hottest_cause();
    for (const Hotspots::Spot& spot : hotspots.sorted()) {
      if (finding.related.size() == 4) break;
      finding.related.push_back({"waits here", spot.wait, spot.wait_text});
    }
    finding.fix = fix_of(view);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.speedup = with_sampling_error(view.total(), hotspots.stalls(), [&](double matched) {
      return stall_elimination(view.total(), matched);
    });
    finding.title = "Too many memory requests at once";
    finding.text = format(
        "%.0f%% of the kernel's samples are warps that cannot even send their memory request, "
        "since the queue in front of "
        "the memory unit is full. The threads of a warp access neighbouring addresses where the "
        "code shows it; there are too many requests all the same.",
        100 * hotspots.stalls() / view.total());
    suggest(finding);
    finding.assumptions = {"all waiting for a place in the queue goes away"};
    return finding;
  }

  /// What kind of requests there are most of, by issued samples.
  static std::string fix_of(const KernelView& view) {
    double uniform = 0, narrow = 0, all = 0;
    for (const AccessCost& cost : view.access_costs()) {
      const LaneAccess& access = *cost.access;
      if (access.space == MemorySpace::shared) continue;
      all += cost.issued;
      if (access.pattern == LanePattern::uniform && cost.instruction().is_load())
        uniform += cost.issued;
      if (access.pattern == LanePattern::strided && access.bytes < 16 &&
          !is_uncoalesced(cost.instruction(), access))
        narrow += cost.issued;
    }
    if (uniform > 0.5 * all) return "constant-memory";
    return narrow > 0.5 * all ? "wider-requests" : "fewer-requests";
  }

  static void suggest(Finding& finding) {
    std::string wider = "load wider values (float4, int4) so that fewer instructions are needed";
    std::string constant =
        "read data that all threads share and nobody changes through __constant__ or keep it in "
        "registers";
    std::string neighbours =
        "let neighbouring threads access neighbouring addresses where their indexes come from "
        "memory: sort or bin them, or stage tiles in shared memory";
    finding.suggestions = {wider, neighbours, constant};
    if (finding.fix == "constant-memory") finding.suggestions = {constant, wider, neighbours};
    if (finding.fix == "fewer-requests") finding.suggestions = {neighbours, wider, constant};
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_memory_transaction_reduction() {
  return std::make_unique<MemoryTransactionReduction>();
}

}  // namespace fathom
