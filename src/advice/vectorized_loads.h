#pragma once

#include <set>

#include "advice/kernel_view.h"

namespace fathom {

/// Loads of one thread, next to each other in memory and in the code, that fewer wide ones could
/// replace.
struct AdjacentLoads {
  const FunctionPart* part = nullptr;
  std::vector<uint32_t> instructions;  ///< by address
  uint32_t bytes = 0;                  ///< all of them together
};
std::vector<AdjacentLoads> adjacent_loads(const KernelView& view);

}  // namespace fathom
