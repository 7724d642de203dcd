#pragma once

#include <map>
#include <optional>
#include <set>
#include <vector>

#include "advice/kernel_view.h"
#include "advice/what_if.h"
#include "attribution/loop_dependences.h"
#include "attribution/loop_queries.h"

namespace fathom {

/// An innermost or outer loop of one function part, with what its instructions tell about moving
/// work in it.
struct LoopView {
  uint32_t loop = 0;  ///< index in AnalyzedFunction::loops
  double active = 0;  ///< samples with an issue, nested loops included
  uint32_t instructions = 0;
  uint32_t copies = 1;  ///< how often the compiler repeated the body
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

/// How often the body runs each time the loop is entered, from the issued samples of the body and
/// of what leads to it; with few samples before the loop a number that it hardly falls below.
/// Nothing where no block leads to the loop alone.
std::optional<double> trips_of(const AnalyzedFunction& function, uint32_t loop);

/// What only steers the loop: the jump back, its test, and the counters that go from one iteration
/// to the next. Of `factor` iterations that are unrolled one needs it.
Change loop_overhead(const KernelView& view, const FunctionPart& part, uint32_t loop,
                     const LoopDependences& dependences);

/// A latency that other work could fill: a load from global memory (or an arithmetic result),
/// exposed.
bool is_hideable(const Blame& edge);

}  // namespace fathom
