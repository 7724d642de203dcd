// Memory Transaction Reduction (GPA paper, table 2): the queue for global and local memory requests
// is full.

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

class MemoryTransactionReduction : public Optimizer {
 public:
  std::string_view kind() const override { return "memory-transaction-reduction"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Hotspots hotspots;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame)
        if (is_throttled(part, edge)) hotspots.add(view, part, edge);
    if (hotspots.empty()) return {};
    Finding finding;
    finding.location = hotspots.hottest_cause();
    for (const Hotspots::Spot& spot : hotspots.sorted()) {
      if (finding.related.size() == 4) break;
      finding.related.push_back({"waits here", spot.wait, spot.wait_text});
    }
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.speedup = with_sampling_error(view.total(), hotspots.stalls(), [&](double matched) {
      return stall_elimination(view.total(), matched);
    });
    finding.title = "Too many memory requests at once";
    finding.text = format(
        "%.0f%% of the kernel's samples are warps that cannot even send their memory request, "
        "since the queue in front of "
        "the memory unit is full. Accesses that the 32 threads of a warp spread over many cache "
        "lines are taken apart "
        "into many requests and fill it.",
        100 * hotspots.stalls() / view.total());
    finding.suggestions = {
        "let neighbouring threads access neighbouring addresses (threadIdx.x as the innermost "
        "array index)",
        "change the data layout (structure of arrays, transposed matrix), or stage tiles in shared "
        "memory",
        "load wider values (float4, int4) so that fewer instructions are needed",
        "read data that all threads share and nobody changes through __constant__ or keep it in "
        "registers"};
    finding.assumptions = {"all waiting for a place in the queue goes away"};
    return {finding};
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_memory_transaction_reduction() {
  return std::make_unique<MemoryTransactionReduction>();
}

}  // namespace fathom
