#pragma once

#include <vector>

#include "calibration/figures.h"
#include "calibration/kernel.h"

namespace fathom {

/// What each warp of a microbenchmark writes; see arithmetic_benchmark.
struct WarpTime {
  uint64_t begin = 0, end = 0, multiprocessor = 0;
};

/// Cycles from the first warp's begin to the last one's end on each multiprocessor that had any;
/// warps whose end lies before their begin are left out.
std::vector<double> cycles_by_multiprocessor(const std::vector<WarpTime>& warps);

/// Launches that are alike except for how often their loop goes round; the difference of two is
/// free of what comes before and after the loop.
class RoundTimer {
 public:
  static Result<RoundTimer> make(CudaDriver& driver);

  /// Cycles of one round of the loop, on the median multiprocessor: `repeats` samples.
  /// `further` are the arguments behind (out, rounds).
  Result<Figure> cycles_per_round(void* function, GridShape shape,
                                  const std::vector<uint64_t>& further, uint64_t rounds,
                                  int repeats = 5);

 private:
  RoundTimer(CudaDriver& driver, DeviceBuffer out) : driver_(driver), out_(std::move(out)) {}
  Result<double> cycles(void* function, GridShape shape, const std::vector<uint64_t>& further,
                        uint64_t rounds);

  CudaDriver& driver_;
  DeviceBuffer out_;
};

}  // namespace fathom
