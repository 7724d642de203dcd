#include "advice/loops.h"

#include <algorithm>

namespace fathom {

uint32_t unroll_factor(const LoopView& loop) {
  if (!loop.innermost || loop.copies > 1 || loop.has_barrier || loop.instructions == 0) return 1;
  return std::clamp(kUnrolledBody / loop.instructions, 1u, kMostCopies);
}

bool is_hideable(const Blame& edge) {
  if (edge.producer == edge.consumer || edge.latency <= 0) return false;
  switch (edge.kind) {
    case StallClass::global_memory:
    case StallClass::shared_memory:
    case StallClass::arithmetic:
      return true;
    default:
      return false;
  }
}

std::vector<LoopView> view_loops(const KernelView& view, const FunctionPart& part) {
  const AnalyzedFunction& function = *part.function;
  std::vector<LoopView> result(function.loops.loops.size());
  for (uint32_t l = 0; l < result.size(); ++l) {
    LoopView& loop = result[l];
    loop.loop = l;
    uint32_t parent = function.loops.loops[l].parent;
    if (parent != kNoBlock) result[parent].innermost = false;
    std::map<std::pair<SourceLocation, std::string>, uint32_t> loads;
    for (uint32_t block : function.loops.loops[l].blocks)
      for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
           ++i) {
        const Instruction& instruction = function.instructions[i];
        ++loop.instructions;
        loop.active += part.fraction * double(function.samples[i].active());
        loop.has_barrier = loop.has_barrier || instruction.base_opcode() == "BAR";
        if (instruction.is_load() && instruction.space != MemorySpace::constant) {
          uint32_t copies = ++loads[{view.facts(part, i).at, instruction.opcode}];
          loop.copies = std::max(loop.copies, copies);
        }
      }
  }
  return result;
}

}  // namespace fathom
