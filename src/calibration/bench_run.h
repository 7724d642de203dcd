#pragma once

#include <map>
#include <string>

#include "calibration/figures.h"
#include "calibration/kernel.h"
#include "calibration/warp_times.h"

namespace fathom {

/// What every part of a calibration works with: the GPU, its timer, loaded microbenchmarks and what
/// has been found so far.
class BenchRun {
 public:
  static Result<BenchRun> make(CudaDriver& driver);

  CudaDriver& driver() { return driver_; }
  RoundTimer& timer() { return timer_; }
  Figures& figures() { return figures_; }
  uint32_t multiprocessors() const { return multiprocessors_; }

  /// One of memory_benchmarks(), compiled when it is asked for first.
  Result<LoadedBenchmark> memory(const std::string& name);
  /// Cycles of one measured instruction of a memory benchmark on the median multiprocessor.
  Result<Figure> cycles(const std::string& name, GridShape shape,
                        const std::vector<uint64_t>& arguments, uint64_t rounds);

 private:
  BenchRun(CudaDriver& driver, RoundTimer timer);

  CudaDriver& driver_;
  RoundTimer timer_;
  Figures figures_;
  uint32_t multiprocessors_;
  std::map<std::string, Microbenchmark> sources_;
  std::map<std::string, LoadedBenchmark> loaded_;
};

/// Parts of a calibration. Each sets figures by the names of the machine model's object
/// "prediction", and tables beside them; what it could not measure becomes the Error.
Result<Done> measure_clock(BenchRun& run);
Result<Done> measure_latencies(BenchRun& run);
Result<Done> measure_loaded_latency(BenchRun& run);
Result<Done> measure_shared_memory(BenchRun& run);
Result<Done> measure_caches(BenchRun& run);
Result<Done> measure_constants(BenchRun& run);
Result<Done> measure_atomics(BenchRun& run);
Result<Done> measure_barriers_and_stores(BenchRun& run);
Result<Done> measure_bandwidth(BenchRun& run);
Result<Done> measure_busy_memory(BenchRun& run);  ///< after latencies and bandwidth
Result<Done> measure_sweeps(BenchRun& run);
Result<Done> measure_launches(BenchRun& run);
Result<Done> measure_blocks(BenchRun& run);
Result<Done> measure_power(BenchRun& run);

}  // namespace fathom
