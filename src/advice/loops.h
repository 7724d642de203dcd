#pragma once

#include <map>
#include <vector>

#include "advice/kernel_view.h"

namespace fathom {

/// An innermost or outer loop of one function part, with what its instructions tell about moving
/// work in it.
struct LoopView {
  uint32_t loop = 0;  ///< index in AnalyzedFunction::loops
  double active = 0;  ///< samples with an issue, nested loops included
  uint32_t instructions = 0;
  uint32_t copies =
      1;  ///< how often the compiler repeated the body: copies of the same load of the same line
  bool has_barrier = false;
  bool innermost = true;
};
std::vector<LoopView> view_loops(const KernelView& view, const FunctionPart& part);

/// The innermost loop that holds both instructions; kNoBlock if there is none.
uint32_t common_loop(const AnalyzedFunction& function, uint32_t a, uint32_t b);

/// A latency that other work could fill: a load from global memory (or an arithmetic result),
/// exposed.
bool is_hideable(const Blame& edge);

/// True where the address of a load in a loop depends on what the loop loaded before: the next load
/// cannot start earlier (a chased pointer).
bool chases_pointer(const AnalyzedFunction& function, uint32_t loop, uint32_t load);

}  // namespace fathom
