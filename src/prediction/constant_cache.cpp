#include "prediction/constant_cache.h"

#include <algorithm>
#include <cmath>

namespace fathom {
namespace {

/// What several loads touch together.
struct Table {
  uint64_t place = 0, first = 0, end = 0;
  double own_bytes = 0;  ///< of one warp
};

double between(double low, double value, double high) {
  return std::clamp((value - low) / (high - low), 0.0, 1.0);
}

/// Loads of an unrolled loop lie side by side, so that they make one table.
std::vector<Table> tables_of(const std::vector<Table>& pieces) {
  std::vector<Table> sorted = pieces, tables;
  std::sort(sorted.begin(), sorted.end(), [](const Table& a, const Table& b) {
    return a.place != b.place ? a.place < b.place : a.first < b.first;
  });
  for (const Table& each : sorted) {
    const bool same = !tables.empty() && tables.back().place == each.place &&
                      each.first <= tables.back().end + kConstantLine;
    if (!same) {
      tables.push_back(each);
      continue;
    }
    tables.back().end = std::max(tables.back().end, each.end);
    tables.back().own_bytes += each.own_bytes;
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
    std::vector<Table> pieces;
    for (const auto& [at, use] : walk_.constants) {
      const Table piece = piece_of(use);
      if (piece.first < piece.end) pieces.push_back(piece);
    }
    const std::vector<Table> tables = tables_of(pieces);
    std::vector<ConstantMisses> misses(program_.steps.size());
    for (const auto& [at, use] : walk_.constants) {
      const Table piece = piece_of(use);
      if (piece.first == piece.end) continue;  // nobody knows what it reads
      for (const Table& table : tables)
        if (table.place == piece.place && table.first <= piece.first && piece.end <= table.end)
          misses[at] = misses_of(program_.steps[at], use, lines_of(table));
    }
    return misses;
  }

 private:
  /// Of an unknown index, all that it can reach, where that is known.
  Table piece_of(const ConstantUse& use) const {
    const auto size = program_.constants.find(use.place);
    if (!use.unknown || size == program_.constants.end())
      return {use.place, use.first, use.end, static_cast<double>(use.own_bytes)};
    // Addresses of PTX say which variable they belong to.
    const uint64_t first = use.place >= kFirstVariable ? use.place << kBufferShift : 0;
    return {use.place, first, first + size->second, static_cast<double>(size->second)};
  }

  /// Blocks that each keep to a part of a table need no more than these.
  double lines_of(const Table& table) const {
    const auto all = static_cast<double>(table.end - table.first);
    const double parts = blocks_ * warps_per_block_ * std::min(table.own_bytes, all);
    return std::min(all, parts) / double(kConstantLine);
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
    const double alone = std::max(gone, not_ahead * new_lines);
    const double beyond = between(capacity_, lines, 2 * capacity_);
    // In step, the first warp of a group fetches for the others, and they wait with it.
    const double together = ahead ? 0 : new_lines * between(capacity_, lines, 1.25 * capacity_);
    const double latency = apart * beyond * alone + (1 - apart) * together;
    const double fetches = apart * beyond * alone + (1 - apart) * together / warps_per_block_;
    const double cycles =
        ahead ? memory_.constant_uniform_miss_cycles : memory_.constant_miss_cycles;
    return {static_cast<float>(fetches * cycles), static_cast<float>(latency * cycles)};
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
