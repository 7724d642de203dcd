// How long loads of device memory take when several are waited for, and when it is busy.

#include <algorithm>
#include <cmath>

#include "calibration/bench_run.h"

namespace fathom {
namespace {

constexpr uint64_t kLine = 128;
constexpr size_t kFootprint = size_t(1) << 29;
constexpr size_t kBuffer = 4 * kFootprint;  ///< for what random_four loads
constexpr uint32_t kFew = 4;                ///< warps that do not make memory busy
/// Below this share of its bandwidth memory is not busy, above the other one loads queue.
constexpr double kLeastBusy = 0.2, kMostBusy = 0.65;

/// A benchmark of `random`'s kind, each step of which waits for what it loads.
struct Chase {
  const char* name;
  int operations;  ///< in a step
};
constexpr Chase kOne{"random", 1}, kFour{"random_four", 4}, kCopy{"random_copy", 2};

class BusyMemory {
 public:
  BusyMemory(BenchRun& run, DeviceAddress buffer)
      : run_(run), buffer_(buffer), hertz_(run.figures().value("clock_mhz") * 1e6) {}

  /// Lines that were written before would be written back while others are read.
  Result<Done> clean_caches() {
    Result<double> cycles = latency(kOne, 64);
    return cycles ? Result<Done>(Done{}) : Result<Done>(cycles.error());
  }

  /// Where a load takes between two bounds, the slowest of four takes three fifths of half their
  /// distance more than the mean.
  Result<Done> spread() {
    Result<double> one = alone(kOne), four = alone(kFour);
    if (!one) return one.error();
    if (!four) return four.error();
    const double spread = std::max(0.0, (four.value() - one.value()) / 0.6);
    run_.figures().set("memory/dram_latency_spread", {spread, spread, spread});
    return Done{};
  }

  /// `figure`: cycles over u / sqrt(1 - u), to the least squares.
  Result<Done> under_load(const Chase& chase, double lines, double bandwidth, const char* figure) {
    Result<double> idle = alone(chase);
    if (!idle) return idle.error();
    double squares = 0, products = 0;
    for (uint32_t warps : {8u, 16u, 24u, 32u, 64u}) {
      Result<double> cycles = latency(chase, warps);
      if (!cycles) return cycles.error();
      const double busy = run_.multiprocessors() * warps * lines * kLine /
                          (cycles.value() + overhead_) * hertz_ / bandwidth;
      table_.rows.push_back({lines, double(warps), cycles.value(), busy});
      if (busy < kLeastBusy || busy > kMostBusy) continue;
      const double load = busy / std::sqrt(1 - busy);
      squares += load * load;
      products += load * (cycles.value() - idle.value());
    }
    if (squares > 0) {
      const double value = std::max(0.0, products / squares);
      run_.figures().set(figure, {value, value, value});
    }
    return Done{};
  }

  FigureTable& table() { return table_; }

 private:
  /// A few warps on each multiprocessor.
  Result<double> alone(const Chase& chase) {
    Result<Figure> cached = run_.cycles(chase.name, {1, 32, 0}, {buffer_, 0}, 64);
    if (!cached) return cached.error();
    overhead_ = cached->value * chase.operations - run_.figures().value("memory/l1_latency");
    return latency(chase, kFew);
  }
  Result<double> latency(const Chase& chase, uint32_t warps) {
    const uint32_t blocks = run_.multiprocessors() * (warps > 32 ? 2 : 1);
    Result<Figure> cycles = run_.cycles(chase.name, {blocks, 32 * std::min(warps, 32u), 0},
                                        {buffer_, kFootprint / kLine - 1}, 32);
    if (!cycles) return cycles.error();
    return cycles->value * chase.operations - overhead_;
  }

  BenchRun& run_;
  DeviceAddress buffer_;
  double hertz_, overhead_ = 0;
  FigureTable table_{{"lines_moved", "warps", "cycles", "busy"}, {}};
};

}  // namespace

Result<Done> measure_busy_memory(BenchRun& run) {
  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), kBuffer);
  if (!buffer) return buffer.error();
  Result<Done> done = run.driver().fill(buffer->address(), 0, buffer->bytes());
  if (!done) return done;
  BusyMemory memory(run, buffer->address());
  const Figures& figures = run.figures();
  done = memory.clean_caches();
  if (done.ok()) done = memory.spread();
  if (done.ok())
    done = memory.under_load(kOne, 1, figures.value("memory/dram_read_bytes_per_second"),
                             "memory/dram_busy_read_cycles");
  if (done.ok())
    done = memory.under_load(kCopy, 2, figures.value("memory/dram_copy_bytes_per_second"),
                             "memory/dram_busy_mixed_cycles");
  run.figures().tables["busy_memory"] = std::move(memory.table());
  return done;
}

}  // namespace fathom
