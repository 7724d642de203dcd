#pragma once

#include <vector>

namespace fathom {

/// Cycles of a load by one warp that walks through so many bytes.
struct ConstantWalk {
  double bytes = 0, cycles = 0;
};
/// The largest table whose walk takes no longer than the smallest one's, by less than a quarter of
/// what the largest one's takes; 0 where none takes longer.
double constant_capacity(const std::vector<ConstantWalk>& walks);

/// Cycles of a line of 64 bytes while so many blocks, all warps of a multiprocessor together, walk
/// through a table that does not fit.
struct ConstantGroups {
  double blocks = 0, cycles = 0;
};
/// How many blocks make half of the most misses, those of the last; `together` is what a line takes
/// without any. In between, on a scale of logarithms. 0 where all take as long.
double groups_that_miss(const std::vector<ConstantGroups>& groups, double together);

}  // namespace fathom
