#include "prediction/simulator.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "prediction/lanes.h"

namespace fathom {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// Cycles of work that wait before the load/store unit while warps can still issue to it.
constexpr double kQueueCycles = 24;
/// Until the operands of a memory instruction were read and may be overwritten.
constexpr double kReadCycles = 12;

/// Of a store's sectors, how much of them it has to write so that what is left are the ends of a
/// row, which its neighbours write.
constexpr double kWholeShare = 0.6;

/// Lines side by side that one slice of L2 holds: on an H200, 8 to 32 of them are changed by atomic
/// operations at 1/4.4 of the rate that as many slices would have (calibrate's "atomics_by_lines").
constexpr double kNeighbours = 4.4;

/// Cycles over which it is seen how busy device memory is.
constexpr double kLoadCycles = 2000;
/// Where it is busier than that, its queue alone makes loads wait longer.
constexpr double kMostBusy = 0.85;

/// Sectors of a line up to which its access is one at random.
constexpr double kScattered = 1.25;

enum class Kind : uint8_t {
  compute,
  shared,
  global_load,
  global_store,
  atomic,
  constant,
  block_barrier,
  exit
};

/// One event of a trace with all that the simulation asks of it.
struct SimEvent {
  uint32_t step = 0;
  float weight = 1;
  Kind kind = Kind::compute;
  float scattered = 0, dram_scattered = 0;  ///< sectors that lie in lines of their own
  float lsu_cycles = 0, l2_bytes = 0, dram_bytes = 0, atomic_cycles = 0, extra_latency = 0;
  float constant_cycles = 0, constant_latency = 0;  ///< of misses of the cache of constants
  bool from_dram = false;
  uint16_t requests = 1;  ///< of memory, whose latencies have little to do with each other
};

struct Warp {
  const std::vector<SimEvent>* trace = nullptr;
  size_t at = 0;
  double ready = 0, last = 0;
  Wait ready_wait = Wait::start;
  std::array<double, 6> barriers{};
  std::array<Wait, 6> barrier_waits{};
  uint32_t block = 0;
  uint64_t age = 0;  ///< by when it came
  bool at_block_barrier = false, done = true;
  std::vector<double> slot_ready;  ///< where dependences go by slot
  std::vector<Wait> slot_wait;
  double weighted = 0, plain = 0;
  // When the next instruction could go but for its unit, and why not before.
  bool known = false, misses_constants = false;
  Pipe pipe = Pipe::none;
  double can_go = 0;
  Wait why = Wait::none;
};

struct BlockSlot {
  uint32_t first_warp = 0, live = 0, waiting = 0;
};

class Multiprocessor {
 public:
  Multiprocessor(const SimulationInput& in, const std::vector<SimulationListener*>& listeners,
                 size_t first_sample = 0)
      : in_(in),
        listeners_(listeners),
        first_sample_(first_sample),
        figures_(*in.machine.prediction),
        schedulers_(in.machine.schedulers) {}

  Simulation run() {
    prepare_rates();
    prepare_traces();
    start();
    while (issue_next()) {
    }
    return finish();
  }

