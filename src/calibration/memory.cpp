// Latencies and rates of shared memory, the caches and device memory.

#include <algorithm>

#include "base/text.h"
#include "calibration/bench_run.h"

namespace fathom {
namespace {

constexpr uint64_t kLine = 128;

/// A buffer whose every eighth byte begins a pointer to itself.
Result<DeviceBuffer> self_pointers(CudaDriver& driver, size_t bytes) {
  Result<DeviceBuffer> buffer = DeviceBuffer::make(driver, bytes);
  if (!buffer) return buffer;
  std::vector<uint64_t> content(bytes / 8);
  for (size_t i = 0; i < content.size(); ++i) content[i] = buffer->address() + 8 * i;
  Result<Done> done = driver.write(buffer->address(), content.data(), bytes);
  if (!done) return done.error();
  return buffer;
}

/// Near and far lines of a split cache: the middle of the range parts them. One cache's lines lie
/// closer together than that.
void set_near_and_far(Figures& figures, std::vector<double> latencies) {
  std::sort(latencies.begin(), latencies.end());
  const size_t count = latencies.size();
  const double low = latencies[count / 20], high = latencies[count - 1 - count / 20];
  std::vector<double> near, far;
  for (double latency : latencies) (latency < (low + high) / 2 ? near : far).push_back(latency);
  const bool split = high > 1.15 * low && near.size() > count / 10 && far.size() > count / 10;
  figures.set("memory/l2_latency", figure_of(split ? near : latencies));
  figures.set("memory/l2_far_latency", figure_of(split ? far : latencies));
}

/// Each of a few hundred lines on its own, from one multiprocessor.
Result<Done> measure_l2_latency(BenchRun& run) {
  constexpr int kLines = 256;
  constexpr size_t kSpacing = 37 * kLine;
  Result<DeviceBuffer> buffer = self_pointers(run.driver(), kLines * kSpacing);
  if (!buffer) return buffer.error();
  Result<LoadedBenchmark> chase = run.memory("chase_l2");
  if (!chase) return chase.error();
  std::vector<double> latencies;
  FigureTable table{{"offset", "cycles"}, {}};
  for (int line = 0; line < kLines; ++line) {
    const uint64_t offset = line * kSpacing;
    Result<Figure> cycles = run.timer().cycles_per_round(chase->function, {1, 32, 0},
                                                         {buffer->address() + offset, 0}, 4, 1);
    if (!cycles) return cycles.error();
    latencies.push_back(cycles->value / chase->measured);
    table.rows.push_back({double(offset), latencies.back()});
  }
  set_near_and_far(run.figures(), latencies);
  run.figures().tables["l2_latency_by_line"] = std::move(table);
  return Done{};
}

Result<Done> measure_l1_latency(BenchRun& run) {
  Result<DeviceBuffer> buffer = self_pointers(run.driver(), 4096);
  if (!buffer) return buffer.error();
  Result<Figure> l1 = run.cycles("chase_l1", {1, 32, 0}, {buffer->address(), 0}, 32);
  if (!l1) return l1.error();
  run.figures().set("memory/l1_latency", l1.value());
  run.figures().set("classes/load_global/latency", l1.value());
  Result<Figure> constant = run.cycles("constant", {1, 32, 0}, {0, 0}, 32);
  if (!constant) return constant.error();
  // The address takes an addition in between.
  const double addition = run.figures().value("classes/integer/latency");
  run.figures().set(
      "classes/load_constant/latency",
      {constant->value - addition, constant->low - addition, constant->high - addition});
  return Done{};
}

/// What `random` takes beside the load: with one line, which L1 holds, all but L1's latency.
Result<double> random_overhead(BenchRun& run, DeviceAddress buffer) {
  Result<Figure> cached = run.cycles("random", {1, 32, 0}, {buffer, 0}, 64);
  if (!cached) return cached.error();
  return cached->value - run.figures().value("memory/l1_latency");
}

}  // namespace

Result<Done> measure_latencies(BenchRun& run) {
  Result<Done> done = measure_l1_latency(run);
  if (done.ok()) done = measure_l2_latency(run);
  const auto& values = run.figures().values;
  if (auto shared = values.find("classes/load_shared/latency"); shared != values.end())
    run.figures().set("memory/shared_latency", shared->second);
  return done;
}

/// One warp alone gives the latency of device memory; more of them what it is under load.
Result<Done> measure_loaded_latency(BenchRun& run) {
  constexpr size_t kFootprints[] = {size_t(16) << 20, size_t(256) << 20, size_t(1) << 30,
                                    size_t(4) << 30};
  constexpr size_t kUsual = size_t(1) << 30;
  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), kFootprints[3]);
  if (!buffer) return buffer.error();
  Result<Done> done = run.driver().fill(buffer->address(), 0, buffer->bytes());
  if (!done) return done;
  Result<double> overhead = random_overhead(run, buffer->address());
  if (!overhead) return overhead.error();
  const double hertz = run.figures().value("clock_mhz") * 1e6;
  FigureTable table{{"footprint", "multiprocessors", "warps", "cycles", "bytes_per_second"}, {}};
  for (size_t footprint : kFootprints) {
    for (uint32_t warps : {0u, 1u, 2u, 4u, 8u, 16u, 24u, 32u, 64u}) {  // 0: one warp in all
      const uint32_t blocks = warps == 0 ? 1 : run.multiprocessors() * (warps > 32 ? 2 : 1);
      const uint32_t threads = 32 * std::clamp(warps, 1u, 32u);
      Result<Figure> cycles = run.cycles("random", {blocks, threads, 0},
                                         {buffer->address(), footprint / kLine - 1}, 32);
      if (!cycles) return cycles.error();
      const double latency = cycles->value - overhead.value();
      table.rows.push_back({double(footprint), warps == 0 ? 1.0 : run.multiprocessors(),
                            double(std::max(warps, 1u)), latency,
                            blocks * (threads / 32.0) * kLine / cycles->value * hertz});
      if (warps == 0 && footprint == kUsual)
        run.figures().set("memory/dram_latency", {latency, cycles->low - overhead.value(),
                                                  cycles->high - overhead.value()});
    }
  }
  run.figures().tables["latency_under_load"] = std::move(table);
  return Done{};
}

