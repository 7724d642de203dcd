// Atomic operations on the same addresses are carried out one after the other.

#include <algorithm>

#include "advice/access_costs.h"
#include "advice/optimizer.h"
#include "base/text.h"

namespace fathom {
namespace {

/// How many of a warp's lanes meet at one address.
enum class Meeting { none, warp, by_data };

Meeting meeting_of(const LaneAccess& access) {
  switch (access.pattern) {
    case LanePattern::uniform:
      return Meeting::warp;
    case LanePattern::data_dependent:
    case LanePattern::unknown:
      return Meeting::by_data;
    default:
      return Meeting::none;
  }
}

/// A loop that tries until nobody else came between: how float additions to shared memory are made.
bool retries(const Instruction& instruction) {
  return instruction.opcode.find(".CAS") != std::string::npos;
}

struct Match {
  std::vector<AccessCost> atomics;    ///< most waiting first
  double cycles = 0, of_atomics = 0;  ///< of the load/store unit
};

double lost(const AccessCost& cost) {
  return cost.waits + cost.unread + cost.throttled;
}

/// Where lanes meet, the operation goes over the addresses one by one.
double unit_cycles(const AccessCost& cost) {
  bool atomic = cost.instruction().op_class == OpClass::atomic;
  if (atomic && meeting_of(*cost.access) == Meeting::warp && cost.instruction().guard.always)
    return 32;
  if (atomic && meeting_of(*cost.access) == Meeting::by_data) return 8;
  return unit_cycles(*cost.access, cost.sectors, cost.access->lines);
}

Match match_atomics(const KernelView& view) {
  Match match;
  for (const AccessCost& cost : view.access_costs()) {
    match.cycles += cost.issued * unit_cycles(cost);
    if (cost.instruction().op_class != OpClass::atomic || meeting_of(*cost.access) == Meeting::none)
      continue;
    match.of_atomics += cost.issued * unit_cycles(cost);
    match.atomics.push_back(cost);
  }
  std::stable_sort(match.atomics.begin(), match.atomics.end(),
                   [](const AccessCost& a, const AccessCost& b) { return lost(a) > lost(b); });
  return match;
}

class AtomicContention : public Optimizer {
 public:
  std::string_view kind() const override { return "atomic-contention"; }

  std::vector<Finding> match(const KernelView& view) const override {
    Match match = match_atomics(view);
    if (match.atomics.empty()) return {};
    Hotspots hotspots = stalls_of(view, match);
    constexpr double kLeastShare = 0.02;
    if (hotspots.empty() || hotspots.stalls() < kLeastShare * view.total()) return {};
    return {describe(view, match, hotspots)};
  }

 private:
  static Hotspots stalls_of(const KernelView& view, const Match& match) {
    bool dominates = match.of_atomics > 0.3 * match.cycles;
    bool shared = match.atomics.front().access->space == MemorySpace::shared;
    Hotspots hotspots;
    for (const FunctionPart& part : view.parts())
      for (const Blame& edge : part.function->blame) {
        bool own = std::any_of(match.atomics.begin(), match.atomics.end(), [&](const auto& cost) {
          return cost.part->function == part.function && cost.access->instruction == edge.producer;
        });
        bool queue = shared ? edge.reason == StallReason::mio_throttle
                            : edge.reason == StallReason::lg_throttle ||
                                  edge.reason == StallReason::drain ||
                                  edge.reason == StallReason::membar;
        if ((own && edge.kind != StallClass::arithmetic) || (queue && dominates))
          hotspots.add(view, part, edge);
      }
    return hotspots;
  }

  static Change change_of(const KernelView& view, const WhatIf& model, const Match& match,
                          const Hotspots& hotspots) {
    constexpr double kGone = 0.9;  // one atomic for a warp or a block instead of one for a thread
    double share = match.cycles > 0 ? kGone * match.of_atomics / match.cycles : 0;
    double throttled = 0, waits = 0, all_throttled = 0;
    for (const AccessCost& cost : match.atomics) {
      throttled += cost.throttled;
      waits += cost.waits;
    }
    for (const FunctionPart& part : view.parts())
      for (const StallCounts& samples : part.function->samples)
        for (StallReason reason : {StallReason::lg_throttle, StallReason::mio_throttle})
          all_throttled += part.fraction * double(samples.all[size_t(reason)]);
    Change change;
    // Where nobody waits for a place in the queue, fewer of them leave it no shorter.
    if (all_throttled > 0)
      change.access = share * model.access_demand() * throttled / all_throttled;
    if (waits > 0) change.memory = share * model.memory_demand();
    change.delay = kGone * std::max(0.0, hotspots.stalls() - throttled);
    return change;
  }

  static Finding describe(const KernelView& view, const Match& match, const Hotspots& hotspots) {
    const AccessCost& worst = match.atomics.front();
    Meeting meeting = meeting_of(*worst.access);
    Finding finding;
    finding.location = view.facts(*worst.part, worst.access->instruction).at;
    for (const AccessCost& cost : match.atomics) {
      if (finding.related.size() == 3) break;
      finding.related.push_back({"atomic operation",
                                 view.facts(*cost.part, cost.access->instruction).at,
                                 cost.instruction().text});
    }
    for (const RelatedLocation& related : related_of(hotspots, 2))
      if (related.role == "waits here") finding.related.push_back(related);
    finding.evidence = sample_evidence(view, hotspots.stalls());
    finding.evidence.push_back({"atomic operations issued", worst.issued, "samples"});
    add_wait_evidence(worst, finding);
    const WhatIf& model = view.model();
    finding.speedup = estimate(view, model, change_of(view, model, match, hotspots), 0.4, 2.2);
    finding.title = "Threads wait for each other's atomic operations";
    finding.text = format(
        "%.0f%% of the kernel's samples wait for atomic operations or in the queue behind them. %s "
        "Operations on the same address are carried out one after the other.",
        100 * hotspots.stalls() / view.total(),
        meeting == Meeting::warp ? "All threads of a warp use the same address."
                                 : "The addresses come from data, so that many threads may meet at "
                                   "few addresses.");
    if (retries(worst.instruction()))
      finding.text += " This one is a loop that tries again until no other thread came between.";
    suggest(worst, meeting, finding);
    finding.assumptions = {
        "nine of ten operations on the contended addresses can be combined first",
        meeting == Meeting::warp ? "the common address follows from the code"
                                 : "that threads meet is concluded from their waiting"};
    return finding;
  }

  static void suggest(const AccessCost& worst, Meeting meeting, Finding& finding) {
    std::string warp =
        "add up within the warp first (__reduce_add_sync, __shfl_down_sync, or "
        "cooperative_groups::reduce), and let one thread do the atomic operation";
    std::string block =
        "collect in shared memory of the block, and add the block's result once at its end";
    std::string copies =
        "keep several private copies (for each warp, or lane % 8), and add them up at the end";
    std::string local = "collect several of a thread's elements in registers first";
    if (meeting == Meeting::warp) {
      finding.fix = "warp-aggregate";
      finding.suggestions = {warp, block, local};
    } else if (worst.access->space == MemorySpace::shared) {
      finding.fix = "privatize";
      finding.suggestions = {copies, local, warp};
    } else {
      finding.fix = "block-local";
      finding.suggestions = {block, copies, warp};
    }
  }
};

}  // namespace

std::unique_ptr<Optimizer> make_atomic_contention() {
  return std::make_unique<AtomicContention>();
}

}  // namespace fathom
