#pragma once

#include <cstdint>
#include <vector>

namespace fathom {

struct CallSite {
  uint32_t caller = 0, callee = 0;  ///< functions, by index
  uint32_t instruction = 0;         ///< of the call, in the caller
};
/// A static call graph with its strongly connected components (Tarjan).
struct CallGraph {
  std::vector<CallSite> sites;  ///< sorted by caller, then instruction
  std::vector<uint32_t>
      component;  ///< by function; callees' components come first (reverse topological)
  uint32_t component_count = 0;

  /// Sites that name a function beyond `function_count` are left out.
  static CallGraph build(uint32_t function_count, std::vector<CallSite> sites);
  /// True for a function that may call itself, directly or not.
  bool recursive(uint32_t function) const;
};

}  // namespace fathom