Result<Done> measure_shared_memory(BenchRun& run) {
  FigureTable strides{{"stride_words", "latency", "cycles_per_warp"}, {}};
  for (uint64_t stride : {0, 1, 2, 3, 4, 8, 16, 32}) {
    Result<Figure> alone = run.cycles("shared_stride", {1, 32, 0}, {0, stride}, 32);
    if (!alone) return alone.error();
    Result<Figure> full =
        run.cycles("shared_stride", {run.multiprocessors(), 1024, 0}, {0, stride}, 16);
    if (!full) return full.error();
    strides.rows.push_back({double(stride), alone->value, full->value / 32});
  }
  run.figures().tables["bank_conflicts"] = std::move(strides);
  FigureTable widths{{"bytes", "bytes_per_cycle"}, {}};
  for (int bytes : {4, 8, 16}) {
    const std::string name = bytes == 4 ? "shared_stride" : format("shared_wide_%d", bytes);
    Result<Figure> full = run.cycles(name, {run.multiprocessors(), 1024, 0}, {0, 1}, 16);
    if (!full) return full.error();
    const double moved = 1024.0 * bytes;
    widths.rows.push_back({double(bytes), moved / full->value});
    if (bytes == 4)
      run.figures().set("memory/shared_bytes_per_cycle",
                        {moved / full->value, moved / full->high, moved / full->low});
  }
  run.figures().tables["shared_by_width"] = std::move(widths);
  return Done{};
}

/// Loads of eight bytes that hit, four at once in each thread.
Result<Done> measure_caches(BenchRun& run) {
  constexpr uint64_t kChainBytes = 8192;  // what 1,024 threads read at once
  const uint64_t all = uint64_t(run.multiprocessors()) * kChainBytes;
  Result<DeviceBuffer> buffer = self_pointers(run.driver(), 4 * all);
  if (!buffer) return buffer.error();
  const double hertz = run.figures().value("clock_mhz") * 1e6;
  struct Level {
    const char* benchmark;
    uint32_t blocks;
    const char* path;
    double factor;
  };
  const Level levels[] = {
      {"self_l1", run.multiprocessors(), "memory/l1_bytes_per_cycle", 1},
      {"self_l2", 1, "memory/l2_sm_bytes_per_cycle", 1},
      {"self_l2", run.multiprocessors(), "memory/l2_bytes_per_second",
       hertz * run.multiprocessors()},
  };
  for (const Level& level : levels) {
    Result<Figure> cycles =
        run.cycles(level.benchmark, {level.blocks, 1024, 0}, {buffer->address(), 8, all}, 32);
    if (!cycles) return cycles.error();
    const double moved = kChainBytes * level.factor;
    run.figures().set(level.path,
                      {moved / cycles->value, moved / cycles->high, moved / cycles->low});
    // Loads of eight bytes; lanes are those of four.
    if (level.factor == 1 && level.blocks > 1)
      run.figures().set("classes/load_global/lanes",
                        {2048 / cycles->value, 2048 / cycles->high, 2048 / cycles->low});
  }
  return Done{};
}

}  // namespace fathom
