#include "prediction/activity.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "prediction/predict.h"

namespace fathom {
namespace {

constexpr double kSectorBits = 32 * 8, kPassBits = 128 * 8;
constexpr std::array<std::string_view, kCounts> kNames{"integer",
                                                       "integer_multiply",
                                                       "integer_multiply_wide",
                                                       "integer_wide",
                                                       "fp16",
                                                       "fp32",
                                                       "fp32_multiply_add",
                                                       "fp64",
                                                       "conversion",
                                                       "special",
                                                       "tensor",
                                                       "move",
                                                       "predicate",
                                                       "special_register",
                                                       "shuffle",
                                                       "vote",
                                                       "load_global",
                                                       "load_shared",
                                                       "load_constant",
                                                       "store_global",
                                                       "store_shared",
                                                       "atomic_global",
                                                       "atomic_shared",
                                                       "barrier",
                                                       "control",
                                                       "uniform",
                                                       "other",
                                                       "lanes",
                                                       "lanes_integer",
                                                       "lanes_multiply",
                                                       "lanes_compare",
                                                       "lanes_fp32",
                                                       "lanes_fp64",
                                                       "lanes_special",
                                                       "lanes_memory",
                                                       "lanes_shared",
                                                       "bits_integer",
                                                       "bits_float",
                                                       "bits_loaded",
                                                       "spread_integer",
                                                       "spread_float",
                                                       "spread_loaded",
                                                       "bits_shared",
                                                       "bits_l1",
                                                       "bits_l2_read",
                                                       "bits_l2_written",
                                                       "bits_dram_read",
                                                       "bits_dram_written",
                                                       "registers_read",
                                                       "registers_written",
                                                       "shared_passes_read",
                                                       "shared_passes_written",
                                                       "l1_sectors",
                                                       "l1_lines",
                                                       "l2_sectors_read",
                                                       "l2_sectors_written",
                                                       "l2_sectors_atomic",
                                                       "l2_requests",
                                                       "dram_bytes_read",
                                                       "dram_bytes_written",
                                                       "atomic_lanes",
                                                       "atomic_lanes_hot",
                                                       "footprint_bytes",
                                                       "partial_sectors_written",
                                                       "cycles_integer",
                                                       "cycles_multiply",
                                                       "cycles_fp32",
                                                       "cycles_fp64",
                                                       "cycles_special",
                                                       "cycles_tensor",
                                                       "cycles_memory",
                                                       "blocks",
                                                       "warps",
                                                       "block_threads",
                                                       "registers",
                                                       "block_shared_bytes",
                                                       "resident_warps",
                                                       "waves",
                                                       "active_share",
                                                       "balance",
                                                       "delay_us",
                                                       "list_us",
                                                       "compute_us",
                                                       "memory_us"};
static_assert(!kNames.back().empty(), "a name for each count");

Count load_count(MemorySpace space) {
  if (space == MemorySpace::shared) return Count::load_shared;
  return space == MemorySpace::constant ? Count::load_constant : Count::load_global;
}

Count memory_count(const Step& step) {
  const bool shared = step.space == MemorySpace::shared;
  switch (step.op_class) {
    case OpClass::store:
      return shared ? Count::store_shared : Count::store_global;
    case OpClass::atomic:
      return shared ? Count::atomic_shared : Count::atomic_global;
    default:
      return load_count(step.space);
  }
}

Count arithmetic_count(const Step& step) {
  switch (step.op_class) {
    case OpClass::integer:
      return Count::integer;
    case OpClass::integer_multiply:
      return step.wide || step.high ? Count::integer_multiply_wide : Count::integer_multiply;
    case OpClass::integer_wide:
      return Count::integer_wide;
    case OpClass::fp16:
      return Count::fp16;
    case OpClass::fp32:
      return step.op == Op::float_multiply_add ? Count::fp32_multiply_add : Count::fp32;
    case OpClass::fp64:
      return Count::fp64;
    case OpClass::conversion:
      return Count::conversion;
    case OpClass::special:
      return Count::special;
    case OpClass::tensor:
      return Count::tensor;
    case OpClass::move:
      return Count::move;
    case OpClass::predicate:
      return Count::predicate;
    default:
      return Count::other;
  }
}

Count count_of(const Step& step) {
  if (step.timing.pipe == Pipe::uniform) return Count::uniform;
  switch (step.op_class) {
    case OpClass::load:
    case OpClass::store:
    case OpClass::atomic:
    case OpClass::texture:
    case OpClass::asynchronous_copy:
      return memory_count(step);
    case OpClass::shuffle:
      return step.op == Op::shuffle ? Count::shuffle : Count::vote;
    case OpClass::special_register:
      return Count::special_register;
    case OpClass::barrier:
    case OpClass::memory_barrier:
      return Count::barrier;
    case OpClass::control:
      return Count::control;
    default:
      return arithmetic_count(step);
  }
}

Count lanes_of(const Step& step) {
  if (step.op == Op::compare) return Count::lanes_compare;
  if (step.op == Op::float_compare && step.op_class != OpClass::fp64) return Count::lanes_compare;
  switch (step.op_class) {
    case OpClass::integer_multiply:
      return Count::lanes_multiply;
    case OpClass::fp16:
    case OpClass::fp32:
      return Count::lanes_fp32;
    case OpClass::fp64:
    case OpClass::tensor:
      return Count::lanes_fp64;
    case OpClass::special:
    case OpClass::conversion:
      return Count::lanes_special;
    case OpClass::load:
    case OpClass::store:
    case OpClass::atomic:
      return step.space == MemorySpace::shared ? Count::lanes_shared : Count::lanes_memory;
    default:
      return Count::lanes_integer;
  }
}

Count cycles_of(Pipe pipe) {
  switch (pipe) {
    case Pipe::fma:
      return Count::cycles_fp32;
    case Pipe::fma_heavy:
      return Count::cycles_multiply;
    case Pipe::fp64:
      return Count::cycles_fp64;
    case Pipe::special:
      return Count::cycles_special;
    case Pipe::tensor:
      return Count::cycles_tensor;
    case Pipe::memory:
      return Count::cycles_memory;
    default:
      return Count::cycles_integer;
  }
}

class Counter {
 public:
  explicit Counter(const KernelFacts& facts)
      : facts_(facts),
        scale_(facts.warps() / static_cast<double>(std::max<size_t>(1, facts.walk.warps.size()))) {}