 private:
  void prepare_rates() {
    const double clock = clock_hertz(), active = in_.active;
    const MemoryFigures& memory = figures_.memory;
    blocks_total_ = std::ceil(static_cast<double>(in_.launch.blocks()) / active);
    // All multiprocessors share what is outside; those with fewer blocks leave some to this one.
    const double uneven = blocks_total_ * active / static_cast<double>(in_.launch.blocks());
    const double l2_read = memory.l2_read_bytes_per_second > 0 ? memory.l2_read_bytes_per_second
                                                               : memory.l2_bytes_per_second;
    l2_rate_ = std::min(memory.l2_sm_bytes_per_cycle, l2_read / clock / active * uneven);
    if (memory.l2_write_bytes_per_second > 0)
      l2_write_cost_ = l2_read / memory.l2_write_bytes_per_second;
    l2_rate_ /= mixing_cost({l2_read, l2_read / l2_write_cost_, memory.l2_copy_bytes_per_second},
                            [](const BufferUse& use) { return use.l2_bytes; });
    if (memory.dram_gather_sectors_per_second > 0)
      dram_gather_cost_ = 1 / (memory.dram_gather_sectors_per_second / clock / active * uneven);
    if (memory.l2_gather_sectors_per_second > 0)
      gather_cost_ = 1 / (memory.l2_gather_sectors_per_second / clock / active * uneven);
    dram_rate_ = std::min(memory.l2_sm_bytes_per_cycle,
                          memory.dram_read_bytes_per_second / clock / active * uneven);
    dram_write_cost_ = memory.dram_read_bytes_per_second / memory.dram_write_bytes_per_second;
    dram_rate_ /=
        mixing_cost({memory.dram_read_bytes_per_second, memory.dram_write_bytes_per_second,
                     memory.dram_copy_bytes_per_second},
                    [](const BufferUse& use) { return use.l2_bytes * use.dram_share; });
    atomic_rate_ = memory.atomic_global_per_second / clock / active;
    block_cycles_ = figures_.launch.block_cycles * active / in_.machine.multiprocessors;
    hot_rate_ = memory.atomic_same_address_per_second / clock / active;
    l2_latency_ = (memory.l2_latency + memory.l2_far_latency) / 2;
    dram_latency_ = std::max(l2_latency_, memory.dram_latency);
    const double mixed = std::min(
        1.0, 3 * written_share([](const BufferUse& use) { return use.l2_bytes * use.dram_share; }));
    dram_busy_cycles_ = memory.dram_busy_read_cycles +
                        mixed * (memory.dram_busy_mixed_cycles - memory.dram_busy_read_cycles);
  }

  /// Of all bytes; 0 where there are none.
  template <typename Bytes>
  double written_share(Bytes bytes) const {
    double all = 0, written = 0;
    for (const auto& [use, each] : in_.memory.uses) {
      all += bytes(each);
      if (use % 2) written += bytes(each);
    }
    return all > 0 ? written / all : 0;
  }

  struct Rates {
    double read, write, copy;
  };
  /// What turns between reading and writing is slower than with either alone; most so where they
  /// are even, as in a copy.
  template <typename Bytes>
  double mixing_cost(const Rates& rates, Bytes bytes) const {
    if (rates.copy == 0) return 1;
    const double even = 2 / (1 / rates.read + 1 / rates.write) / rates.copy;
    const double share = written_share(bytes);
    return 1 + 4 * share * (1 - share) * std::max(0.0, even - 1);
  }

