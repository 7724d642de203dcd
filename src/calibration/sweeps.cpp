// L2 by the size of what goes through it: how fast it is, and from which size on it keeps nothing.

#include "calibration/sweeps.h"
#include "calibration/bench_run.h"

namespace fathom {
namespace {

constexpr uint32_t kThreads = 512, kBlocks = 4;  // of a block, and on each multiprocessor
constexpr int kAccesses = 4, kWidth = 16, kSamples = 3, kLaunches = 20;
constexpr uint64_t kFewRounds = 16, kManyRounds = 48;
constexpr double kMegabyte = 1 << 20;
constexpr double kFootprints[] = {8, 12, 16, 24, 32, 40, 48, 56, 64, 80, 96, 128, 192};

class Sweeps {
 public:
  Sweeps(BenchRun& run, DeviceAddress buffer, DeviceAddress times)
      : run_(run), buffer_(buffer), times_(times) {}

  /// Accesses a second of all threads, each round of which makes kAccesses.
  Result<Figure> per_second(const char* name, uint64_t b, uint64_t c) {
    Result<LoadedBenchmark> loaded = run_.memory(name);
    if (!loaded) return loaded.error();
    std::vector<double> samples;
    for (int i = 0; i <= kSamples; ++i) {
      double us[2] = {};
      for (int k = 0; k < 2; ++k) {
        Result<double> time = run_.driver().time_us(
            loaded->function, shape(), {times_, k ? kManyRounds : kFewRounds, buffer_, b, c}, 1);
        if (!time) return time.error();
        us[k] = time.value();
      }
      const double more = double(threads()) * kAccesses * (kManyRounds - kFewRounds);
      if (i > 0 && us[1] > us[0]) samples.push_back(more / (us[1] - us[0]) * 1e6);
    }
    if (samples.empty())
      return Error{ErrorKind::cannot_answer, "more rounds took no longer", name, ""};
    return figure_of(samples);
  }

  /// Microseconds of a launch that goes through the bytes once, as those before it did.
  Result<double> once_us(const char* name, uint64_t footprint) {
    Result<LoadedBenchmark> loaded = run_.memory(name);
    if (!loaded) return loaded.error();
    const uint64_t step = threads() * kWidth, rounds = footprint / (step * kAccesses);
    std::vector<double> samples;
    for (int i = 0; i <= kSamples; ++i) {
      Result<double> us = run_.driver().time_us(
          loaded->function, shape(), {times_, rounds, buffer_, footprint, step}, kLaunches);
      if (!us) return us.error();
      if (i > 0) samples.push_back(us.value() / kLaunches);
    }
    return figure_of(samples).value;
  }

  GridShape shape() const { return {run_.multiprocessors() * kBlocks, kThreads, 0}; }
  uint64_t threads() const { return uint64_t(shape().blocks) * kThreads; }