  Activity count() {
    for (const WarpTrace& warp : facts_.walk.warps)
      for (const Event& event : warp.events) one(event, event.weight * warp.share * scale_);
    count_dram();
    count_shared_bits();
    describe_launch();
    const Roofline roof = roofline(facts_);
    out_[Count::delay_us] = delay_seconds(facts_) * 1e6;
    out_[Count::list_us] = list_seconds(facts_) * 1e6;
    out_[Count::compute_us] = roof.compute * 1e6;
    out_[Count::memory_us] = roof.memory * 1e6;
    return out_;
  }

 private:
  void one(const Event& event, double times) {
    const Step& step = facts_.program.steps[event.step];
    out_[count_of(step)] += times;
    out_[Count::lanes] += times * event.lanes;
    if (step.timing.pipe != Pipe::uniform) out_[lanes_of(step)] += times * event.lanes;
    count_bits(event, step, times);
    if (step.timing.pipe != Pipe::none)
      out_[cycles_of(step.timing.pipe)] += times * step.timing.pipe_cycles;
    count_registers(event.step, times);
    if (event.access == kNoAccess) return;
    const Access& access = facts_.walk.accesses[event.access];
    if (access.sectors == 0) {
      out_[step.op == Op::load ? Count::shared_passes_read : Count::shared_passes_written] +=
          times * access.wavefronts;
      if (step.op == Op::store) {
        shared_.changed += times * event.changed;
        shared_.bits += times * event.lanes * step.bytes * 8;
      }
      return;
    }
    count_sectors(event, step, access, times);
  }

  void count_bits(const Event& event, const Step& step, double times) {
    if (step.op == Op::load) {
      out_[Count::bits_loaded] += times * event.changed;
      out_[Count::spread_loaded] += times * event.spread;
    } else if (step.timing.pipe != Pipe::uniform && step.op != Op::store) {
      const bool floats = step.makes_floats();
      out_[floats ? Count::bits_float : Count::bits_integer] += times * event.changed;
      out_[floats ? Count::spread_float : Count::spread_integer] += times * event.spread;
    }
  }

  void count_registers(uint32_t step, double times) {
    const auto general = [](const std::vector<Register>& registers) {
      return static_cast<double>(
          std::count_if(registers.begin(), registers.end(),
                        [](Register each) { return each.file == RegisterFile::general; }));
    };
    const Program& program = facts_.program;
    if (program.waits_by_slot) {
      out_[Count::registers_read] += times * static_cast<double>(program.steps[step].reads.size());
      out_[Count::registers_written] +=
          times * static_cast<double>(program.steps[step].writes.size());
    } else {
      out_[Count::registers_read] += times * general(program.instructions[step].uses);
      out_[Count::registers_written] += times * general(program.instructions[step].defs);
    }
  }

