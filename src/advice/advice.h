#pragma once

#include "attribution/attribution.h"

namespace fathom {

/// Runs every optimizer over every sampled kernel and fills attribution.profile.findings: kernels
/// in the order of the profile, and for each kernel the largest estimated speedup first.
void advise(Attribution& attribution);

}  // namespace fathom