  SimEvent prepare(const Event& event, uint64_t salt) const {
    const Step& step = in_.program.steps[event.step];
    SimEvent out;
    out.step = event.step;
    out.weight = event.weight;
    out.lsu_cycles = step.timing.pipe == Pipe::memory ? step.timing.pipe_cycles : 0;
    if (step.op == Op::barrier) out.kind = Kind::block_barrier;
    if (step.op == Op::exit && event.lanes > 0) out.kind = Kind::exit;
    if (step.space == MemorySpace::constant) out.kind = Kind::constant;
    if (!in_.memory.constants.empty()) {
      out.constant_cycles = in_.memory.constants[event.step].cycles;
      out.constant_latency = in_.memory.constants[event.step].latency;
    }
    if (event.access == kNoAccess) return out;
    const Access& access = in_.walk.accesses[event.access];
    if (access.sectors == 0) {
      out.kind = Kind::shared;
      out.lsu_cycles = std::max<float>(out.lsu_cycles, access.wavefronts);
      out.extra_latency = static_cast<float>(access.wavefronts - 1);
      return out;
    }
    out.kind = step.op == Op::store    ? Kind::global_store
               : step.op == Op::atomic ? Kind::atomic
                                       : Kind::global_load;
    const double passes = out.kind == Kind::atomic ? access.lines : access.wavefronts;
    out.lsu_cycles = std::max(out.lsu_cycles, static_cast<float>(passes));
    out.l2_bytes = in_.memory.l2_sectors[event.access] * 32;
    if (out.kind == Kind::global_load && access.sectors <= kScattered * access.lines)
      out.scattered = in_.memory.l2_sectors[event.access];
    const auto found = in_.memory.uses.find(MemoryPlan::use_of(in_.walk, access, step.op));
    if (found != in_.memory.uses.end()) {
      const double share = found->second.dram_share;
      out.dram_bytes = static_cast<float>(out.l2_bytes * share * found->second.granule_cost);
      // What an atomic operation changes is read first and written in the end.
      if (out.kind == Kind::atomic) out.dram_bytes *= 2;
      if (access.unknown) out.dram_scattered = static_cast<float>(out.scattered * share);
      // L2 keeps checksums of whole sectors: a part of one is read, changed and written.
      const bool partial = out.kind == Kind::global_store &&
                           access.lanes * step.bytes < kWholeShare * access.sectors * 32;
      if (partial) out.l2_bytes *= static_cast<float>(figures_.memory.partial_write_cost);
      // Device memory reads each of them and writes it, one by one where they lie at random.
      if (partial && access.unknown && access.sectors <= kScattered * access.lines)
        out.dram_scattered = static_cast<float>(2 * in_.memory.l2_sectors[event.access] * share);
      const double chance = std::min(1.0, out.dram_bytes / 32.0);
      // Lines side by side come together.
      out.requests = access.sectors <= kScattered * access.lines
                         ? access.lines
                         : static_cast<uint16_t>((access.lines + 3) / 4);
      out.from_dram = static_cast<double>(salt * 2654435761u % 1024) < chance * 1024;
    }
    if (out.kind == Kind::atomic) {
      const double unique = found == in_.memory.uses.end() ? 0 : found->second.unique_bytes;
      out.atomic_cycles =
          static_cast<float>(atomic_cycles(access, in_.memory.hot[event.step], unique));
    }
    return out;
  }

  /// L2 changes a sector at a time in each of its slices, and one address for one thread at a time.
  /// Few lines keep few slices busy, and some of these more than others.
  double atomic_cycles(const Access& access, bool hot, double unique_bytes) const {
    const MemoryFigures& memory = figures_.memory;
    const double by_lanes = access.lanes / (hot ? hot_rate_ : atomic_rate_);
    if (memory.atomic_sectors_per_second == 0 || memory.atomic_line_sectors_per_second == 0)
      return by_lanes;
    const double slices =
        std::max(1.0, memory.atomic_sectors_per_second / memory.atomic_line_sectors_per_second);
    const double lines = std::max(1.0, unique_bytes / memory.line_bytes), even = lines / slices;
    const double busiest = std::max(std::min(lines, kNeighbours), even + 1.5 * std::sqrt(even));
    const double rate = memory.atomic_line_sectors_per_second * lines / busiest;
    return std::max(by_lanes, access.sectors / (rate / clock_hertz() / in_.active));
  }
  double clock_hertz() const { return figures_.clock_mhz * 1e6; }

  void prepare_traces() {
    uint64_t salt = 1;
    double events = 0;
    for (const WarpTrace& each : in_.walk.warps) {
      std::vector<SimEvent> trace;
      trace.reserve(each.events.size());
      for (const Event& event : each.events) trace.push_back(prepare(event, salt++));
      events += static_cast<double>(trace.size());
      traces_.push_back(std::move(trace));
    }
    const double mean =
        std::max(1.0, events / static_cast<double>(std::max<size_t>(1, traces_.size())));
    const double per_block = mean * in_.launch.warps_per_block();
    const double affordable = std::max(
        2.0 * in_.resident_blocks, std::floor(static_cast<double>(in_.most_issues) / per_block));
    blocks_to_run_ = static_cast<uint64_t>(std::min(blocks_total_, affordable));
  }

  /// The trace that stands for a warp of the n-th block: sample blocks take turns.
  const std::vector<SimEvent>* trace_of(uint64_t block, uint32_t warp) const {
    const auto sample = static_cast<uint32_t>((block + first_sample_) % in_.walk.blocks.size());
    const std::vector<SimEvent>* found = nullptr;
    for (size_t i = 0; i < in_.walk.warps.size(); ++i) {
      const WarpTrace& each = in_.walk.warps[i];
      if (each.block == sample && (each.warp <= warp || !found)) found = &traces_[i];
    }
    return found;
  }

