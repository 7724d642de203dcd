#pragma once

#include "model/profile.h"

namespace fathom::testing {

/// A small profile as an analysis would yield it: two sampled kernels and one of a library, copies,
/// loops, inlined code, blame, and a finding of each sort. Each field of the model has a value in
/// it, and the conservation laws of docs/design.md hold.
Profile sample_profile();

/// Two processes whose memory accesses were recorded, with a value in each field.
std::vector<NumaFacts> sample_numa();

/// A profile with as many instructions, for measuring: each has samples of four reasons.
Profile large_profile(uint32_t instructions);

}  // namespace fathom::testing
