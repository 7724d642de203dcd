#pragma once
// A kernel of one hand-made function, for the tests of optimizers.

#include "advice/optimizer.h"
#include "attribution/testing.h"

namespace fathom::testing {

/// A device of 132 multiprocessors, a launch of many blocks of 256 threads, each instruction on a
/// line of its own (instruction i on line i + 1 of "kernel.cu"). Blames the stalls that were put
/// on `function`.
Attribution kernel_of(AnalyzedFunction function);

/// What one optimizer says about it.
std::vector<Finding> match(const Optimizer& optimizer, const Attribution& attribution);

}  // namespace fathom::testing
