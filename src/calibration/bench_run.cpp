#include "calibration/bench_run.h"

#include "calibration/memory_kernels.h"

namespace fathom {

BenchRun::BenchRun(CudaDriver& driver, RoundTimer timer)
    : driver_(driver),
      timer_(std::move(timer)),
      multiprocessors_(static_cast<uint32_t>(driver.attribute(DeviceAttribute::multiprocessors))) {
  for (Microbenchmark& one : memory_benchmarks(driver.compute()))
    sources_.emplace(one.name, std::move(one));
}

Result<BenchRun> BenchRun::make(CudaDriver& driver) {
  Result<RoundTimer> timer = RoundTimer::make(driver);
  if (!timer) return timer.error();
  return BenchRun(driver, std::move(timer.value()));
}

Result<LoadedBenchmark> BenchRun::memory(const std::string& name) {
  if (auto found = loaded_.find(name); found != loaded_.end()) return found->second;
  const auto source = sources_.find(name);
  FATHOM_INVARIANT(source != sources_.end());
  Result<LoadedBenchmark> loaded = load_benchmark(driver_, source->second);
  if (!loaded) return loaded.error();
  figures_.sass[name] = loaded->text;
  return loaded_[name] = loaded.value();
}

Result<Figure> BenchRun::cycles(const std::string& name, GridShape shape,
                                const std::vector<uint64_t>& arguments, uint64_t rounds) {
  Result<LoadedBenchmark> loaded = memory(name);
  if (!loaded) return loaded.error();
  Result<Figure> cycles = timer_.cycles_per_round(loaded->function, shape, arguments, rounds);
  if (!cycles) return cycles.error();
  return scaled(cycles.value(), 1.0 / loaded->measured);
}

}  // namespace fathom