  void start() {
    const uint32_t warps = in_.launch.warps_per_block();
    const auto slots =
        static_cast<uint32_t>(std::min<uint64_t>(in_.resident_blocks, blocks_to_run_));
    warps_.resize(size_t{slots} * warps);
    blocks_.resize(slots);
    by_scheduler_.resize(schedulers_);
    for (uint32_t i = 0; i < warps_.size(); ++i) by_scheduler_[i % schedulers_].push_back(i);
    clock_.assign(schedulers_, 0);
    issued_.assign(schedulers_, ~0u);
    free_.assign(schedulers_, {});
    constants_free_.assign(schedulers_, 0);
    for (uint32_t slot = 0; slot < slots; ++slot) {
      blocks_[slot].first_warp = slot * warps;
      start_block(slot, 0);
    }
  }

  void start_block(uint32_t slot, double time) {
    // Blocks are handed out one after the other.
    time = std::max(time, next_start_);
    next_start_ = time + block_cycles_;
    BlockSlot& block = blocks_[slot];
    const uint32_t warps = in_.launch.warps_per_block();
    block.live = warps;
    block.waiting = 0;
    for (uint32_t w = 0; w < warps; ++w) {
      Warp& warp = warps_[block.first_warp + w];
      const double weighted = warp.weighted, plain = warp.plain;
      warp = {};
      warp.weighted = weighted;
      warp.plain = plain;
      warp.trace = trace_of(blocks_started_, w);
      warp.ready = warp.last = time;
      warp.block = slot;
      warp.age = blocks_started_ * warps + w;
      warp.done = warp.trace == nullptr || warp.trace->empty();
      if (in_.program.waits_by_slot) {
        warp.slot_ready.assign(in_.program.slots + in_.program.predicates + 1, 0);
        warp.slot_wait.assign(warp.slot_ready.size(), Wait::none);
      }
      if (warp.done) --block.live;
    }
    ++blocks_started_;
  }

  /// When the warp's next instruction could go, but for the unit it needs.
  double ready_time(const Warp& warp, Wait& wait) const {
    const Step& step = in_.program.steps[(*warp.trace)[warp.at].step];
    double ready = warp.ready;
    wait = warp.ready_wait;
    if (!in_.program.waits_by_slot) {
      for (uint32_t mask = step.timing.wait_mask, i = 0; mask != 0 && i < 6; mask >>= 1, ++i) {
        if ((mask & 1) && warp.barriers[i] > ready)
          ready = warp.barriers[i], wait = warp.barrier_waits[i];
      }
      return ready;
    }
    for (int16_t slot : step.reads) {
      const auto at = static_cast<size_t>(slot);
      if (warp.slot_ready[at] > ready) ready = warp.slot_ready[at], wait = warp.slot_wait[at];
    }
    return ready;
  }

  void look_ahead(Warp& warp) const {
    const SimEvent& event = (*warp.trace)[warp.at];
    warp.can_go = ready_time(warp, warp.why);
    warp.pipe = in_.program.steps[event.step].timing.pipe;
    warp.misses_constants = event.constant_cycles > 0;
    warp.known = true;
  }

  double unit_free(uint32_t scheduler, Pipe pipe, Wait& wait) const {
    switch (pipe) {
      case Pipe::none:
        return 0;
      case Pipe::memory:
        wait = Wait::queue;
        return lsu_free_ - kQueueCycles;
      case Pipe::fma:
        wait = Wait::unit;
        return std::min(free_[scheduler][static_cast<size_t>(Pipe::fma)],
                        free_[scheduler][static_cast<size_t>(Pipe::fma_heavy)]);
      default:
        wait = Wait::unit;
        return free_[scheduler][static_cast<size_t>(pipe)];
    }
  }

  struct Choice {
    double time = kNever;
    uint32_t warp = 0;
    Wait wait = Wait::none;
  };

