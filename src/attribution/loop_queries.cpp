#include "attribution/loop_queries.h"

#include <set>

#include "flow/slices.h"

namespace fathom {

uint32_t common_loop(const AnalyzedFunction& function, uint32_t a, uint32_t b) {
  const LoopNest& nest = function.loops;
  uint32_t block = function.graph.block_of[b];
  for (uint32_t loop = nest.innermost[function.graph.block_of[a]]; loop != kNoBlock;
       loop = nest.loops[loop].parent)
    if (nest.contains(loop, block)) return loop;
  return kNoBlock;
}

bool chases_pointer(const AnalyzedFunction& function, uint32_t loop, uint32_t load) {
  // Backward from the load through registers; does it reach itself?
  std::set<uint32_t> seen;
  std::vector<uint32_t> work{load};
  while (!work.empty()) {
    uint32_t use = work.back();
    work.pop_back();
    for (const Dependency& d : immediate_dependencies(function.instructions, function.graph, use)) {
      if (d.through.file == RegisterFile::barrier ||
          !function.loops.contains(loop, function.graph.block_of[d.def]))
        continue;
      if (d.def == load) return true;
      if (seen.insert(d.def).second) work.push_back(d.def);
    }
  }
  return false;
}

}  // namespace fathom
