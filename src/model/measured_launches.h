#pragma once

#include <string>
#include <vector>

#include "model/finding.h"
#include "model/gpu_operation.h"
#include "model/stall_reason.h"

namespace fathom {

struct LineSamples {
  SourceLocation at;
  StallCounts samples;
};

/// A piece of an argument, of at most 8 bytes, that was the same in all launches.
struct KnownArgument {
  uint32_t position = 0,
           offset = 0;  ///< of the argument; of the piece, in bytes from the first one
  uint32_t bytes = 0;
  bool is_pointer = false;
  uint64_t value = 0;         ///< the bytes; of pointers nothing
  uint64_t buffer_bytes = 0;  ///< of pointers: from there to the end of the allocation; 0: unknown
  auto operator<=>(const KnownArgument&) const = default;
};

/// Launches that are alike: one kernel of one GPU binary, one shape, one device, one set of
/// arguments. Times are on the GPU, from the kernel's start to its end, in microseconds.
struct MeasuredLaunches {
  std::string name, mangled;      ///< of the kernel
  std::string program;            ///< file name of the executable
  std::string binary;             ///< SHA-256; empty: it is not in the recording
  uint32_t device = 0xffffffffu;  ///< index in Profile::devices
  LaunchShape shape;
  std::vector<KnownArgument> arguments;  ///< empty: not recorded
  /// Sets of arguments that the launches had. Very many are not told apart: `arguments` are then
  /// those of a launch that took the median time.
  size_t argument_sets = 0;
  uint64_t without_arguments = 0;  ///< launches that take over `arguments` from others
  uint64_t launches = 0;
  double total_us = 0, median_us = 0, min_us = 0, max_us = 0, first_us = 0;
  uint64_t after_others = 0;  ///< launches right before which the device did something else
  uint64_t overlapped = 0;    ///< launches during which another kernel ran on the device
  uint64_t in_graphs = 0;     ///< launches that CUDA graphs made
  /// Samples of all launches of the kernel, whatever their shapes: the hardware does not tell them
  /// apart. Most first.
  std::vector<LineSamples> lines;
  StallCounts samples;
  double share_of_kernel = 1;  ///< of the kernel's time that these launches take
  /// Samples taken / samples that multiprocessors would give which are all busy at the clock that
  /// the driver names; 0: unknown.
  double sampled_share = 0;

  double mean_us() const { return launches ? total_us / static_cast<double>(launches) : 0; }
};

}  // namespace fathom
