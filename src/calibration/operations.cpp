// Atomics, barriers and stores.

#include "base/text.h"
#include "calibration/bench_run.h"

namespace fathom {
namespace {

Figure rate(double operations, const Figure& cycles) {
  return {operations / cycles.value, operations / cycles.high, operations / cycles.low};
}

/// Few lines lie in few of L2's slices, and not evenly.
Result<Done> measure_atomics_by_lines(BenchRun& run, DeviceAddress buffer) {
  const uint32_t blocks = run.multiprocessors();
  const double hertz = run.figures().value("clock_mhz") * 1e6, sectors = blocks * 32.0 * 4;
  FigureTable table{{"lines", "sectors_per_second"}, {}};
  for (uint64_t lines = 1; lines <= 1024; lines *= 2) {
    Result<Figure> cycles = run.cycles("atomic_lines", {blocks, 1024, 0}, {buffer, lines - 1}, 2);
    if (!cycles) return cycles.error();
    table.rows.push_back({double(lines), rate(sectors * hertz, cycles.value()).value});
  }
  run.figures().tables["atomics_by_lines"] = std::move(table);
  return Done{};
}

}  // namespace

Result<Done> measure_atomics(BenchRun& run) {
  const uint32_t blocks = run.multiprocessors();
  const double hertz = run.figures().value("clock_mhz") * 1e6;
  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), size_t(blocks) * 1024 * 128);
  if (!buffer) return buffer.error();
  Result<Done> done = run.driver().fill(buffer->address(), 0, buffer->bytes());
  if (!done) return done;

  FigureTable table{{"global", "bytes_between_threads", "latency", "operations_per_second"}, {}};
  for (int global : {0, 1}) {
    const char* name = global ? "atomic_global" : "atomic_shared";
    for (uint64_t spacing : {0, 4, 8, 32, 128}) {
      // Shared memory counts in words.
      const std::vector<uint64_t> arguments = {buffer->address(), global ? spacing : spacing / 4};
      Result<Figure> alone = run.cycles(name, {1, 32, 0}, arguments, 8);
      if (!alone) return alone.error();
      Result<Figure> full = run.cycles(name, {blocks, 1024, 0}, arguments, 2);
      if (!full) return full.error();
      const Figure per_second = rate(1024.0 * blocks * hertz, full.value());
      table.rows.push_back({double(global), double(spacing), alone->value, per_second.value});
      if (spacing == 4) run.figures().set(format("memory/%s_latency", name), alone.value());
      if (global && spacing == 4) run.figures().set("memory/atomic_global_per_second", per_second);
      // A sector has room for eight of them, which one pass through the cache serves at once.
      if (global && spacing == 32)
        run.figures().set("memory/atomic_sectors_per_second", per_second);
      if (global && spacing == 0)
        run.figures().set("memory/atomic_same_address_per_second", per_second);
    }
  }
  Result<Figure> line = run.cycles("atomic_line", {blocks, 1024, 0}, {buffer->address(), 0}, 2);
  if (!line) return line.error();
  const double sectors = blocks * 32.0 * 4;
  run.figures().set("memory/atomic_line_sectors_per_second", rate(sectors * hertz, line.value()));
  run.figures().tables["atomics"] = std::move(table);
  return measure_atomics_by_lines(run, buffer->address());
}

Result<Done> measure_barriers_and_stores(BenchRun& run) {
  const uint32_t blocks = run.multiprocessors();
  FigureTable barriers{{"warps", "cycles"}, {}};
  for (uint32_t warps : {1u, 2u, 4u, 8u, 16u, 24u, 32u}) {
    Result<Figure> cycles = run.cycles("barrier", {blocks, warps * 32, 0}, {}, 32);
    if (!cycles) return cycles.error();
    barriers.rows.push_back({double(warps), cycles->value});
    if (warps == 8) run.figures().set("classes/barrier/latency", cycles.value());
    if (warps == 32) run.figures().set("classes/barrier/lanes", rate(1024, cycles.value()));
  }
  run.figures().tables["barrier_by_warps"] = std::move(barriers);

  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), size_t(blocks) * 1024 * 32);
  if (!buffer) return buffer.error();
  double whole = 0;  // cycles of stores to whole sectors
  for (const char* name : {"store_shared", "store_global"}) {
    const bool global = std::string(name) == "store_global";
    const std::vector<uint64_t> arguments = {buffer->address(), global ? 4u : 1u};
    Result<Figure> alone = run.cycles(name, {1, 32, 0}, arguments, 32);
    if (!alone) return alone.error();
    Result<Figure> full = run.cycles(name, {blocks, 1024, 0}, arguments, 8);
    if (!full) return full.error();
    const std::string path = global ? "classes/store" : "classes/store_shared";
    run.figures().set(path + "/latency", alone.value());
    // What all multiprocessors store to global memory is bound by L2, not by their own units.
    if (!global) run.figures().set(path + "/lanes", rate(1024, full.value()));
    if (global) whole = full->value;
  }
  Result<Figure> parts = run.cycles("store_global", {blocks, 1024, 0}, {buffer->address(), 32}, 8);
  if (!parts) return parts.error();
  // Eight times as many sectors, each written in part.
  run.figures().set("memory/partial_write_cost",
                    {parts->value / whole / 8, parts->low / whole / 8, parts->high / whole / 8});
  Result<Figure> constant = run.cycles("constant", {blocks, 1024, 0}, {0, 0}, 16);
  if (!constant) return constant.error();
  run.figures().set("classes/load_constant/lanes", rate(1024, constant.value()));
  return Done{};
}

}  // namespace fathom
