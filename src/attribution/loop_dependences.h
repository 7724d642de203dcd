#pragma once

#include <map>
#include <set>
#include <vector>

#include "attribution/attribution.h"

namespace fathom {

/// Which values need which within one loop (around it too), through registers.
class LoopDependences {
 public:
  LoopDependences(const AnalyzedFunction& function, uint32_t loop);

  /// Its result goes into its own operands: it is a part of what each iteration needs of the one
  /// before.
  bool is_recurrent(uint32_t instruction) const;
  /// Samples in the loop, but those that wait for memory, on instructions that could run while it
  /// is under way: they do not make its address. What needs its result counts too: it can work on
  /// the value of the iteration before. This is the time that a warp has for hiding, which is more
  /// than the active samples of equation 5: other waits go by in it as well.
  double independent_work(uint32_t load) const;

 private:
  using Edges = std::map<uint32_t, std::vector<uint32_t>>;
  static std::set<uint32_t> reach(const Edges& edges, uint32_t from);

  const AnalyzedFunction& function_;
  std::vector<uint32_t> members_;  ///< instructions of the loop
  Edges users_, sources_;
};

}  // namespace fathom
