#pragma once

#include "measurement/measurement.h"

namespace fathom {

/// What the devices of a run did over time, from the records of operations. Sums over processes and
/// devices; all in seconds.
struct GpuTimeline {
  /// From the first operation on a device to the end of the last, without the pause before the
  /// first kernel, in which programs and tools set up.
  double span = 0;
  double kernels = 0;               ///< at least one kernel ran
  double copies = 0;                ///< copies or memory sets, and no kernel
  double copy_gaps = 0;             ///< nothing, before or after a copy between host and device
  double short_gaps = 0;            ///< nothing, for less than kShortGap, before a kernel
  double long_gaps = 0;             ///< nothing, for longer
  uint64_t launches = 0, gaps = 0;  ///< kernels; short gaps
  uint64_t copied_bytes = 0;        ///< between host and device
  uint64_t copy_count = 0;

  /// Gaps up to this long between operations are the cost of a launch rather than of other work.
  static constexpr double kShortGap = 30e-6;
};

GpuTimeline timeline_of(const Measurement& measurement);

}  // namespace fathom
