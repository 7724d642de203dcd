#pragma once

#include <map>
#include <vector>

#include "advice/kernel_view.h"
#include "attribution/loop_queries.h"

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
/// Compilers unroll until the body has about this many instructions, and seldom more than eight
/// times.
inline constexpr uint32_t kUnrolledBody = 512;
inline constexpr uint32_t kMostCopies = 8;

/// How often a loop could be unrolled; 1 if there is no point: it is unrolled already, holds
/// another loop or a barrier, or is large.
uint32_t unroll_factor(const LoopView& loop);

std::vector<LoopView> view_loops(const KernelView& view, const FunctionPart& part);

/// A latency that other work could fill: a load from global memory (or an arithmetic result),
/// exposed.
bool is_hideable(const Blame& edge);

}  // namespace fathom
