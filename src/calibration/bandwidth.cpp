// Device memory by width, stride and mix of reads and writes.

#include "base/text.h"
#include "calibration/bench_run.h"

namespace fathom {
namespace {

constexpr uint64_t kCopyDistance = uint64_t(1) << 32;  // what the copies of memory_benchmarks keep
constexpr uint64_t kSpan = uint64_t(2) << 30;
constexpr int kAccesses = 4;
constexpr int kSamples = 5;

struct Stream {
  const char* mode;
  int width;
  uint64_t stride;  ///< in elements
};

/// Bytes a second that the kernel asks for; it runs through kSpan bytes of addresses once.
Result<Figure> bytes_per_second(BenchRun& run, const Stream& stream, DeviceAddress buffer,
                                DeviceAddress times) {
  Result<LoadedBenchmark> loaded =
      run.memory(std::string(stream.mode) + "_" + std::to_string(stream.width));
  if (!loaded) return loaded.error();
  const GridShape shape{run.multiprocessors() * 4, 512, 0};
  const uint64_t threads = uint64_t(shape.blocks) * shape.threads;
  const uint64_t between = stream.width * stream.stride, step = threads * between;
  const uint64_t rounds = std::max<uint64_t>(kSpan / (step * kAccesses), 1);
  double moved = double(threads) * stream.width * kAccesses * rounds;
  if (std::string(stream.mode) == "copy") moved *= 2;
  std::vector<double> samples;
  for (int i = 0; i <= kSamples; ++i) {
    Result<double> us =
        run.driver().time_us(loaded->function, shape, {times, rounds, buffer, step, between}, 1);
    if (!us) return us.error();
    if (i > 0) samples.push_back(moved / (us.value() * 1e-6));
  }
  return figure_of(samples);
}

}  // namespace

Result<Done> measure_bandwidth(BenchRun& run) {
  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), kCopyDistance + 2 * kSpan);
  if (!buffer) return buffer.error();
  Result<DeviceBuffer> times =
      DeviceBuffer::make(run.driver(), run.multiprocessors() * 4 * 16 * sizeof(WarpTime));
  if (!times) return times.error();
  Result<Done> done = run.driver().fill(buffer->address(), 0, buffer->bytes());
  if (!done) return done;
  FigureTable table{{"mode", "width", "stride", "bytes_per_second"}, {}};
  const char* const modes[] = {"read", "write", "copy"};
  for (int mode = 0; mode < 3; ++mode) {
    Figure best;
    for (int width : {4, 8, 16}) {
      for (uint64_t stride : {1, 2, 4, 8, 16, 32}) {
        Result<Figure> rate = bytes_per_second(run, {modes[mode], width, stride}, buffer->address(),
                                               times->address());
        if (!rate) return rate.error();
        table.rows.push_back({double(mode), double(width), double(stride), rate->value});
        if (rate->value > best.value) best = rate.value();
      }
    }
    run.figures().set(format("memory/dram_%s_bytes_per_second", modes[mode]), best);
  }
  run.figures().tables["bandwidth"] = std::move(table);
  return Done{};
}

}  // namespace fathom
