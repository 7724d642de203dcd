#pragma once

#include "attribution/attribution.h"

namespace fathom {

/// Advice on the program rather than on a kernel: launches of short kernels, copies between host
/// and device, and times in which the device has nothing to do. Findings rest on the records of
/// operations alone; their `speedup` is that of the time from the first to the last of these.
std::vector<Finding> advise_program(const Attribution& attribution);

}  // namespace fathom
