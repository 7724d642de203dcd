#include "advice/what_if.h"

#include <algorithm>
#include <cmath>

#include "advice/access_costs.h"
#include "advice/estimators.h"
#include "attribution/latency_class.h"

namespace fathom {
namespace {

/// Cycles for which an instruction of a warp keeps each arithmetic unit of its scheduler from the
/// other warps. The multiply-add unit has two halves: what only one of them can do keeps half of
/// it.
std::array<double, kPipes> math_cycles(const MachineModel& machine,
                                       const Instruction& instruction) {
  std::array<double, kPipes> cycles{};
  const PipeUse use = pipe_use(machine, instruction);
  const bool computes = use.pipe != Pipe::none && use.pipe != Pipe::branch &&
                        use.pipe != Pipe::constant && use.pipe != Pipe::memory;
  if (!computes) return cycles;
  cycles[size_t(use.pipe)] = use.cycles;
  if (use.pipe == Pipe::fma || use.pipe == Pipe::fma_heavy)
    cycles[size_t(Pipe::fma)] = use.cycles / 2;
  return cycles;
}

/// The load/store unit moves 128 bytes in a cycle for all four schedulers.
constexpr double kSchedulersSharing = 4;
constexpr double kSectorBytes = 32;

constexpr StallReason kAccessReasons[] = {StallReason::lg_throttle, StallReason::mio_throttle,
                                          StallReason::tex_throttle};

/// Cycles of a load from idle device memory; who waits longer stands in a queue. Measured on
/// Hopper 570 to 690 (public microbenchmarks).
constexpr double kIdleMemoryCycles = 700;
/// Loads that make warps wait longer than this are not served by L2 alone.
constexpr double kL2Cycles = 350;
/// The part of the theoretical bandwidth that reads can reach.
constexpr double kReachableBandwidth = 0.88;

/// Share of the reachable bandwidth that so many bytes take; 0 where the device does not tell it.
double bandwidth_used(const KernelView& view, double bytes, double multiprocessors) {
  const DeviceFacts* device = view.device();
  if (!device || device->memory_bandwidth <= 0 || device->core_clock_khz == 0) return 0;
  double per_cycle = bytes / std::max(1.0, view.issued()) * view.active() /
                     std::max(1.0, view.total()) * view.machine().schedulers * multiprocessors;
  return per_cycle * device->core_clock_khz * 1e3 /
         (kReachableBandwidth * device->memory_bandwidth);
}

/// No unit is ever busy all the time.
constexpr double kMostBusy = 0.97;
double warps_of_block(const LaunchShape& shape) {
  return std::ceil(double(shape.threads_per_block()) / 32);
}

/// Warps of a scheduler that there is room for; where the device has no more multiprocessors busy
/// than blocks, each has one block. A cycle counts as one with an issue a little more often than
/// warps are seen to issue, so that samples alone may tell more than these.
double most_resident(const KernelView& view) {
  double most = 0;
  for (const LaunchGroup& group : view.kernel().groups) {
    bool alone = view.device() && group.shape.blocks() <= view.device()->multiprocessors;
    double warps = group.occupancy.active_warps;
    most = std::max(most, alone ? std::min(warps, warps_of_block(group.shape)) : warps);
  }
  return most > 0 ? most / view.machine().schedulers : 1e9;
}

/// Of the other warps of a scheduler those that belong to a warp's own block.
double block_share(const KernelView& view, double warps) {
  if (view.kernel().groups.empty() || warps <= 1.01) return 0;
  double own = warps_of_block(view.main_group().shape) / view.machine().schedulers;
  return std::clamp((own - 1) / (warps - 1), 0.0, 1.0);
}

/// A share of the bandwidth that cannot be, with some room for error.
constexpr double kImplausible = 1.05;
/// A unit is never quite sure to be in use by another warp.
constexpr double kMostMet = 0.99;
/// A unit that is less busy hardly has a queue.
constexpr double kQueues = 0.5;
/// A share of waiting that is no queue.
constexpr double kNoQueue = 0.02;
/// Waiting beyond an idle memory's latency is a queue there if it has this much to do at least.
constexpr double kHasQueue = 0.2;

/// How busy a unit is at which a random server makes each of `warps` wait for this share of its
/// time: the model's own equation solved for it.
double busy_from_wait(double wait_share, double warps) {
  if (warps <= 1.01 || wait_share <= 0) return 0;
  double k = (warps - 1) / warps, a = k / warps, b = k * wait_share;
  return std::min(kMostBusy, (std::sqrt(b * b + 4 * a * wait_share) - b) / (2 * a));
}

}  // namespace

struct WhatIf::Tally {
  double not_selected = 0, math_wait = 0, access_wait = 0;
  double queue_wait = 0;  ///< samples of loads beyond what idle memory takes
  std::array<double, kPipes> pipes{};
  double access = 0;                   ///< cycles of the load/store unit
  double bytes = 0, needed_bytes = 0;  ///< to and from device memory; if coalesced
};

void WhatIf::tally_accesses(const KernelView& view, Tally& t) {
  // Loads of a block are under way together: who waits for one waits for all of them.
  struct Burst {
    double issued = 0, waits = 0;
    bool gathers = false;  ///< takes long by itself
  };
  std::map<std::pair<const AnalyzedFunction*, uint32_t>, Burst> bursts;
  auto burst_of = [&](const AccessCost& cost) -> Burst& {
    const AnalyzedFunction& function = *cost.part->function;
    return bursts[{&function, function.graph.block_of[cost.access->instruction]}];
  };
  const std::vector<AccessCost>& costs = view.access_costs();
  for (const AccessCost& cost : costs) {
    const LaneAccess& access = *cost.access;
    t.access +=
        cost.issued * kSchedulersSharing * unit_cycles(access, access.ideal_sectors, access.lines);
    if (access.space == MemorySpace::shared || cost.instruction().is_store()) continue;
    burst_of(cost).waits += cost.waits;
    burst_of(cost).issued = std::max(burst_of(cost).issued, cost.issued);
    burst_of(cost).gathers = burst_of(cost).gathers || !access.is_known();
  }
  for (const auto& [block, burst] : bursts)
    if (!burst.gathers)
      t.queue_wait += std::max(0.0, burst.waits - burst.issued * kIdleMemoryCycles);
  double stored = 0;
  for (const AccessCost& cost : costs) {
    if (cost.access->space == MemorySpace::shared) continue;
    double bytes = cost.issued * cost.sectors * kSectorBytes;
    double needed = cost.issued * cost.needed_sectors * kSectorBytes;
    const Burst& burst = burst_of(cost);
    if (cost.instruction().is_store())
      stored += needed;  // parts of sectors meet in L2
    else if (burst.waits > burst.issued * kL2Cycles)
      t.bytes += bytes, t.needed_bytes += needed;
  }
  // Where no load comes from device memory, what is stored probably stays in L2 as well.
  if (t.bytes > 0) t.bytes += stored, t.needed_bytes += stored;
}

WhatIf::Tally WhatIf::tally_of(const KernelView& view) {
  Tally t;
  for (const FunctionPart& part : view.parts())
    for (uint32_t i = 0; i < part.function->instructions.size(); ++i) {
      const Instruction& instruction = part.function->instructions[i];
      const StallCounts& samples = part.function->samples[i];
      auto of = [&](StallReason r) { return part.fraction * double(samples.all[size_t(r)]); };
      double issued = part.fraction * double(samples.issued());
      t.not_selected += of(StallReason::not_selected) + of(StallReason::dispatch_stall);
      t.math_wait += of(StallReason::math_pipe_throttle);
      // Slow arithmetic goes through the same queue as shared memory.
      bool slow = pipe_use(view.machine(), instruction).pipe == Pipe::special;
      for (StallReason reason : kAccessReasons) (slow ? t.math_wait : t.access_wait) += of(reason);
      const std::array<double, kPipes> cycles = math_cycles(view.machine(), instruction);
      for (size_t pipe = 0; pipe < kPipes; ++pipe) t.pipes[pipe] += issued * cycles[pipe];
      if (instruction.space == MemorySpace::local && instruction.is_memory())
        t.access += issued * kSchedulersSharing * std::max(1.0, instruction.access_bytes / 4.0);
    }
  tally_accesses(view, t);
  return t;
}

Change& Change::operator+=(const Change& other) {
  issue += other.issue;
  delay += other.delay;
  together += other.together;
  math += other.math;
  access += other.access;
  memory += other.memory;
  warps *= other.warps;
  multiprocessors *= other.multiprocessors;
  return *this;
}

Change Change::scaled(double share) const {
  Change result = *this;
  for (double* part : {&result.issue, &result.delay, &result.together, &result.math, &result.access,
                       &result.memory})
    *part *= share;
  return result;
}

WhatIf::WhatIf(const KernelView& view) {
  total_ = view.total();
  if (total_ <= 0 || view.issued() <= 0) return;
  warps_ = std::max(1.0, std::min(view.active() / view.issued(), most_resident(view)));
  block_share_ = block_share(view, warps_);
  Tally t = tally_of(view);

  delay_ = total_;  // fit() takes out the waits that the model explains
  issue_.wait = t.not_selected;
  fit(issue_, std::min(1.0, warps_ * view.issued() / total_));
  math_.wait = t.math_wait;
  busiest_pipe_ = size_t(std::max_element(t.pipes.begin(), t.pipes.end()) - t.pipes.begin());
  fit(math_, warps_ * t.pipes[busiest_pipe_] / total_);
  fit_memory(view, t);
  for (const Unit* unit : {&issue_, &math_, &access_, &memory_})
    if (unit->variation > 0) delay_ -= unit->wait;
  if (t.access > 0) access_scale_ = access_.demand / t.access;
  if (t.needed_bytes > 0) memory_scale_ = memory_.demand / t.needed_bytes;
}

/// The load/store unit and the memory behind it. Waiting beyond what idle memory takes belongs to
/// the one that is busy; where neither is, it is the way of a single request (a walk through page
/// tables, a gather), which others do not lengthen.
void WhatIf::fit_memory(const KernelView& view, const Tally& t) {
  double multiprocessors = view.device() ? view.device()->multiprocessors : 1;
  if (view.device() && !view.kernel().groups.empty())
    multiprocessors = std::min(multiprocessors, double(view.main_group().shape.blocks()));
  // More than device memory can deliver comes out of L2, or its sectors were used several times.
  double by_bytes = bandwidth_used(view, t.bytes, multiprocessors);
  sectors_reused_ = by_bytes > kImplausible;
  if (sectors_reused_) by_bytes = bandwidth_used(view, t.needed_bytes, multiprocessors);
  if (by_bytes > kImplausible) by_bytes = 0;
  double queue = t.queue_wait / total_;
  // Where nothing queues, sectors that neighbours share were counted several times.
  if (queue < kNoQueue) by_bytes = std::min(by_bytes, kQueues);
  if (by_bytes >= kQueues) by_bytes = std::max(by_bytes, busy_from_wait(queue, warps_));
  double by_width =
      std::max(warps_ * t.access / total_, busy_from_wait(t.access_wait / total_, warps_));
  access_.wait = t.access_wait;
  if (by_bytes >= kHasQueue && by_bytes >= by_width)
    memory_.wait = t.queue_wait;
  else if (by_width >= kQueues)
    access_.wait += t.queue_wait;
  fit(access_, by_width);
  fit(memory_, by_bytes, 1);  // waiting for data does not tell the queue in it
}

/// The equation of `residence` at the present time, solved for demand and variation.
void WhatIf::fit(Unit& unit, double busy, double least_variation) const {
  unit.busy = std::clamp(busy, 0.0, kMostBusy);
  unit.demand = unit.busy * total_ / warps_;
  unit.variation = 0;
  if (unit.demand <= 0 || warps_ <= 1.01) return;
  // A warp waits at most for one service of each of the others.
  double met = std::min(kMostMet, unit.wait / ((warps_ - 1) * unit.demand));
  double there = std::min(kMostMet, (unit.demand + unit.wait) / total_);
  double variation = (met / (1 - met)) / (there / (1 - there));
  unit.variation = std::clamp(variation, least_variation, 20.0);
  unit.wait = wait_at(unit, warps_, total_);
}

/// Samples that each of `warps` waits for a unit in the course of its work, which takes `total`
/// samples. A warp is at the unit for the share r of its time, and meets another one there with
/// the odds variation * r / (1 - r): r = (demand + (W - 1) * demand * probability) / total.
double WhatIf::wait_at(const Unit& unit, double warps, double total) {
  if (unit.demand <= 0 || unit.variation <= 0 || warps <= 1.01) return 0;
  double service = unit.demand / total, v = unit.variation;
  double b = 1 - service * (warps * v - 1);
  double root = std::sqrt(std::max(0.0, b * b + 4 * (v - 1) * service));
  double there = b + root > 0 ? std::min(1.0, 2 * service / (b + root)) : 1.0;
  return std::max(0.0, there * total - unit.demand);
}

/// Samples of a warp's work with these demands: the root of total = delay + sum of waits, where no
/// unit serves all warps in less time than their demands.
double WhatIf::residence(const std::array<Unit, 4>& units, double delay, double warps) const {
  double low = delay, high = delay;
  for (const Unit& unit : units) {
    low = std::max(low, unit.demand * warps);
    high += unit.demand * warps;
  }
  if (warps <= 1.01) return low;
  auto excess = [&](double total) {
    double sum = delay;
    for (const Unit& unit : units) sum += wait_at(unit, warps, total);
    return sum - total;
  };
  for (int i = 0; i < 60; ++i) {
    double middle = (low + high) / 2;
    (excess(middle) > 0 ? low : high) = middle;
  }
  return high;
}

double WhatIf::speedup(const Change& change) const {
  if (total_ <= 0) return 1;
  auto left = [](double now, double gone) { return std::max(0.02 * now, now - gone); };
  std::array<Unit, 4> units = {issue_, math_, access_, memory_};
  double now = residence(units, delay_, warps_);
  units[0].demand = left(issue_.demand, change.issue);
  units[1].demand = left(math_.demand, change.math);
  units[2].demand = left(access_.demand, change.access);
  units[3].demand = left(memory_.demand, change.memory) * change.multiprocessors;
  double warps = std::max(warps_ * change.warps, 1e-3);
  // With less than one warp a scheduler is idle in between, which `warps` in the quotient counts.
  double least = std::max(1.0, warps);
  double removed = change.delay + change.issue;
  double then = residence(units, left(delay_, removed), least);
  if (change.together > 0) {
    // Nobody of the block works meanwhile: these waits hide no queue, so none grows without them.
    double together = std::min(change.together, change.delay);
    double apart = residence(units, left(delay_, removed - together), least) - together;
    for (const Unit& unit : units) apart = std::max(apart, unit.demand * least);
    then += block_share_ * (std::min(apart, then) - then);
  }
  return now / then * (warps / warps_) * change.multiprocessors;
}

Change WhatIf::less_work(double share) const {
  Change change;
  change.issue = issue_.demand * share;
  change.delay = std::max(0.0, delay_ * share - change.issue);
  change.math = math_.demand * share;
  change.access = access_.demand * share;
  return change;
}

Change WhatIf::without(const KernelView& view, const FunctionPart& part,
                       uint32_t instruction) const {
  const Instruction& code = part.function->instructions[instruction];
  const StallCounts& samples = part.function->samples[instruction];
  auto of = [&](StallReason r) { return part.fraction * double(samples.all[size_t(r)]); };
  Change change;
  change.issue = of(StallReason::selected);
  change.delay = of(StallReason::wait) + of(StallReason::short_scoreboard);
  change.math = change.issue * math_cycles(view.machine(), code)[busiest_pipe_];
  if (code.is_memory() && code.space != MemorySpace::constant)
    change.access = change.issue * kSchedulersSharing * access_scale_;
  bool to_device = code.is_memory() && code.space != MemorySpace::shared &&
                   code.space != MemorySpace::constant && code.space != MemorySpace::local;
  if (to_device)
    change.memory = std::min(memory_.demand, change.issue * 32 * code.access_bytes * memory_scale_);
  return change;
}

namespace {

/// What the model itself is worth: against the measured pairs of benchmarks/advice the gain was
/// seldom less or more than these parts of the estimate.
constexpr double kLeastOfGain = 0.6, kMostOfGain = 1.5;

}  // namespace

std::optional<SpeedupRange> estimate(const KernelView& view, const WhatIf& model,
                                     const Change& change, double least, double most) {
  if (view.total() < kFewestSamples) return std::nullopt;
  double samples = std::max(1.0, change.issue + change.delay);
  double error = change.warps == 1 && change.multiprocessors == 1 ? 1.96 / std::sqrt(samples)
                                                                  : 1.96 / std::sqrt(view.issued());
  double mid = model.speedup(change);
  auto widened = [&](double low, double high) {
    double gain = mid - 1;
    return SpeedupRange{std::min(low, 1 + kLeastOfGain * gain), mid,
                        std::max(high, 1 + kMostOfGain * gain)};
  };
  if (change.warps != 1 || change.multiprocessors != 1)
    return widened(1 + (mid - 1) * least / (1 + error), 1 + (mid - 1) * most * (1 + error));
  return widened(model.speedup(change.scaled(least / (1 + error))),
                 model.speedup(change.scaled(most * (1 + error))));
}

std::optional<double> wait_per_execution(const FunctionPart& part, uint32_t producer) {
  double issued = double(part.function->samples[producer].issued());
  if (issued < 20) return std::nullopt;
  double stalls = 0;
  for (const Blame& edge : part.function->blame)
    if (edge.producer == producer && edge.consumer != producer) stalls += edge.stalls;
  return stalls / issued;
}

}  // namespace fathom