  /// The warp that a scheduler issues next: of those that can go first the one that went last, else
  /// that which came first. (Taking turns makes all of a block's warps wait for memory, and for
  /// each other at barriers, at the same times: tiled products come out a fifth too slow.)
  Choice choose(uint32_t scheduler) {
    Choice best;
    for (uint32_t index : by_scheduler_[scheduler]) {
      Warp& warp = warps_[index];
      if (warp.done || warp.at_block_barrier) continue;
      if (!warp.known) look_ahead(warp);
      if (warp.can_go > best.time) continue;
      Wait wait = warp.why, unit_wait = Wait::none;
      double time = warp.can_go;
      const double unit = unit_free(scheduler, warp.pipe, unit_wait);
      if (unit > time) time = unit, wait = unit_wait;
      if (warp.misses_constants && constants_free_[scheduler] > time)
        time = constants_free_[scheduler], wait = Wait::constant;
      if (clock_[scheduler] > time) {
        // The reason is what it waited for longer.
        if (clock_[scheduler] - time > time - warp.last) wait = Wait::scheduler;
        time = clock_[scheduler];
      }
      const bool again = index == issued_[scheduler];
      const bool first = best.time != kNever && best.warp != issued_[scheduler] &&
                         warp.age < warps_[best.warp].age;
      if (time < best.time || (time == best.time && (again || first))) best = {time, index, wait};
    }
    return best;
  }

  bool issue_next() {
    if (cached_.empty()) {
      cached_.resize(schedulers_);
      for (uint32_t s = 0; s < schedulers_; ++s) cached_[s] = choose(s);
    }
    uint32_t best = 0;
    for (uint32_t s = 1; s < schedulers_; ++s)
      if (cached_[s].time < cached_[best].time) best = s;
    if (cached_[best].time == kNever) return false;
    // The unit that all share may have become busy meanwhile.
    const Choice now = choose(best);
    if (now.time > cached_[best].time) {
      cached_[best] = now;
      return true;
    }
    woken_ = 0;
    issue(best, now);
    for (uint32_t s = 0; s < schedulers_; ++s)
      if (s == best || (woken_ >> s & 1)) cached_[s] = choose(s);
    return true;
  }

  void issue(uint32_t scheduler, const Choice& choice) {
    Warp& warp = warps_[choice.warp];
    const SimEvent& event = (*warp.trace)[warp.at];
    const Step& step = in_.program.steps[event.step];
    const double t = choice.time, waited = t - warp.last;
    warp.weighted += waited * event.weight;
    warp.plain += waited;
    const Issue record{event.step, event.weight, t, waited, choice.wait};
    for (SimulationListener* each : listeners_) each->issued(record);
    ++result_.issues;
    result_.busy.issue += step.timing.issues;
    work_.issue += step.timing.issues * event.weight;
    warp.last = t;
    issued_[scheduler] = choice.warp;
    clock_[scheduler] = t + step.timing.issues;
    end_ = std::max(end_, t + 1);
    warp.ready = t + std::max<double>(step.timing.issues, step.timing.stall);
    warp.ready_wait = Wait::dependency;
    // Where the way goes on elsewhere, instructions have to be fetched.
    const bool jumps = step.flow != Flow::next && warp.at + 1 < warp.trace->size() &&
                       (*warp.trace)[warp.at + 1].step != event.step + 1;
    if (jumps) warp.ready = std::max(warp.ready, t + step.timing.latency);
    weight_ = event.weight;
    occupy(scheduler, step, t);
    Wait wait = Wait::special;
    double done = complete(event, step, t, wait);
    if (event.constant_latency > 0) done = fetch_constant(scheduler, warp, event, done, wait);
    note_result(warp, step, t, done, wait);
    ++warp.at;
    warp.known = false;
    if (event.kind == Kind::block_barrier && !step.is_async) arrive(warp, t);
    if (warp.at == warp.trace->size()) leave(warp, t);
  }

