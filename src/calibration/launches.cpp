// What starting kernels and blocks costs, and the clock.

#include <algorithm>
#include <map>

#include "calibration/bench_run.h"
#include "calibration/instructions.h"
#include "calibration/timed_kernel.h"

namespace fathom {
namespace {

constexpr int kSamples = 5;
constexpr int kLaunches = 500;

Result<void*> empty_kernel(CudaDriver& driver) {
  Result<std::vector<uint8_t>> cubin = driver.compile(
      ".version 7.0\n.target sm_70\n.address_size 64\n"
      ".visible .entry bench(.param .u64 p_out) {\n  ret;\n}\n");
  if (!cubin) return cubin.error();
  return driver.load(cubin.value(), "bench");
}

/// Microseconds of one of `launches` empty kernels.
Result<Figure> launch_time(CudaDriver& driver, void* function, GridShape shape, int launches,
                           bool graph) {
  std::vector<double> samples;
  for (int i = 0; i <= kSamples; ++i) {
    Result<double> us = graph ? driver.graph_time_us(function, shape, {0}, launches)
                              : driver.time_us(function, shape, {0}, launches);
    if (!us) return us.error();
    if (i > 0) samples.push_back(us.value() / launches);
  }
  return figure_of(samples);
}

const MeasuredInstruction& fp32() {
  const auto& all = measured_instructions();
  return *std::find_if(all.begin(), all.end(),
                       [](const MeasuredInstruction& one) { return one.name == "fp32"; });
}

/// Arithmetic on all multiprocessors.
struct BusyKernel {
  BenchRun& run;
  LoadedBenchmark loaded;
  GridShape shape;
  DeviceBuffer out;

  static Result<BusyKernel> make(BenchRun& run) {
    Result<LoadedBenchmark> loaded =
        load_benchmark(run.driver(), arithmetic_benchmark(fp32(), run.driver().compute(), 4, 128));
    if (!loaded) return loaded.error();
    const GridShape shape{run.multiprocessors(), 256, 0};
    Result<DeviceBuffer> out =
        DeviceBuffer::make(run.driver(), size_t(shape.blocks) * 8 * sizeof(WarpTime));
    if (!out) return out.error();
    return BusyKernel{run, std::move(*loaded), shape, std::move(*out)};
  }

