#pragma once

#include <vector>

namespace fathom {

/// What a sweep over so many bytes reached.
struct FootprintRate {
  double bytes = 0, rate = 0;  ///< bytes, bytes a second
};

/// The footprint of which a cache still gives the share `kept` (0 to 1), where the first of `rates`
/// is all from the cache and the last all from beyond; in between, times add up. 0 where no rate
/// differs.
double footprint_at(const std::vector<FootprintRate>& rates, double kept);

}  // namespace fathom