  void occupy(uint32_t scheduler, const Step& step, double t) {
    const auto pipe = static_cast<size_t>(step.timing.pipe);
    if (step.timing.pipe == Pipe::none) return;
    result_.busy.pipes[pipe] += step.timing.pipe == Pipe::memory ? 0 : step.timing.pipe_cycles;
    if (step.timing.pipe == Pipe::memory) return;
    work_.pipes[pipe] += step.timing.pipe_cycles * weight_;
    auto& units = free_[scheduler];
    size_t unit = pipe;
    if (step.timing.pipe == Pipe::fma && units[static_cast<size_t>(Pipe::fma_heavy)] < units[pipe])
      unit = static_cast<size_t>(Pipe::fma_heavy);
    units[unit] = std::max(units[unit], t) + step.timing.pipe_cycles;
  }

  /// Puts the event through the queues; when its result is there.
  double complete(const SimEvent& event, const Step& step, double t, Wait& wait) {
    if (event.kind == Kind::constant) wait = Wait::constant;
    if (event.lsu_cycles == 0) return t + step.timing.latency;
    const double served = std::max(t, lsu_free_);
    lsu_free_ = served + event.lsu_cycles;
    work_.pipes[static_cast<size_t>(Pipe::memory)] += event.lsu_cycles * weight_;
    result_.busy.pipes[static_cast<size_t>(Pipe::memory)] += event.lsu_cycles;
    const MemoryFigures& memory = figures_.memory;
    switch (event.kind) {
      case Kind::shared:
        wait = Wait::shared;
        return served +
               (step.op == Op::atomic ? memory.atomic_shared_latency : memory.shared_latency) +
               event.extra_latency;
      case Kind::global_load:
      case Kind::global_store:
      case Kind::atomic:
        return beyond(event, served, wait);
      default:
        wait = Wait::shared;
        return served + step.timing.latency;
    }
  }

  /// A miss keeps the scheduler's way to the constants; when its result is there. Where no barrier
  /// tells that it has come, the warp itself stands still.
  double fetch_constant(uint32_t scheduler, Warp& warp, const SimEvent& event, double done,
                        Wait& wait) {
    constants_free_[scheduler] =
        std::max(constants_free_[scheduler], warp.last) + event.constant_cycles;
    result_.busy.constants += event.constant_cycles;
    work_.constants += event.constant_cycles * weight_;
    wait = Wait::constant;
    const StepTiming& timing = in_.program.steps[event.step].timing;
    if (!in_.program.waits_by_slot && timing.write_barrier >= 6) {
      warp.ready = std::max(warp.ready, warp.last + event.constant_latency);
      warp.ready_wait = Wait::constant;
    }
    return done + event.constant_latency;
  }

  double beyond(const SimEvent& event, double served, Wait& wait) {
    const MemoryFigures& memory = figures_.memory;
    double done = served + memory.l1_latency + event.lsu_cycles;
    wait = Wait::l1;
    if (event.l2_bytes > 0) {
      const double cycles = std::max<double>(
          event.scattered * gather_cost_,
          event.l2_bytes / l2_rate_ * (event.kind == Kind::global_store ? l2_write_cost_ : 1));
      l2_free_ = std::max(l2_free_, served) + cycles;
      result_.busy.l2 += cycles;
      work_.l2 += cycles * weight_;
      done = std::max(done, l2_free_ + l2_latency_);
      wait = Wait::l2;
    }
    if (event.dram_bytes > 0) {
      const double cycles =
          std::max<double>(event.dram_scattered * dram_gather_cost_,
                           event.dram_bytes / dram_rate_ *
                               (event.kind == Kind::global_store ? dram_write_cost_ : 1));
      dram_free_ = std::max(dram_free_, served) + cycles;
      result_.busy.dram += cycles;
      work_.dram += cycles * weight_;
      keep_load(served, cycles);
      if (event.from_dram) {
        done = std::max(done, dram_free_ + latency_of_dram(event.requests));
        wait = Wait::dram;
      }
    }
    if (event.kind == Kind::atomic) {
      atomic_free_ = std::max(atomic_free_, served) + event.atomic_cycles;
      result_.busy.atomics += event.atomic_cycles;
      work_.atomics += event.atomic_cycles * weight_;
      done = std::max(done + memory.atomic_global_latency - l2_latency_,
                      atomic_free_ + memory.atomic_global_latency);
    }
    // The device's queues end what a kernel does, even where nobody waits.
    drain_ = std::max({drain_, l2_free_, dram_free_, atomic_free_});
    return done;
  }

