#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace fathom {

struct PredictArguments {
  std::string file, kernel, device, grid = "1", block = "256", model = "sim", format = "text",
                                    color = "auto", sweep, ptxas;
  uint32_t shared = 0;
  std::vector<std::string> arguments, trips, near;
  size_t top = 50;  ///< launch shapes of a recording: very many take a second or so
  /// Options that were given and describe a launch: a recording has its own.
  std::vector<std::string> launch_options;
};

/// `fathom predict`: says how long a kernel, or those of a recording, take and at what power.
int run_predict(const PredictArguments& arguments);

}  // namespace fathom
