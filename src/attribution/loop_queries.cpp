#include "attribution/loop_queries.h"

#include <algorithm>

namespace fathom {

uint32_t common_loop(const AnalyzedFunction& function, uint32_t a, uint32_t b) {
  const LoopNest& nest = function.loops;
  uint32_t block = function.graph.block_of[b];
  for (uint32_t loop = nest.innermost[function.graph.block_of[a]]; loop != kNoBlock;
       loop = nest.loops[loop].parent)
    if (nest.contains(loop, block)) return loop;
  return kNoBlock;
}

double executions_of(const AnalyzedFunction& function, uint32_t block) {
  const Block& b = function.graph.blocks[block];
  double issued = 0;
  for (uint32_t i = b.first; i <= b.last; ++i) issued += double(function.samples[i].issued());
  return issued / (b.last - b.first + 1);
}

std::optional<uint32_t> test_of(const AnalyzedFunction& function, uint32_t jump) {
  const Guard& guard = function.instructions[jump].guard;
  if (guard.always) return std::nullopt;
  const Block& block = function.graph.blocks[function.graph.block_of[jump]];
  for (uint32_t i = jump; i-- > block.first;) {
    const auto& defs = function.instructions[i].defs;
    if (std::binary_search(defs.begin(), defs.end(), guard.predicate)) return i;
  }
  return std::nullopt;
}

}  // namespace fathom
