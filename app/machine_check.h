#pragma once

#include <string>
#include <vector>

namespace fathom {

/// Whether one thing that Fathom needs is there.
struct Check {
  std::string thing;
  bool works = false;
  std::string found;  ///< what and where, or why not
  std::string cost;   ///< what its absence costs
  std::string remedy;
};

/// A library of the collectors beside the program or in ../lib/fathom; empty if it is in neither.
std::string collector_library(const std::string& name);

Check check_cuda_collector();
Check check_exit_collector();
Check check_numa_runtime();
Check check_cuda_driver();
Check check_gpus();
Check check_cupti();
/// Whether the driver lets ordinary users sample program counters.
Check check_profiling_permission();
Check check_nvdisasm();
Check check_cuda_toolkit();

}  // namespace fathom
