#include "prediction/constant_cache.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace fathom {
namespace {

/// What several loads touch together.
struct Table {
  uint64_t place = 0;
  ConstantRange range;
  bool has(const Table& part) const {
    return place == part.place && range.first <= part.range.first && part.range.end <= range.end;
  }
  double bytes() const { return static_cast<double>(range.end - range.first); }
};

double between(double low, double value, double high) {
  return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

/// Loads of an unrolled loop lie side by side, so that they make one table.
std::vector<Table> joined(std::vector<Table> pieces) {
  std::sort(pieces.begin(), pieces.end(), [](const Table& a, const Table& b) {
    return a.place != b.place ? a.place < b.place : a.range.first < b.range.first;
  });
  std::vector<Table> tables;
  for (const Table& each : pieces) {
    const bool same = !tables.empty() && tables.back().place == each.place &&
                      each.range.first <= tables.back().range.end + kConstantLine;
    if (same) {
      tables.back().range.add(each.range);
    } else {
      tables.push_back(each);
    }
  }
  return tables;
}

class Planner {
 public:
  Planner(const Program& program, const Walk& walk, const Launch& launch,
          const MachineModel& machine, uint32_t resident, uint32_t active)
      : program_(program),
        walk_(walk),
        memory_(machine.prediction->memory),
        schedulers_(machine.schedulers),
        capacity_(memory_.constant_bytes / double(kConstantLine)) {
    const double mine = std::ceil(static_cast<double>(launch.blocks()) / active);
    blocks_ = std::min<double>(resident, mine);
    warps_per_block_ = launch.warps_per_block();
  }

  std::vector<ConstantMisses> make() const {
    if (memory_.constant_bytes == 0 || walk_.constants.empty()) return {};
    std::vector<ConstantMisses> misses(program_.steps.size());
    const std::vector<Table> tables = tables_of({});
    std::vector<double> lines;
    for (const Table& each : tables) lines.push_back(lines_of(each));
    for (const auto& [at, use] : walk_.constants) {
      const Table piece{use.place, range_of(use, {})};
      if (piece.range.empty()) continue;  // nobody knows what it reads
      for (size_t i = 0; i < tables.size(); ++i)
        if (tables[i].has(piece)) misses[at] = misses_of(program_.steps[at], use, lines[i]);
    }
    return misses;
  }

 private:
  /// What one block touches, or all of them.
  std::vector<Table> tables_of(std::optional<uint32_t> block) const {
    std::vector<Table> pieces;
    for (const auto& [at, use] : walk_.constants) {
      const Table piece{use.place, range_of(use, block)};
      if (!piece.range.empty()) pieces.push_back(piece);
    }
    return joined(std::move(pieces));
  }

  /// Of an unknown index, all that it can reach, where that is known.
  ConstantRange range_of(const ConstantUse& use, std::optional<uint32_t> block) const {
    const auto size = program_.constants.find(use.place);
    if (use.unknown && size != program_.constants.end()) {
      // Addresses of PTX say which variable they belong to.
      const uint64_t first = use.place >= kFirstVariable ? use.place << kBufferShift : 0;
      return {first, first + size->second};
    }
    if (!block) return use.range();
    const auto own = use.blocks.find(*block);
    return own == use.blocks.end() ? ConstantRange{} : own->second;
  }

  /// Blocks that each keep to a part of a table need no more than these.
  double lines_of(const Table& table) const {
    double most = 0;
    for (uint32_t block = 0; block < walk_.blocks.size(); ++block) {
      double own = 0;
      for (const Table& each : tables_of(block))
        if (table.has(each)) own += each.bytes();
      most = std::max(most, own);
    }
    return std::min(table.bytes(), blocks_ * most) / double(kConstantLine);
  }

  ConstantMisses misses_of(const Step& step, const ConstantUse& use, double lines) const {
    if (use.loads == 0) return {};
    return is_uniform(step, use) ? of_uniform_load(step, lines) : of_load(use, lines);
  }

  /// Which part of the warps walks at places of its own: few blocks keep in step.
  double apart() const {
    const double groups = blocks_ * std::min(1.0, warps_per_block_ / schedulers_);
    return between(kInStep * memory_.constant_groups, groups,
                   (2 - kInStep) * memory_.constant_groups);
  }

  /// Loads with a uniform index have a cache of their own, which fetches the next line ahead: free
  /// as long as the warps are in step. Apart, they take each other's lines, and each load misses.
  ConstantMisses of_uniform_load(const Step& step, double lines) const {
    const double fits = memory_.constant_uniform_bytes;
    if (fits == 0) return {};
    const double beyond = between(fits, lines * double(kConstantLine), kLarge * fits);
    const auto cycles = static_cast<float>(machine_loads(step) * apart() * beyond *
                                           memory_.constant_uniform_miss_cycles);
    return {cycles, cycles};
  }

  /// The others miss once in each line. In step, the first warp of a block fetches it for the
  /// others, and they wait with it.
  ConstantMisses of_load(const ConstantUse& use, double lines) const {
    const double missed = use.new_lines / use.loads * between(capacity_, lines, 1.25 * capacity_);
    const double alone = use.unknown ? 1 : apart(),
                 fetched = missed * (alone + (1 - alone) / warps_per_block_);
    return {static_cast<float>(fetched * memory_.constant_miss_cycles),
            static_cast<float>(missed * memory_.constant_miss_cycles)};
  }

  /// Of PTX: a load of the machine takes 8 bytes.
  double machine_loads(const Step& step) const {
    return program_.from_sass ? 1 : std::max(1.0, std::ceil(step.bytes / 8.0));
  }

  /// Loads into uniform registers do. Assemblers make such ones of PTX where all threads agree.
  bool is_uniform(const Step& step, const ConstantUse& use) const {
    if (use.unknown) return false;
    return program_.from_sass ? step.timing.pipe == Pipe::uniform : use.uniform;
  }

  /// From this part of the groups of which half miss on, some do. And tables beyond so many times
  /// what fits do so with all. (On an H200, of all
  /// misses: 4 groups have 7% with 32 warps and 56% with 64, 8 have all and 84%; tables of 512
  /// bytes 41%, of 1 KiB 73%.)
  static constexpr double kInStep = 0.55, kLarge = 4;
  static constexpr uint64_t kFirstVariable = 64;  ///< banks have smaller numbers

  const Program& program_;
  const Walk& walk_;
  const MemoryFigures& memory_;
  const double schedulers_, capacity_;
  double blocks_ = 1, warps_per_block_ = 1;
};

}  // namespace

std::vector<ConstantMisses> plan_constants(const Program& program, const Walk& walk,
                                           const Launch& launch, const MachineModel& machine,
                                           uint32_t resident_blocks, uint32_t active) {
  return Planner(program, walk, launch, machine, resident_blocks, active).make();
}

}  // namespace fathom