  struct Times {
    double us = 0;      ///< from one launch to the next
    double cycles = 0;  ///< that a multiprocessor is at work
  };
  Result<Times> time(uint64_t rounds, int launches) {
    Result<double> us =
        run.driver().time_us(loaded.function, shape, {out.address(), rounds, 1, 0, 0}, launches);
    if (!us) return us.error();
    std::vector<WarpTime> times(size_t(shape.blocks) * 8);
    Result<Done> done =
        run.driver().read(times.data(), out.address(), times.size() * sizeof(WarpTime));
    if (!done) return done.error();
    return Times{us.value() / launches, figure_of(cycles_by_multiprocessor(times)).value};
  }
};

/// Beyond the cycles that a kernel of some microseconds is at work.
Result<Done> measure_between(BenchRun& run) {
  constexpr uint64_t kRounds = 40;
  constexpr int kBusyLaunches = 100;
  Result<BusyKernel> kernel = BusyKernel::make(run);
  if (!kernel) return kernel.error();
  std::vector<double> samples;
  for (int i = 0; i <= kSamples; ++i) {
    Result<BusyKernel::Times> times = kernel->time(kRounds, kBusyLaunches);
    if (!times) return times.error();
    if (i > 0) samples.push_back(times->us - times->cycles / run.figures().value("clock_mhz"));
  }
  run.figures().set("launch/between_us", figure_of(samples));
  return Done{};
}

/// From each block's end to its successor's begin on the same multiprocessor, one block at a time.
std::vector<double> gaps_between_blocks(std::vector<WarpTime> blocks) {
  std::sort(blocks.begin(), blocks.end(), [](const WarpTime& a, const WarpTime& b) {
    return std::tie(a.multiprocessor, a.begin) < std::tie(b.multiprocessor, b.begin);
  });
  std::vector<double> gaps;
  for (size_t i = 1; i < blocks.size(); ++i)
    if (blocks[i].multiprocessor == blocks[i - 1].multiprocessor &&
        blocks[i].begin > blocks[i - 1].end)
      gaps.push_back(double(blocks[i].begin - blocks[i - 1].end));
  return gaps;
}

Result<Done> measure_block_latency(BenchRun& run) {
  Result<LoadedBenchmark> loaded =
      load_benchmark(run.driver(), arithmetic_benchmark(fp32(), run.driver().compute(), 1, 64));
  if (!loaded) return loaded.error();
  // Most of a multiprocessor's shared memory lets it hold one block at a time.
  const uint32_t shared =
      static_cast<uint32_t>(run.driver().attribute(DeviceAttribute::shared_per_block_optin)) - 8192;
  Result<Done> done = run.driver().allow_shared(loaded->function, shared);
  if (!done) return done;
  const uint32_t blocks = run.multiprocessors() * 16;
  Result<DeviceBuffer> out = DeviceBuffer::make(run.driver(), blocks * sizeof(WarpTime));
  if (!out) return out.error();
  std::vector<WarpTime> times(blocks);
  done = run.driver().launch(loaded->function, {blocks, 32, shared}, {out->address(), 20, 1, 0, 0});
  if (done.ok()) done = run.driver().wait();
  if (done.ok()) done = run.driver().read(times.data(), out->address(), blocks * sizeof(WarpTime));
  if (!done) return done;
  std::vector<double> gaps = gaps_between_blocks(std::move(times));
  std::sort(gaps.begin(), gaps.end());
  if (gaps.empty())
    return Error{ErrorKind::cannot_answer, "no multiprocessor ran two blocks", "block_latency", ""};
  // A few wait for the whole grid to begin; the middle nine tenths are what a block waits for.
  run.figures().set("launch/block_latency", {gaps[gaps.size() / 2], gaps[gaps.size() / 20],
                                             gaps[gaps.size() - 1 - gaps.size() / 20]});
  return Done{};
}

}  // namespace

/// Cycles and microseconds of a long kernel beside those of a shorter one.
Result<Done> measure_clock(BenchRun& run) {
  Result<BusyKernel> kernel = BusyKernel::make(run);
  if (!kernel) return kernel.error();
  std::vector<double> samples;
  for (int i = 0; i <= kSamples; ++i) {
    Result<BusyKernel::Times> little = kernel->time(20000, 1), much = kernel->time(120000, 1);
    if (!little) return little.error();
    if (!much) return much.error();
    if (i > 0) samples.push_back((much->cycles - little->cycles) / (much->us - little->us));
  }
  run.figures().set("clock_mhz", figure_of(samples));
  return Done{};
}

Result<Done> measure_launches(BenchRun& run) {
  CudaDriver& driver = run.driver();
  Result<void*> kernel = empty_kernel(driver);
  if (!kernel) return kernel.error();
  FigureTable table{{"blocks", "threads", "stream_us", "graph_us", "single_us"}, {}};
  for (uint32_t waves : {0u, 1u, 8u, 64u}) {
    for (uint32_t threads : {32u, 256u, 1024u}) {
      const GridShape shape{waves == 0 ? 1 : run.multiprocessors() * waves, threads, 0};
      Result<Figure> stream = launch_time(driver, kernel.value(), shape, kLaunches, false);
      if (!stream) return stream.error();
      Result<Figure> graph = launch_time(driver, kernel.value(), shape, kLaunches, true);
      if (!graph) return graph.error();
      Result<Figure> single = launch_time(driver, kernel.value(), shape, 1, false);
      if (!single) return single.error();
      table.rows.push_back(
          {double(shape.blocks), double(threads), stream->value, graph->value, single->value});
      if (waves == 1 && threads == 256) {
        run.figures().set("launch/empty_kernel_us", stream.value());
        run.figures().set("launch/stream_launch_us", stream.value());
        run.figures().set("launch/graph_launch_us", graph.value());
        run.figures().set("launch/single_launch_us", single.value());
      }
    }
  }
  run.figures().tables["launch_by_shape"] = std::move(table);
  return measure_between(run);
}

/// The time of empty blocks as they become more.
Result<Done> measure_blocks(BenchRun& run) {
  Result<void*> kernel = empty_kernel(run.driver());
  if (!kernel) return kernel.error();
  constexpr uint32_t kFew = 64, kMany = 512;  // blocks for each multiprocessor
  std::vector<double> samples;
  const double mhz = run.figures().value("clock_mhz");
  for (int i = 0; i <= kSamples; ++i) {
    double us[2] = {};
    for (int k = 0; k < 2; ++k) {
      const GridShape shape{run.multiprocessors() * (k ? kMany : kFew), 32, 0};
      Result<double> time = run.driver().time_us(kernel.value(), shape, {0}, 20);
      if (!time) return time.error();
      us[k] = time.value() / 20;
    }
    if (i > 0) samples.push_back((us[1] - us[0]) * mhz / (kMany - kFew));
  }
  run.figures().set("launch/block_cycles", figure_of(samples));
  return measure_block_latency(run);
}

}  // namespace fathom
