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
    if (lines <= capacity_ || use.loads == 0) return {};
    const double warps = blocks_ * warps_per_block_, new_lines = use.new_lines / use.loads;
    const double group = memory_.constant_group_lines / schedulers_;  // of warps on a scheduler
    const double group_lines = blocks_ * std::min<double>(warps_per_block_, schedulers_) * group;
    const double apart = use.unknown ? 1 : between(capacity_, group_lines, 2 * capacity_);
    // Between two loads of a warp each of the others makes one: from as many places as there are
    // lines on, none is left of its own. Before, it misses once in each line, unless that was
    // fetched ahead and is still there.
    const bool ahead = fetches_ahead(step, use);
    const double gone = between(capacity_, warps, 2 * capacity_);
    const double not_ahead = ahead ? between(capacity_, warps * group, 2 * capacity_) : 1;
    const double alone = std::max(gone * machine_loads(step), not_ahead * new_lines);
    const double beyond = between(capacity_, lines, 2 * capacity_);
    // In step, the first warp of a group fetches for the others, and they wait with it.
    const double together = ahead ? 0 : new_lines * between(capacity_, lines, 1.25 * capacity_);
    const double latency = apart * beyond * alone + (1 - apart) * together;
    const double fetches = apart * beyond * alone + (1 - apart) * together / warps_per_block_;
    const double cycles =
        ahead ? memory_.constant_uniform_miss_cycles : memory_.constant_miss_cycles;
    return {static_cast<float>(fetches * cycles), static_cast<float>(latency * cycles)};
  }

  /// Of PTX: a load of the machine takes 8 bytes.
  double machine_loads(const Step& step) const {
    return program_.from_sass ? 1 : std::max(1.0, std::ceil(step.bytes / 8.0));
  }

  /// Loads into uniform registers do. Assemblers make such ones of PTX where all threads agree.
  bool fetches_ahead(const Step& step, const ConstantUse& use) const {
    if (use.unknown) return false;
    return program_.from_sass ? step.timing.pipe == Pipe::uniform : use.uniform;
  }

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
