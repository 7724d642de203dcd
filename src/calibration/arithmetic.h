#pragma once

#include "calibration/figures.h"
#include "calibration/instructions.h"
#include "calibration/warp_times.h"

namespace fathom {

/// Throughput of one class as independent chains (ILP) and warps grow.
struct ThroughputPoint {
  int chains = 1, warps = 1;
  double lanes = 0;  ///< threads' operations per multiprocessor and cycle
};
/// The fewest warps that reach 95% of the best throughput with one chain each; 0 for no points.
int peak_warps(const std::vector<ThroughputPoint>& points);

/// Measures one class: "classes/NAME/latency", ".../lanes", ".../peak_warps" and the table
/// "throughput/NAME". What the compiler changed is no error but a failure in `figures`.
Result<Done> measure_instruction(CudaDriver& driver, RoundTimer& timer,
                                 const MeasuredInstruction& instruction, Figures& figures);

}  // namespace fathom
