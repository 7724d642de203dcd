#include "advice/what_if.h"

#include <algorithm>
#include <cmath>

#include "advice/estimators.h"

namespace fathom {
namespace {

/// Cycles for which an instruction of a warp keeps its pipe from the other warps of the scheduler.
/// Source: CUDA C++ Programming Guide, throughput of native arithmetic instructions, compute
/// capability 9.0 (lanes per multiprocessor and cycle: 128, 64, 16), over four schedulers.
double pipe_cycles(const MachineModel& machine, const Instruction& instruction) {
  switch (instruction.op_class) {
    case OpClass::fp32:
      return 1;
    case OpClass::fp16:
    case OpClass::integer:
    case OpClass::integer_multiply:
      return 2;
    case OpClass::fp64: {
      bool few_units = machine.arch == "sm_86" || machine.arch == "sm_87" ||
                       machine.arch == "sm_89" || machine.arch == "sm_75" ||
                       machine.latency_of("fp64").max >= 64;
      return few_units ? 64 : 2;
    }
    case OpClass::special:
    case OpClass::integer_wide:
      return 8;
    case OpClass::conversion:
      return instruction.opcode.find("64") != std::string::npos ? 8 : 2;
    case OpClass::tensor:
      return 8;
    default:
      return 0;
  }
}

/// Arithmetic pipes that work side by side.
enum Pipe { kFloat, kInteger, kDouble, kSlow, kTensor, kPipes };
Pipe pipe_of(OpClass op_class) {
  switch (op_class) {
    case OpClass::integer:
      return kInteger;
    case OpClass::fp64:
      return kDouble;
    case OpClass::special:
    case OpClass::integer_wide:
    case OpClass::conversion:
      return kSlow;
    case OpClass::tensor:
      return kTensor;
    default:
      return kFloat;
  }
}

/// The load/store unit moves 128 bytes in a cycle for all four schedulers.
double access_cycles(const Instruction& instruction) {
  if (!instruction.is_memory() || instruction.space == MemorySpace::constant) return 0;
  return 4 * std::max(1.0, instruction.access_bytes / 4.0);
}

bool to_device_memory(const Instruction& instruction) {
  return instruction.is_memory() && instruction.space != MemorySpace::shared &&
         instruction.space != MemorySpace::constant && instruction.space != MemorySpace::local;
}

constexpr StallReason kAccessReasons[] = {StallReason::lg_throttle, StallReason::mio_throttle,
                                          StallReason::tex_throttle};

/// Cycles of a load from idle device memory; who waits longer stands in a queue. Measured on
/// Hopper 570 to 690 (public microbenchmarks).
constexpr double kIdleMemoryCycles = 700;
/// Loads that make warps wait longer than this are not served by L2 alone.
constexpr double kL2Cycles = 350;
/// The part of the theoretical bandwidth that reads can reach.
constexpr double kReachableBandwidth = 0.88;

struct Tally {
  double issued = 0, not_selected = 0, math_wait = 0, access_wait = 0, memory_wait = 0;
  std::array<double, kPipes> pipes{};
  double access = 0;  ///< cycles of the load/store unit
  double bytes = 0;   ///< to and from device memory, if coalesced, per issued-sample unit
};

Tally tally_of(const KernelView& view) {
  Tally t;
  double stored = 0;
  for (const FunctionPart& part : view.parts()) {
    std::map<uint32_t, double> waits;
    for (const Blame& edge : part.function->blame)
      if (edge.reason == StallReason::long_scoreboard) waits[edge.producer] += edge.stalls;
    for (uint32_t i = 0; i < part.function->instructions.size(); ++i) {
      const Instruction& instruction = part.function->instructions[i];
      const StallCounts& samples = part.function->samples[i];
      auto of = [&](StallReason r) { return part.fraction * double(samples.all[size_t(r)]); };
      double issued = part.fraction * double(samples.issued());
      t.issued += issued;
      t.not_selected += of(StallReason::not_selected) + of(StallReason::dispatch_stall);
      t.math_wait += of(StallReason::math_pipe_throttle);
      for (StallReason reason : kAccessReasons) t.access_wait += of(reason);
      t.pipes[pipe_of(instruction.op_class)] += issued * pipe_cycles(view.machine(), instruction);
      t.access += issued * access_cycles(instruction);
      if (!to_device_memory(instruction)) continue;
      double wait = waits.count(i) ? part.fraction * waits[i] : 0;
      double each = issued > 0 ? wait / issued : 0;
      if (each > kIdleMemoryCycles) t.memory_wait += wait - issued * kIdleMemoryCycles;
      if (each > kL2Cycles)
        t.bytes += issued * 32 * instruction.access_bytes;
      else if (instruction.is_store())
        stored += issued * 32 * instruction.access_bytes;
    }
  }
  // Where no load comes from device memory, what is stored probably stays in L2 as well.
  if (t.bytes > 0) t.bytes += stored;
  return t;
}

/// Share of the reachable bandwidth that coalesced accesses of this number would take.
std::optional<double> bandwidth_used(const KernelView& view, double bytes, double multiprocessors) {
  const DeviceFacts* device = view.device();
  if (!device || device->memory_bandwidth <= 0 || device->core_clock_khz == 0) return std::nullopt;
  double per_cycle = bytes / std::max(1.0, view.issued()) * view.active() /
                     std::max(1.0, view.total()) * view.machine().schedulers * multiprocessors;
  return per_cycle * device->core_clock_khz * 1e3 /
         (kReachableBandwidth * device->memory_bandwidth);
}

constexpr double kMostBusy = 0.97;
constexpr double kImplausible = 1.05;

/// How busy a unit is at which a random server makes each of `warps` wait for this share of its
/// time: the model's own equation solved for it.
double busy_from_wait(double wait_share, double warps) {
  if (warps <= 1.01 || wait_share <= 0) return 0;
  double k = (warps - 1) / warps, a = k / warps, b = k * wait_share;
  return std::min(kMostBusy, (std::sqrt(b * b + 4 * a * wait_share) - b) / (2 * a));
}

}  // namespace

Change& Change::operator+=(const Change& other) {
  issue += other.issue;
  delay += other.delay;
  math += other.math;
  access += other.access;
  memory += other.memory;
  warps *= other.warps;
  multiprocessors *= other.multiprocessors;
  return *this;
}

Change Change::scaled(double share) const {
  Change result = *this;
  for (double* part : {&result.issue, &result.delay, &result.math, &result.access, &result.memory})
    *part *= share;
  return result;
}

WhatIf::WhatIf(const KernelView& view) {
  total_ = view.total();
  if (total_ <= 0 || view.issued() <= 0) return;
  warps_ = std::max(1.0, view.active() / view.issued());
  Tally t = tally_of(view);
  double multiprocessors = view.device() ? view.device()->multiprocessors : 1;
  if (view.device() && !view.kernel().groups.empty())
    multiprocessors = std::min(multiprocessors, double(view.main_group().shape.blocks()));

  delay_ = total_;  // fit() takes out the waits that the model explains
  issue_.wait = t.not_selected;
  fit(issue_, std::min(1.0, view.active() / total_));
  math_.wait = t.math_wait;
  busiest_pipe_ = int(std::max_element(t.pipes.begin(), t.pipes.end()) - t.pipes.begin());
  fit(math_, warps_ * t.pipes[size_t(busiest_pipe_)] / total_);
  access_.wait = t.access_wait;
  double by_width = warps_ * t.access / total_;
  fit(access_, std::max(by_width, busy_from_wait(t.access_wait / total_, warps_)));
  memory_.wait = t.memory_wait;
  double by_bytes = bandwidth_used(view, t.bytes, multiprocessors).value_or(0);
  // More than device memory can deliver comes out of L2, or is not as coalesced as supposed.
  if (by_bytes > kImplausible) by_bytes = 0;
  fit(memory_, std::max(by_bytes, busy_from_wait(t.memory_wait / total_, warps_)));
  for (const Unit* unit : {&issue_, &math_, &access_, &memory_})
    if (unit->variation > 0) delay_ -= unit->wait;
  if (getenv("DBG"))
    fprintf(stderr,
            "%s W=%.2f issue %.2f math %.2f access %.2f (w %.2f) memory %.2f (w %.2f bytes %.2f) "
            "delay %.2f\n",
            view.kernel().name.substr(0, 30).c_str(), warps_, issue_.busy, math_.busy, access_.busy,
            t.access_wait / total_, memory_.busy, t.memory_wait / total_, by_bytes,
            delay_ / total_);
  if (t.access > 0) access_scale_ = access_.demand / t.access;
  if (t.bytes > 0) memory_scale_ = memory_.demand / t.bytes;
}

/// The equation of `residence` at the present time, solved for the demand or the variation.
void WhatIf::fit(Unit& unit, std::optional<double> known_busy) const {
  unit.busy = std::clamp(known_busy.value_or(0), 0.0, kMostBusy);
  unit.demand = unit.busy * total_ / warps_;
  unit.variation = 0;
  if (unit.demand <= 0 || warps_ <= 1.01) return;
  double load = (warps_ - 1) * unit.demand / total_;
  double queue = unit.demand * load / (1 - load);
  unit.variation = std::clamp(unit.wait / queue, 1e-6, 20.0);
  unit.wait = std::min(unit.wait, unit.variation * queue);
}

/// Samples of a warp's work with these demands: the root of total = delay + sum of waits, where a
/// unit's wait is variation * (W - 1) * demand * (demand + wait) / total.
double WhatIf::residence(const std::array<Unit, 4>& units, double delay, double warps) const {
  double low = delay, high = delay;
  for (const Unit& unit : units) {
    low = std::max(low, unit.demand * warps);
    high += unit.demand * warps * std::max(1.0, unit.variation);
  }
  if (warps <= 1.01) return low;
  auto excess = [&](double total) {
    double sum = delay;
    for (const Unit& unit : units) {
      double load = (warps - 1) * unit.demand / total;
      if (load >= 1) return 1.0;
      sum += unit.variation * unit.demand * load / (1 - load);
    }
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
  double then = residence(units, left(delay_, change.delay + change.issue), std::max(1.0, warps));
  return now / then * (warps / warps_) * change.multiprocessors;
}

Change WhatIf::without(const KernelView& view, const FunctionPart& part,
                       uint32_t instruction) const {
  const Instruction& code = part.function->instructions[instruction];
  const StallCounts& samples = part.function->samples[instruction];
  auto of = [&](StallReason r) { return part.fraction * double(samples.all[size_t(r)]); };
  Change change;
  change.issue = of(StallReason::selected);
  change.delay = of(StallReason::wait) + of(StallReason::short_scoreboard);
  if (pipe_of(code.op_class) == busiest_pipe_)
    change.math = change.issue * pipe_cycles(view.machine(), code);
  change.access = change.issue * access_cycles(code) * access_scale_;
  if (to_device_memory(code))
    change.memory = std::min(memory_.demand, change.issue * 32 * code.access_bytes * memory_scale_);
  return change;
}

std::optional<SpeedupRange> estimate(const KernelView& view, const WhatIf& model,
                                     const Change& change, double least, double most) {
  if (view.total() < kFewestSamples) return std::nullopt;
  double samples = std::max(1.0, change.issue + change.delay);
  double error = change.warps == 1 && change.multiprocessors == 1 ? 1.96 / std::sqrt(samples)
                                                                  : 1.96 / std::sqrt(view.issued());
  double mid = model.speedup(change);
  if (change.warps != 1 || change.multiprocessors != 1)
    return SpeedupRange{1 + (mid - 1) * least / (1 + error), mid,
                        1 + (mid - 1) * most * (1 + error)};
  return SpeedupRange{model.speedup(change.scaled(least / (1 + error))), mid,
                      model.speedup(change.scaled(most * (1 + error)))};
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
