#pragma once

#include <string>
#include <vector>

#include "advice/kernel_view.h"

namespace fathom {

/// A precise function of CUDA's math library, or a precise operator, which the compiler expands
/// where it is called. Costs are those of one call on its common path, as nvcc 13.0 compiles it for
/// sm_90 (scripts/count_math.py).
struct MathFunction {
  const char* name;            ///< "expf"
  const char* fast;            ///< what to use instead: "__expf"
  double fast_instructions;    ///< with -use_fast_math
  double cycles, fast_cycles;  ///< issue delays and latencies along it, without and with
};

/// Calls of one function on one source line of one function part.
struct MathCalls {
  const MathFunction* function = nullptr;
  double calls = 0;  ///< copies in the code
};

/// What a source line calls.
struct MathLine {
  std::vector<uint32_t> instructions;  ///< its arithmetic
  std::vector<MathCalls> calls;
};
/// Lines that call precise math functions in single precision. They are recognized by constants of
/// their polynomials and by checks that no other code has, since line tables name no inlined
/// library function.
std::map<SourceLocation, MathLine> math_lines(const KernelView& view, const FunctionPart& part);

}  // namespace fathom