  /// How busy device memory was of late.
  void keep_load(double now, double cycles) {
    if (now > dram_seen_) {
      dram_load_ *= std::exp((dram_seen_ - now) / kLoadCycles);
      dram_seen_ = now;
    }
    dram_load_ += cycles / kLoadCycles;
  }

  /// Of the slowest of some requests, each of which takes some time between two bounds.
  double latency_of_dram(uint32_t requests) const {
    const MemoryFigures& memory = figures_.memory;
    const double busy = std::min(dram_load_, kMostBusy);
    const double dice = static_cast<double>(mix(result_.issues) >> 11) * 0x1p-53;
    const double slowest = 2 * std::pow(dice, 1.0 / requests) - 1;
    return std::max(l2_latency_, dram_latency_ + memory.dram_latency_spread * slowest) +
           dram_busy_cycles_ * busy / std::sqrt(1 - busy);
  }

  void note_result(Warp& warp, const Step& step, double t, double done, Wait wait) {
    if (in_.program.waits_by_slot) {
      for (int16_t slot : step.writes) {
        warp.slot_ready[static_cast<size_t>(slot)] = done;
        warp.slot_wait[static_cast<size_t>(slot)] =
            step.timing.pipe == Pipe::memory || wait == Wait::constant ? wait : Wait::dependency;
      }
      return;
    }
    const uint8_t write = step.timing.write_barrier, read = step.timing.read_barrier;
    if (write < 6 && done > warp.barriers[write])
      warp.barriers[write] = done, warp.barrier_waits[write] = wait;
    if (read >= 6) return;
    const double read_done = std::max(t, lsu_free_ - 1) + kReadCycles;
    if (read_done > warp.barriers[read])
      warp.barriers[read] = read_done, warp.barrier_waits[read] = Wait::queue;
  }

  void arrive(Warp& warp, double t) {
    BlockSlot& block = blocks_[warp.block];
    warp.at_block_barrier = true;
    ++block.waiting;
    release_if_all(block, t);
  }

  void release_if_all(BlockSlot& block, double t) {
    if (block.waiting == 0 || block.waiting < block.live) return;
    block.waiting = 0;
    const double release = t + figures_of_barrier();
    for (uint32_t w = 0; w < in_.launch.warps_per_block(); ++w) {
      const uint32_t index = block.first_warp + w;
      Warp& each = warps_[index];
      if (!each.at_block_barrier) continue;
      each.at_block_barrier = each.known = false;
      each.ready = std::max(each.ready, release);
      each.ready_wait = Wait::barrier;
      woken_ |= 1u << index % schedulers_;
    }
  }
  double figures_of_barrier() const {
    const auto found = figures_.classes.find("barrier");
    return found == figures_.classes.end() ? 20 : found->second.latency;
  }

  void leave(Warp& warp, double t) {
    warp.done = true;
    BlockSlot& block = blocks_[warp.block];
    --block.live;
    if (block.live > 0) return release_if_all(block, t);
    for (uint32_t s = 0; s < schedulers_; ++s) woken_ |= 1u << s;
    ++blocks_done_;
    if (blocks_done_ * 2 <= blocks_to_run_) half_time_ = t, half_blocks_ = blocks_done_;
    if (blocks_started_ < blocks_to_run_)
      start_block(warp.block, t + figures_.launch.block_latency);
  }

  Simulation finish() {
    double weighted = 0, plain = 0;
    for (const Warp& each : warps_) weighted += each.weighted, plain += each.plain;
    const double scale = plain > 0 ? weighted / plain : 1;
    result_.simulated = std::max(end_, drain_);
    result_.blocks = blocks_total_;
    result_.blocks_simulated = static_cast<double>(blocks_to_run_);
    double cycles = result_.simulated;
    const double left = blocks_total_ - static_cast<double>(blocks_to_run_);
    if (left > 0) {
      const double since = static_cast<double>(blocks_to_run_ - half_blocks_);
      const double rate = half_blocks_ > 0
                              ? (result_.simulated - half_time_) / since
                              : result_.simulated / static_cast<double>(blocks_to_run_);
      cycles += left * rate;
    }
    result_.cycles = std::max(cycles * scale,
                              least_cycles() * blocks_total_ / static_cast<double>(blocks_to_run_));
    return result_;
  }

