#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

/// What `-e` asked for, all events taken together.
struct EventSet {
  bool cuda = false;
  enum class Sampling { none, continuous, serialized } cuda_sampling = Sampling::none;
  uint32_t cuda_period_log2 = 0;  ///< 5 to 31; 0: as CUPTI sees fit
  std::string text;               ///< as the user wrote them, separated by spaces
};

/// Reads events as HPCToolkit's manual writes them: `gpu=cuda`, `gpu=cuda,pc@14`,
/// `gpu=cuda,pc=serialized@12`. Without any, `gpu=cuda`.
/// Errors (usage): an event or an attribute that does not exist, a period outside 5 to 31, or two
/// events that contradict each other.
Result<EventSet> parse_events(const std::vector<std::string>& events);

}  // namespace fathom
