// Power when nothing runs, and when one unit is kept busy.

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/text.h"
#include "calibration/bench_run.h"
#include "calibration/instructions.h"
#include "calibration/power_meter.h"

namespace fathom {
namespace {

constexpr double kSettle = 0.25, kSeconds = 0.95;  // until power has settled; in all
constexpr double kChunkUs = 4000;

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// A kernel that keeps something busy on the whole GPU.
struct Load {
  std::string name;
  LoadedBenchmark benchmark;
  GridShape shape;
  std::vector<uint64_t> arguments;
  double operations = 0;  ///< of one launch: threads' measured instructions
};

double idle_watts(const PowerMeter& meter) {
  std::vector<EnergySample> samples;
  Stopwatch watch;
  while (watch.seconds() < 1.5) {
    samples.push_back({watch.seconds(), meter.energy_mj()});
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return watts_of(samples, kSettle);
}

Result<Done> measure_load(BenchRun& run, const PowerMeter& meter, const Load& load) {
  Result<double> once =
      run.driver().time_us(load.benchmark.function, load.shape, load.arguments, 4);
  if (!once) return once.error();
  const int launches = std::clamp(static_cast<int>(kChunkUs * 4 / once.value()), 1, 1000);
  std::vector<EnergySample> samples;
  double busy_us = 0, count = 0;
  Stopwatch watch;
  while (watch.seconds() < kSeconds) {
    Result<double> us =
        run.driver().time_us(load.benchmark.function, load.shape, load.arguments, launches);
    if (!us) return us.error();
    samples.push_back({watch.seconds(), meter.energy_mj()});
    busy_us += us.value();
    count += launches;
  }
  const double watts = watts_of(samples, kSettle);
  const double idle = run.figures().value("power/idle_watts");
  const double rate = load.operations * count / (busy_us * 1e-6);
  const std::string path = "power/loads/" + load.name;
  run.figures().set(path + "/watts", {watts, watts, watts});
  run.figures().set(path + "/operations_per_second", {rate, rate, rate});
  const double picojoules = (watts - idle) / rate * 1e12;
  run.figures().set(path + "/picojoules_above_idle", {picojoules, picojoules, picojoules});
  return Done{};
}

Result<Done> measure_arithmetic(BenchRun& run, const PowerMeter& meter) {
  constexpr uint64_t kRounds = 40;
  constexpr int kChains = 4, kBodies = 128;
  Result<DeviceBuffer> out =
      DeviceBuffer::make(run.driver(), run.multiprocessors() * 32 * sizeof(WarpTime));
  if (!out) return out.error();
  for (const MeasuredInstruction& one : measured_instructions()) {
    static const char* const kUnits[] = {"integer",     "integer_multiply", "fp32",       "fp64",
                                         "fp16",        "special",          "conversion", "shuffle",
                                         "load_shared", "tensor_16816_f16"};
    if (std::find(std::begin(kUnits), std::end(kUnits), one.name) == std::end(kUnits) ||
        int(run.driver().compute()) < one.compute)
      continue;
    Result<LoadedBenchmark> loaded = load_benchmark(
        run.driver(), arithmetic_benchmark(one, run.driver().compute(), kChains, kBodies));
    if (!loaded) return loaded.error();
    Load load{one.name,
              loaded.value(),
              {run.multiprocessors(), 1024, 0},
              {out->address(), kRounds, 0x2545f491, 0, 0},
              double(run.multiprocessors()) * 1024 * loaded->measured * kRounds};
    if (Result<Done> done = measure_load(run, meter, load); !done) return done;
  }
  return Done{};
}

Result<Done> measure_memory(BenchRun& run, const PowerMeter& meter) {
  const GridShape shape{run.multiprocessors() * 2, 1024, 0};
  const uint64_t threads = uint64_t(shape.blocks) * shape.threads, step = threads * 16;
  const uint64_t rounds = (uint64_t(2) << 30) / (4 * step);
  Result<DeviceBuffer> buffer = DeviceBuffer::make(run.driver(), uint64_t(7) << 30);
  if (!buffer) return buffer.error();
  Result<DeviceBuffer> out = DeviceBuffer::make(run.driver(), shape.blocks * 32 * sizeof(WarpTime));
  if (!out) return out.error();
  Result<Done> done = run.driver().fill(buffer->address(), 0x5a, buffer->bytes());
  if (!done) return done;
  for (const char* mode : {"read", "write", "copy"}) {
    Result<LoadedBenchmark> loaded = run.memory(std::string(mode) + "_16");
    if (!loaded) return loaded.error();
    Load load{std::string("dram_") + mode,
              loaded.value(),
              shape,
              {out->address(), rounds, buffer->address(), step, 16},
              double(threads) * 4 * rounds};
    done = measure_load(run, meter, load);
    if (!done) return done;
  }
  // The same place over and over, which L2 holds.
  Result<LoadedBenchmark> loaded = run.memory("read_16");
  if (!loaded) return loaded.error();
  return measure_load(run, meter,
                      {"l2_read",
                       loaded.value(),
                       shape,
                       {out->address(), rounds, buffer->address(), 0, 16},
                       double(threads) * 4 * rounds});
}

}  // namespace

Result<Done> measure_power(BenchRun& run) {
  std::optional<PowerMeter> meter = PowerMeter::open(run.driver().pci_bus());
  if (!meter || meter->energy_mj() == 0)
    return Error{ErrorKind::cannot_answer, "there is no energy counter", "",
                 "NVML (libnvidia-ml.so.1) must be there, and the GPU Volta or newer"};
  const double idle = idle_watts(*meter), limit = meter->limit_watts();
  run.figures().set("power/idle_watts", {idle, idle, idle});
  if (limit > 0) run.figures().set("power/limit_watts", {limit, limit, limit});
  Result<Done> done = measure_arithmetic(run, *meter);
  if (done.ok()) done = measure_memory(run, *meter);
  return done;
}

}  // namespace fathom
