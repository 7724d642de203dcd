#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"

namespace fathom {

struct Outcome {
  int exit_code = 0;    ///< the program's own, or 128 + signal
  uint32_t signal = 0;  ///< 0: it was not ended by one
  uint64_t wall_ns = 0;
};

/// Runs a program with changed environment variables, passes SIGINT and SIGTERM on to it and waits.
/// Errors: it cannot be started (usage).
Result<Outcome> launch(const std::vector<std::string>& arguments,
                       const std::vector<std::pair<std::string, std::string>>& environment);

}  // namespace fathom
