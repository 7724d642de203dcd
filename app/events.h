#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"

namespace fathom {

/// Unless an event says `@K`: one sample each 65,536 cycles of a multiprocessor, which makes 4
/// million a second on an H200. CUPTI's own choice there, 2^11, fills the hardware's buffer during
/// long kernels and loses samples: 2^12 did so within 2 s of kernels on all multiprocessors, 2^13
/// did not.
inline constexpr uint32_t kDefaultCudaPeriodLog2 = 16;

/// What `-e` asked for, all events taken together.
struct EventSet {
  bool cuda = false;
  enum class Sampling { none, continuous, serialized } cuda_sampling = Sampling::none;
  uint32_t cuda_period_log2 = kDefaultCudaPeriodLog2;  ///< 5 to 31
  bool numa = false;
  uint32_t numa_sampling = 0;  ///< one of 2^this intervals is counted; 0 to 16
  std::string text;            ///< as the user wrote them, separated by spaces
};

/// Reads events as HPCToolkit's manual writes them: `gpu=cuda`, `gpu=cuda,pc@14`,
/// `gpu=cuda,pc=serialized@12`; and `numa`, `numa@4`. Without any, `gpu=cuda`; without `@K`, the
/// default period. Errors (usage): an event or an attribute that does not exist, a period outside 5
/// to 31 (numa: 0 to 16), or two events that contradict each other.
Result<EventSet> parse_events(const std::vector<std::string>& events);

}  // namespace fathom
