// The models of the thesis and the roofline.

#include <algorithm>
#include <cmath>
#include <map>

#include "prediction/predict.h"

namespace fathom {
namespace {

bool is_memory_step(const Step& step) {
  return step.op == Op::load || step.op == Op::store || step.op == Op::atomic ||
         step.op == Op::asynchronous_copy;
}

/// Cycles of the result of a step that nothing is in the way of.
double latency_of(const KernelFacts& facts, uint32_t index) {
  const Step& step = facts.program.steps[index];
  const MemoryFigures& memory = facts.machine.prediction->memory;
  if (step.space == MemorySpace::shared) return memory.shared_latency;
  if (!is_memory_step(step) || step.space == MemorySpace::constant) return step.timing.latency;
  const double share = facts.memory.l2_bytes > 0
                           ? std::min(1.0, facts.memory.dram_bytes / facts.memory.l2_bytes)
                           : 0;
  const double miss = 1 - facts.memory.l1_hit_share;
  return memory.l1_latency + miss * (memory.l2_latency - memory.l1_latency +
                                     share * (memory.dram_latency - memory.l2_latency));
}

double lanes_of(const KernelFacts& facts, const Step& step) {
  const double share = step.timing.pipe == Pipe::memory ? 1 : facts.machine.schedulers;
  return 32 * share / std::max(1.0f, step.timing.pipe_cycles);
}

/// What a step depends on and what it makes, as numbers.
std::vector<uint32_t> registers_of(const Program& program, uint32_t step, bool defined) {
  std::vector<uint32_t> numbers;
  if (program.waits_by_slot) {
    for (int16_t each : defined ? program.steps[step].writes : program.steps[step].reads)
      numbers.push_back(static_cast<uint32_t>(each));
    return numbers;
  }
  const Instruction& instruction = program.instructions[step];
  for (Register each : defined ? instruction.defs : instruction.uses)
    if (each.file != RegisterFile::barrier)
      numbers.push_back(static_cast<uint32_t>(each.file) << 8 | each.index);
  return numbers;
}

/// Instructions of a block for each one on its longest chain of dependences.
double parallelism(const KernelFacts& facts, const Block& block) {
  std::map<uint32_t, uint32_t> depth;
  uint32_t longest = 1, count = 0;
  for (uint32_t i = block.first; i <= block.last; ++i) {
    uint32_t own = 0;
    for (uint32_t reg : registers_of(facts.program, i, false)) {
      const auto found = depth.find(reg);
      if (found != depth.end()) own = std::max(own, found->second);
    }
    ++own;
    for (uint32_t reg : registers_of(facts.program, i, true)) depth[reg] = own;
    longest = std::max(longest, own);
    ++count;
  }
  return static_cast<double>(count) / longest;
}

}  // namespace

KernelFacts gather_facts(const Program& program, const Launch& launch, const MachineModel& machine,
                         const Walk& walk, const MemoryPlan& memory, const Occupancy& occupancy,
                         uint32_t active) {
  KernelFacts facts{program, launch, machine, walk, memory, occupancy, active, {}, {}, {}};
  const size_t steps = program.steps.size();
  facts.per_warp.assign(steps, 0);
  facts.sectors.assign(steps, 0);
  facts.passes.assign(steps, 0);
  for (const WarpTrace& warp : walk.warps) {
    for (const Event& event : warp.events) {
      const double weight = event.weight * warp.share;
      facts.per_warp[event.step] += weight;
      if (event.access == kNoAccess) continue;
      const Access& access = walk.accesses[event.access];
      (access.sectors > 0 ? facts.sectors : facts.passes)[event.step] +=
          weight * (access.sectors > 0 ? access.sectors : access.wavefronts);
    }
  }
  for (size_t i = 0; i < steps; ++i) {
    if (facts.per_warp[i] <= 0) continue;
    facts.sectors[i] /= facts.per_warp[i];
    facts.passes[i] /= facts.per_warp[i];
    facts.per_warp[i] /= static_cast<double>(std::max<size_t>(1, walk.warps.size()));
  }
  return facts;
}

double delay_seconds(const KernelFacts& facts) {
  const PredictionFigures& figures = *facts.machine.prediction;
  const double clock = figures.clock_mhz * 1e6;
  const double warps_at_once = std::max(
      1u, std::min<uint32_t>(facts.occupancy.active_warps,
                             static_cast<uint32_t>(std::ceil(facts.warps() / facts.active))));
  double delay = 0, conflicts = 0, extra_bytes = 0;
  for (const Block& block : facts.program.graph.blocks) {
    const double ilp = parallelism(facts, block);
    for (uint32_t i = block.first; i <= block.last; ++i) {
      if (facts.per_warp[i] <= 0) continue;
      const Step& step = facts.program.steps[i];
      const double latency = latency_of(facts, i), lanes = lanes_of(facts, step);
      const bool outside = is_memory_step(step) && facts.sectors[i] > 0;
      const double parallel = outside ? warps_at_once : ilp * warps_at_once;
      double d = latency / parallel;
      if (parallel > latency * lanes / 32) {
        const double bandwidth = figures.memory.dram_read_bytes_per_second / facts.active;
        d += outside ? facts.sectors[i] * 32 * clock / bandwidth : 32 / lanes;
      }
      delay += facts.per_warp[i] * d;
      if (facts.passes[i] > 1) conflicts += facts.per_warp[i] * (facts.passes[i] - 1);
      const double ideal = 32.0 * step.bytes / 32;
      if (outside && facts.sectors[i] > ideal)
        extra_bytes += facts.per_warp[i] * (facts.sectors[i] - ideal) * 32;
    }
  }
  // A wave lasts as long as its fullest multiprocessor.
  const double per_block = facts.launch.warps_per_block() * delay / clock;
  const double blocks_of_fullest =
      std::ceil(static_cast<double>(facts.launch.blocks()) / facts.active);
  const double penalty_shared = conflicts * facts.warps() / facts.active / clock;
  const double penalty_global = extra_bytes * facts.warps() / figures.memory.l2_bytes_per_second;
  return per_block * blocks_of_fullest + penalty_shared + penalty_global;
}

double list_seconds(const KernelFacts& facts) {
  const double clock = facts.machine.prediction->clock_mhz * 1e6;
  const double blocks = std::ceil(static_cast<double>(facts.launch.blocks()) / facts.active);
  const double threads = blocks * facts.launch.threads_per_block();
  double cycles = 0;
  for (const Block& block : facts.program.graph.blocks) {
    std::map<uint32_t, double> ready;
    std::array<double, kPipes> unit{};
    double end = 0, runs = 0;
    for (uint32_t i = block.first; i <= block.last; ++i) {
      const Step& step = facts.program.steps[i];
      runs = std::max(runs, facts.per_warp[i]);
      double start = unit[static_cast<size_t>(step.timing.pipe)];
      for (uint32_t reg : registers_of(facts.program, i, false)) {
        const auto found = ready.find(reg);
        if (found != ready.end()) start = std::max(start, found->second);
      }
      const double batches =
          std::ceil(threads / lanes_of(facts, step)) * std::max(1.0, facts.passes[i]);
      unit[static_cast<size_t>(step.timing.pipe)] = start + batches;
      const double done = start + std::max(batches, latency_of(facts, i));
      for (uint32_t reg : registers_of(facts.program, i, true)) ready[reg] = done;
      end = std::max(end, done);
    }
    cycles += runs * end;
  }
  return cycles / clock;
}

Roofline roofline(const KernelFacts& facts) {
  const PredictionFigures& figures = *facts.machine.prediction;
  const double clock = figures.clock_mhz * 1e6;
  std::array<double, kPipes> cycles{};
  for (uint32_t i = 0; i < facts.program.steps.size(); ++i) {
    const StepTiming& timing = facts.program.steps[i].timing;
    if (timing.pipe == Pipe::none || timing.pipe == Pipe::memory) continue;
    const double halves = timing.pipe == Pipe::fma ? 2 : 1;
    cycles[static_cast<size_t>(timing.pipe)] += facts.per_warp[i] * timing.pipe_cycles / halves;
  }
  const auto most = std::max_element(cycles.begin(), cycles.end());
  Roofline result;
  result.pipe = static_cast<Pipe>(most - cycles.begin());
  const double machine =
      clock * std::max(1u, facts.machine.multiprocessors) * facts.machine.schedulers;
  result.compute = *most * facts.warps() / machine;
  result.memory = std::max(facts.memory.dram_bytes / figures.memory.dram_read_bytes_per_second,
                           std::min(facts.memory.footprint_bytes, facts.memory.l2_bytes) /
                               figures.memory.l2_bytes_per_second);
  return result;
}

}  // namespace fathom
