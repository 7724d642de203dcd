#pragma once

#include "attribution/functions.h"

namespace fathom {

/// Fills the profile's devices, contexts, metrics, values and kernels, and
/// Attribution::kernel_functions, from the operations and samples of every process. Functions,
/// instructions and blame must be there already.
void attribute_contexts(const Measurement& measurement, const std::vector<ProcessSamples>& samples,
                        Attribution& attribution);

}  // namespace fathom