 private:
  BenchRun& run_;
  DeviceAddress buffer_, times_;
};

}  // namespace

double footprint_at(const std::vector<FootprintRate>& rates, double kept) {
  if (rates.size() < 2) return 0;
  const double best = 1 / rates.front().rate, worst = 1 / rates.back().rate;
  if (worst <= best) return 0;
  auto share = [&](const FootprintRate& at) { return (worst - 1 / at.rate) / (worst - best); };
  for (size_t i = 1; i < rates.size(); ++i) {
    const double before = share(rates[i - 1]), now = share(rates[i]);
    if (now > kept) continue;
    const double way = before > now ? (before - kept) / (before - now) : 1;
    return rates[i - 1].bytes + way * (rates[i].bytes - rates[i - 1].bytes);
  }
  return rates.back().bytes;
}

namespace {

/// What a launch finds of the data that the launch before it went through: the slope of its time
/// over the footprint, beyond that of the smallest two, tells.
Result<Done> measure_kept(BenchRun& run, Sweeps& sweeps) {
  FigureTable table{{"mode", "footprint", "us"}, {}};
  const uint64_t piece = sweeps.threads() * kWidth * kAccesses;
  for (const char* name : {"sweep_read", "sweep_copy"}) {
    const bool copy = std::string(name) == "sweep_copy";
    std::vector<FootprintRate> rates;
    double first_bytes = 0, first_us = 0;
    for (uint64_t pieces : {1, 2, 3, 4, 5, 6, 8, 12}) {
      const uint64_t footprint = pieces * piece;
      Result<double> us = sweeps.once_us(name, footprint);
      if (!us) return us.error();
      const double bytes = double(footprint) * (copy ? 2 : 1);
      table.rows.push_back({copy ? 1.0 : 0.0, bytes, us.value()});
      if (pieces == 1) first_bytes = bytes, first_us = us.value();
      if (us.value() > first_us)
        rates.push_back({bytes, (bytes - first_bytes) / (us.value() - first_us)});
    }
    if (copy) continue;
    const double kept = footprint_at(rates, 0.9), lost = footprint_at(rates, 0.1);
    run.figures().set("memory/l2_kept_bytes", {kept, kept, kept});
    run.figures().set("memory/l2_lost_bytes", {lost, lost, lost});
  }
  run.figures().tables["l2_kept_by_footprint"] = std::move(table);
  return Done{};
}

}  // namespace

Result<Done> measure_sweeps(BenchRun& run) {
  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), uint64_t(640 * kMegabyte));
  if (!buffer) return buffer.error();
  Result<DeviceBuffer> times = DeviceBuffer::make(
      run.driver(), run.multiprocessors() * kBlocks * (kThreads / 32) * sizeof(WarpTime));
  if (!times) return times.error();
  Result<Done> done = run.driver().fill(buffer->address(), 0, buffer->bytes());
  if (!done) return done;
  Sweeps sweeps(run, buffer->address(), times->address());
  const uint64_t step = sweeps.threads() * kWidth;
  FigureTable table{{"mode", "footprint", "bytes_per_second"}, {}};
  struct Mode {
    const char *name, *path;
    double bytes, buffers;
  };
  const Mode modes[] = {{"sweep_read", "memory/l2_read_bytes_per_second", kWidth, 1},
                        {"sweep_write", "memory/l2_write_bytes_per_second", kWidth, 1},
                        {"sweep_copy", "memory/l2_copy_bytes_per_second", 2 * kWidth, 2}};
  for (const Mode& mode : modes) {
    for (double megabytes : kFootprints) {
      const auto footprint = uint64_t(megabytes / mode.buffers * kMegabyte);
      if (footprint < step) continue;
      Result<Figure> rate = sweeps.per_second(mode.name, footprint, step);
      if (!rate) return rate.error();
      const Figure bytes = scaled(rate.value(), mode.bytes);
      table.rows.push_back({double(&mode - modes), megabytes * kMegabyte, bytes.value});
      // A quarter of the cache: neither so little that few of its parts have it nor too much.
      if (megabytes == 16) run.figures().set(mode.path, bytes);
    }
  }
  run.figures().tables["l2_by_footprint"] = std::move(table);
  if (Result<Done> kept = measure_kept(run, sweeps); !kept) return kept;
  FigureTable random{{"footprint", "sectors_per_second"}, {}};
  for (uint64_t megabytes : {1, 4, 16, 32, 64, 128, 512}) {
    Result<Figure> rate = sweeps.per_second("gather", (megabytes << 20) / 32 - 1, 0);
    if (!rate) return rate.error();
    random.rows.push_back({double(megabytes << 20), rate->value});
    if (megabytes == 16) run.figures().set("memory/l2_gather_sectors_per_second", rate.value());
    if (megabytes == 512) run.figures().set("memory/dram_gather_sectors_per_second", rate.value());
  }
  run.figures().tables["gather_by_footprint"] = std::move(random);
  return Done{};
}

}  // namespace fathom
