// Constant memory at an index that differs from lane to lane. The constant cache serves one address
// at a time: a warp's request takes as many turns as there are different addresses in it.

#include <algorithm>
#include <cmath>

#include "advice/optimizer.h"
#include "advice/what_if.h"
#include "base/text.h"

namespace fathom {
namespace {

/// Matched samples below this share are not worth a finding.
constexpr double kLeastShare = 0.01;

struct Match {
  Hotspots hotspots;
  double waits = 0;      ///< samples that wait for the values
  double throttled = 0;  ///< samples of these loads that wait for a place in their queue
  double issued = 0;
  double addresses = 0;  ///< most different ones of a request, where they are known
  double cycles = 0;     ///< longest wait for each execution
};

/// What one load costs.
struct Cost {
  double waits = 0, throttled = 0, issued = 0;
  double cycles() const { return issued > 0 ? (waits + throttled) / issued : 0; }
};

bool is_queue(StallReason reason) {
  return reason == StallReason::mio_throttle || reason == StallReason::lg_throttle ||
         reason == StallReason::tex_throttle || reason == StallReason::imc_miss;
}

double queue_samples(const StallCounts& samples) {
  double sum = 0;
  for (size_t r = 0; r < kStallReasonCount; ++r)
    if (is_queue(static_cast<StallReason>(r))) sum += double(samples.all[r]);
  return sum;
}

bool is_wait_for(const Blame& edge, uint32_t load) {
  return edge.producer == load && edge.consumer != load &&
         edge.kind != StallClass::write_after_read;
}

Cost cost_of(const FunctionPart& part, uint32_t load) {
  const StallCounts& samples = part.function->samples[load];
  Cost cost;
  cost.issued = part.fraction * double(samples.issued());
  cost.throttled = part.fraction * queue_samples(samples);
  for (const Blame& edge : part.function->blame)
    if (is_wait_for(edge, load)) cost.waits += part.fraction * edge.stalls;
  return cost;
}

class ConstantIndexing : public Optimizer {
 public:
  std::string_view kind() const override { return "constant-indexing"; }

  std::vector<Finding> match(const KernelView& view) const override {
    std::array<uint32_t, 3> block{};
    if (!view.kernel().groups.empty()) block = view.main_group().shape.block;
    Match match;
    for (const FunctionPart& part : view.parts())
      for (const LaneAccess& access : indexed_constants(*part.function, block)) {
        Cost cost = cost_of(part, access.instruction);
        if (diverges(view, access, cost)) add(view, part, access, cost, match);
      }
    if (match.waits + match.throttled < kLeastShare * view.total() || match.hotspots.empty())
      return {};
    return {describe(view, match)};
  }

 private:
  /// Where the code does not tell whether the lanes' addresses differ, the time does: one address
  /// comes faster than a value from shared memory at its slowest.
  static bool diverges(const KernelView& view, const LaneAccess& access, const Cost& cost) {
    if (access.pattern == LanePattern::uniform) return false;
    if (access.passes) return *access.passes > 1;
    constexpr double kFewest = 20;  // issued samples that tell a mean
    return cost.issued >= kFewest && cost.cycles() > view.machine().latency_of("load_shared").max;
  }

  static void add(const KernelView& view, const FunctionPart& part, const LaneAccess& access,
                  const Cost& cost, Match& match) {
    const uint32_t load = access.instruction;
    for (const Blame& edge : part.function->blame)
      if (is_wait_for(edge, load)) match.hotspots.add(view, part, edge);
    match.hotspots.add_own(view, part, load, queue_samples(part.function->samples[load]));
    match.waits += cost.waits;
    match.throttled += cost.throttled;
    match.issued += cost.issued;
    match.addresses = std::max(match.addresses, access.passes.value_or(0));
    match.cycles = std::max(match.cycles, cost.cycles());
  }

  /// A load from shared memory is waited for as well, but serves all banks at once.
  static Change change_of(const KernelView& view, const Match& match) {
    double all = 0;
    for (const FunctionPart& part : view.parts())
      all += part.fraction * queue_samples(part.function->total());
    double instead = match.issued * view.machine().latency_of("load_shared").min;
    Change change;
    change.delay = std::max(0.0, match.waits - instead);
    if (all > 0) change.access = view.model().access_demand() * match.throttled / all;
    return change;
  }

  static Finding describe(const KernelView& view, const Match& match) {
    Finding finding;
    finding.fix = "shared-table";
    finding.location = match.hotspots.hottest_cause();
    finding.related = related_of(match.hotspots, 3);
    finding.evidence = sample_evidence(view, match.hotspots.stalls());
    if (match.addresses > 0)
      finding.evidence.push_back(
          {"different addresses in a warp's request", match.addresses, "addresses"});
    if (match.issued > 0)
      finding.evidence.push_back({"wait for each execution", std::round(match.cycles), "cycles"});
    finding.speedup = estimate(view, view.model(), change_of(view, match), 0.5, 1.1);
    finding.title = "Threads of a warp read different elements of constant memory";
    finding.text = format(
        "%.0f%% of the kernel's samples wait for constant memory that is read at an index of each "
        "thread's own. The constant cache serves one address at a time, so that a warp's request "
        "takes a turn for each different one. It is made for values that all threads of a warp "
        "read together.",
        100 * match.hotspots.stalls() / view.total());
    finding.suggestions = {
        "copy the table to shared memory when the block begins, and read it there: 32 banks serve "
        "different addresses at once",
        "keep the table in global memory and read it through const T* __restrict__ or __ldg(): the "
        "first-level cache serves a whole line at once",
        "keep one element in each lane's register and fetch it by __shfl_sync(), for up to 32 of "
        "them",
        "order the work so that the threads of a warp use the same index"};
    finding.assumptions = {"the table has room in shared memory",
                           "the indexes of a warp fall into different banks"};
    return finding;
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_constant_indexing() {
  return std::make_unique<ConstantIndexing>();
}

}  // namespace fathom
