#pragma once

#include <functional>
#include <optional>

#include "model/finding.h"

namespace fathom {

/// The speedup estimators of the GPA paper, section 5.2. Samples are all of one kernel.

/// Equation 2: all samples `matched` of `total` go away.
double stall_elimination(double total, double matched);
/// Equations 4 and 5: latency samples are filled with the work of a scope, so that at most as many
/// go away as there are active samples in it (loop or function, with what is nested in it).
double latency_hiding(double total, double active_in_scope, double matched_latency);

/// Below this many samples in the kernel no number is given.
inline constexpr double kFewestSamples = 200;

/// The estimate for `matched` samples, with the 95% interval of the sampling error (samples are
/// counts) as its range. Nothing where the kernel has too few samples.
std::optional<SpeedupRange> with_sampling_error(double total, double matched,
                                                const std::function<double(double)>& estimate);

/// The speedup of a whole whose part `share` (0 to 1) becomes faster (Amdahl).
SpeedupRange of_whole(const SpeedupRange& part, double share);

}  // namespace fathom