  /// Of the bits of a sector, those that change to the next one.
  double changing(uint64_t buffer) {
    const auto [found, is_new] = changing_.try_emplace(buffer, 0.0);
    const auto told = facts_.launch.contents.find(buffer);
    const bool is_told = told != facts_.launch.contents.end();
    if (is_new) found->second = changing_share(is_told ? told->second : BufferContents::floats());
    return found->second;
  }
  /// The same of what is written.
  double changing_written(uint64_t use) {
    const auto found = written_.find(use);
    if (found == written_.end() || found->second.bits <= 0) return changing(use / 2);
    return found->second.changed / found->second.bits;
  }

  void count_sectors(const Event& event, const Step& step, const Access& access, double times) {
    out_[Count::l1_sectors] += times * access.sectors;
    out_[Count::l1_lines] += times * access.lines;
    const double beyond = times * facts_.memory.l2_sectors[event.access];
    out_[Count::l2_requests] += beyond * access.lines / std::max<double>(1, access.sectors);
    if (step.op == Op::atomic) {
      out_[Count::l2_sectors_atomic] += beyond;
      out_[facts_.memory.hot[event.step] ? Count::atomic_lanes_hot : Count::atomic_lanes] +=
          times * access.lanes;
    } else if (step.op == Op::store) {
      out_[Count::l2_sectors_written] += beyond;
      const double all = event.lanes * step.bytes * 8.0;
      if (all > 0) out_[Count::bits_l2_written] += beyond * kSectorBits * event.changed / all;
      Stored& stored = written_[MemoryPlan::use_of(facts_.walk, access, step.op)];
      stored.changed += times * event.changed;
      stored.bits += times * all;
      if (access.lanes * step.bytes < access.sectors * 32)
        out_[Count::partial_sectors_written] += beyond;
    } else {
      out_[Count::l2_sectors_read] += beyond;
      const double share = changing(facts_.walk.sectors[access.first_sector] >> (kBufferShift - 5));
      out_[Count::bits_l2_read] += beyond * kSectorBits * share;
      out_[Count::bits_l1] += times * access.sectors * kSectorBits * share;
    }
  }

  void count_dram() {
    for (const auto& [key, use] : facts_.memory.uses) {
      const double bytes = use.l2_bytes * use.dram_share * use.granule_cost;
      out_[key % 2 ? Count::dram_bytes_written : Count::dram_bytes_read] += bytes;
      const double share = key % 2 ? changing_written(key) : changing(key / 2);
      out_[key % 2 ? Count::bits_dram_written : Count::bits_dram_read] += bytes * 8 * share;
    }
    out_[Count::footprint_bytes] = facts_.memory.footprint_bytes;
  }

  void count_shared_bits() {
    const double passes = out_[Count::shared_passes_read] + out_[Count::shared_passes_written];
    const double share = shared_.bits > 0 ? shared_.changed / shared_.bits
                                          : changing_share(BufferContents::floats());
    out_[Count::bits_shared] = passes * kPassBits * share;
  }

  void describe_launch() {
    const Launch& launch = facts_.launch;
    const LaunchShape& shape = facts_.program.shape;
    const auto blocks = static_cast<double>(launch.blocks());
    const double fullest = std::ceil(blocks / facts_.active);
    out_[Count::blocks] = blocks;
    out_[Count::warps] = facts_.warps();
    out_[Count::block_threads] = launch.threads_per_block();
    out_[Count::registers] = shape.registers_per_thread;
    out_[Count::block_shared_bytes] = shape.static_shared_memory + shape.dynamic_shared_memory;
    out_[Count::resident_warps] =
        std::min<double>(facts_.occupancy.active_warps, fullest * launch.warps_per_block());
    out_[Count::active_share] =
        static_cast<double>(facts_.active) / std::max(1u, facts_.machine.multiprocessors);
    out_[Count::waves] = blocks / (static_cast<double>(facts_.occupancy.active_blocks) *
                                   std::max(1u, facts_.machine.multiprocessors));
    out_[Count::balance] = blocks / (fullest * facts_.active);
  }

  const KernelFacts& facts_;
  const double scale_;
  Activity out_;
  std::map<uint64_t, double> changing_;
  /// Of what the samples store: bits, and those of them that change from thread to thread.
  struct Stored {
    double changed = 0, bits = 0;
  };
  std::map<uint64_t, Stored> written_;  ///< by MemoryPlan::use_of()
  Stored shared_;
};

}  // namespace

std::string_view name_of(Count count) {
  return kNames[static_cast<size_t>(count)];
}

Activity count_activity(const KernelFacts& facts) {
  return Counter(facts).count();
}

}  // namespace fathom
