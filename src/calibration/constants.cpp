// The first cache of constants: what it holds, what a miss costs, and how many blocks can walk
// through a larger table before they take each other's lines.

#include "calibration/constants.h"

#include <cmath>

#include "calibration/bench_run.h"

namespace fathom {
namespace {

constexpr double kLine = 64, kLoadsOfLine = 8;
constexpr uint64_t kSmallTable = 256, kLargeTable = 8192;
constexpr uint64_t kBytes = 65536;  // that each warp reads beyond the first rounds
constexpr double kSchedulers = 4;   // of a multiprocessor, since Volta
/// Cycles in which the last block of a multiprocessor comes after the first: most of a table.
constexpr double kLate = 40000;

double share_of(double value, double low, double high) {
  return high > low ? (value - low) / (high - low) : 0;
}

/// One warp by itself: the first level's size, and the way to the next.
Result<Done> measure_walks(BenchRun& run) {
  FigureTable table{{"bytes", "cycles"}, {}};
  std::vector<ConstantWalk> walks;
  Figure last;
  for (uint64_t bytes :
       {512, 1024, 1536, 1792, 2048, 2304, 2560, 3072, 4096, 6144, 8192, 16384, 32768}) {
    Result<Figure> cycles = run.cycles("constant_walk", {1, 32, 0}, {0, bytes, 0}, 2 * bytes / 64);
    if (!cycles) return cycles.error();
    walks.push_back({double(bytes), cycles->value});
    table.rows.push_back({double(bytes), cycles->value});
    if (bytes == kLargeTable) last = cycles.value();
  }
  run.figures().tables["constant_walk_by_bytes"] = std::move(table);
  const double capacity = constant_capacity(walks), hit = walks.front().cycles;
  run.figures().set("memory/constant_bytes", {capacity, capacity, capacity});
  run.figures().set("memory/constant_miss_cycles",
                    {last.value - hit, last.low - hit, last.high - hit});
  return Done{};
}

struct Walkers {
  uint32_t warps, blocks;  ///< of a multiprocessor
};

/// Cycles of a multiprocessor for a line of the table in each of its warps.
Result<Figure> line_cycles(BenchRun& run, Walkers walkers, uint64_t bytes, FigureTable& table) {
  const uint32_t all = run.multiprocessors() * walkers.blocks;
  const auto late = static_cast<uint64_t>(256 * kLate / all);
  const GridShape shape{all, 32 * walkers.warps / walkers.blocks, 0};
  Result<Figure> round = run.cycles("constant_table", shape, {0, bytes, late}, kBytes / bytes);
  if (!round) return round.error();
  Figure line = scaled(round.value(), kLoadsOfLine * kLine / static_cast<double>(bytes));
  table.rows.push_back({double(walkers.warps), double(walkers.blocks), double(bytes), line.value});
  return line;
}

/// Many blocks: from which size on they take each other's lines.
Result<double> free_table(BenchRun& run, FigureTable& table) {
  std::vector<ConstantWalk> walks;
  for (uint64_t bytes : {kSmallTable, 2 * kSmallTable, 4 * kSmallTable, kLargeTable}) {
    Result<Figure> cycles = line_cycles(run, {64, 8}, bytes, table);
    if (!cycles) return cycles.error();
    walks.push_back({double(bytes), cycles->value});
  }
  return constant_capacity(walks);
}

struct Groups {
  double half = 0;
  Figure most;
};
Result<Groups> groups_of(BenchRun& run, uint32_t warps, FigureTable& table) {
  Groups out;
  const Result<Figure> free = line_cycles(run, {warps, 2}, kSmallTable, table);
  if (!free) return free.error();
  std::vector<ConstantGroups> groups;
  for (uint32_t blocks : {2, 4, 8, 16}) {
    Result<Figure> cycles = line_cycles(run, {warps, blocks}, kLargeTable, table);
    if (!cycles) return cycles.error();
    groups.push_back({double(blocks), cycles->value});
    out.most = {cycles->value - free->value, cycles->low - free->value, cycles->high - free->value};
  }
  out.half = groups_that_miss(groups, free->value);
  return out;
}

Result<Done> measure_groups(BenchRun& run) {
  FigureTable table{{"warps", "blocks", "bytes", "cycles"}, {}};
  const Result<double> fits = free_table(run, table);
  if (!fits) return fits.error();
  const Result<Groups> few = groups_of(run, 32, table), many = groups_of(run, 64, table);
  if (!few) return few.error();
  if (!many) return many.error();
  run.figures().tables["constant_table_by_blocks"] = std::move(table);
  const double half = std::sqrt(few->half * many->half);
  if (*fits == 0 || half == 0)
    return Error{ErrorKind::cannot_answer, "blocks do not disturb each other", "constant_table",
                 "no cost of such walks will be predicted"};
  run.figures().set("memory/constant_uniform_bytes", {*fits, *fits, *fits});
  run.figures().set("memory/constant_groups",
                    {half, std::min(few->half, many->half), std::max(few->half, many->half)});
  // Each load of each warp misses then, one after the other in each scheduler's part.
  run.figures().set("memory/constant_uniform_miss_cycles",
                    scaled(many->most, kSchedulers / 64 / kLoadsOfLine));
  return Done{};
}

}  // namespace

double constant_capacity(const std::vector<ConstantWalk>& walks) {
  double capacity = 0;
  const double low = walks.front().cycles, high = walks.back().cycles;
  if (high < 1.2 * low) return 0;
  for (const ConstantWalk& each : walks) {
    if (share_of(each.cycles, low, high) > 0.25) break;
    capacity = each.bytes;
  }
  return capacity;
}

double groups_that_miss(const std::vector<ConstantGroups>& groups, double together) {
  const double most = groups.back().cycles;
  if (most < 1.5 * together) return 0;
  for (size_t i = 0; i < groups.size(); ++i) {
    const double now = share_of(groups[i].cycles, together, most);
    if (now < 0.5) continue;
    if (i == 0) return groups[0].blocks;
    const double before = share_of(groups[i - 1].cycles, together, most);
    const double way = share_of(0.5, before, now);
    return groups[i - 1].blocks * std::pow(groups[i].blocks / groups[i - 1].blocks, way);
  }
  return groups.back().blocks;
}

Result<Done> measure_constants(BenchRun& run) {
  Result<Done> done = measure_walks(run);
  if (done.ok() && run.figures().value("memory/constant_bytes") > 0) done = measure_groups(run);
  return done;
}

}  // namespace fathom
