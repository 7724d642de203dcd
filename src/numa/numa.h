#pragma once

#include <optional>
#include <string_view>

#include "measurement/measurement.h"
#include "numa/topology.h"

namespace fathom {

/// Scores from which on something is reported; docs/numa.md defines them. The defaults are those of
/// the NumaPerf paper (arXiv 2102.05204, section 4).
struct NumaThresholds {
  double remote = 1500;
  double false_sharing = 1;
  double true_sharing = 1;
  double migration = 150;
  double imbalance = 1.5;  ///< the largest type's accesses for each thread over the smallest's
};

/// Sets one: "remote-access=2000", also "false-sharing", "true-sharing", "thread-migration",
/// "load-imbalance". Errors (usage): an unknown kind, or no number from 0.
Result<Done> set_threshold(std::string_view text, NumaThresholds& thresholds);

struct NumaOptions {
  Topology topology;
  NumaThresholds thresholds;
};

/// Appends to `profile` the facts of each process with instrumented code, the findings about its
/// threads and memory (those that promise most first), and warnings.
void find_numa_issues(const Measurement& measurement, const NumaOptions& options, Profile& profile);

}  // namespace fathom