  /// What the units alone take for all rounds of the loops, where no warp ever waits.
  double least_cycles() const {
    const auto of = [&](Pipe pipe) { return work_.pipes[static_cast<size_t>(pipe)]; };
    double most = std::max(work_.issue, (of(Pipe::fma) + of(Pipe::fma_heavy)) / 2);
    for (Pipe pipe : {Pipe::alu, Pipe::fma_heavy, Pipe::fp64, Pipe::special, Pipe::tensor,
                      Pipe::uniform, Pipe::branch, Pipe::constant})
      most = std::max(most, of(pipe));
    most = std::max(most, work_.constants);
    return std::max({most / schedulers_, of(Pipe::memory), work_.l2, work_.dram, work_.atomics});
  }

  const SimulationInput& in_;
  const std::vector<SimulationListener*>& listeners_;
  const size_t first_sample_;
  const PredictionFigures& figures_;
  const uint32_t schedulers_;
  double l2_rate_ = 1, dram_rate_ = 1, dram_write_cost_ = 1, l2_write_cost_ = 1, gather_cost_ = 0,
         dram_gather_cost_ = 0, atomic_rate_ = 1, hot_rate_ = 1;
  double block_cycles_ = 0, next_start_ = 0;
  double l2_latency_ = 0, dram_latency_ = 0, blocks_total_ = 1;
  uint64_t blocks_to_run_ = 1, blocks_started_ = 0, blocks_done_ = 0, half_blocks_ = 0;
  double half_time_ = 0, end_ = 0, drain_ = 0;
  double dram_load_ = 0, dram_seen_ = 0, dram_busy_cycles_ = 0;
  double lsu_free_ = 0, l2_free_ = 0, dram_free_ = 0, atomic_free_ = 0;
  std::vector<std::vector<SimEvent>> traces_;
  std::vector<Warp> warps_;
  std::vector<BlockSlot> blocks_;
  std::vector<std::vector<uint32_t>> by_scheduler_;
  std::vector<double> clock_;
  std::vector<uint32_t> issued_;  ///< by scheduler: the warp that went last
  std::vector<std::array<double, kPipes>> free_;
  std::vector<double> constants_free_;  ///< by scheduler
  std::vector<Choice> cached_;
  uint32_t woken_ = 0;
  float weight_ = 1;  ///< of the event that is issued
  Busy work_;         ///< all rounds of the loops
  Simulation result_;
};

}  // namespace

const char* name_of(Wait wait) {
  static constexpr const char* kNames[kWaits] = {"nothing",
                                                 "start of the block",
                                                 "results of arithmetic",
                                                 "shared memory",
                                                 "L1",
                                                 "L2",
                                                 "device memory",
                                                 "constants",
                                                 "results of variable latency",
                                                 "other warps at a barrier",
                                                 "a busy unit",
                                                 "the load/store queue",
                                                 "the scheduler"};
  return kNames[static_cast<size_t>(wait)];
}

Simulation simulate(const SimulationInput& input,
                    const std::vector<SimulationListener*>& listeners) {
  if (input.launch.blocks() > input.active) return Multiprocessor(input, listeners).run();
  // Each multiprocessor has one block: the slowest one ends the kernel.
  const std::vector<SimulationListener*> nobody;
  size_t slowest = 0;
  double most = 0;
  for (size_t i = 0; i < input.walk.blocks.size(); ++i) {
    const double cycles = Multiprocessor(input, nobody, i).run().cycles;
    if (cycles > most) most = cycles, slowest = i;
  }
  return Multiprocessor(input, listeners, slowest).run();
}

}  // namespace fathom
