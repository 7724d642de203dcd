#pragma once

#include <map>

#include "attribution/attribution.h"

namespace fathom {

/// Samples of one process on one function; by instruction index. `correlation` is 0 in continuous
/// mode.
struct SampleKey {
  uint32_t function = 0;
  uint32_t correlation = 0;
  auto operator<=>(const SampleKey&) const = default;
};
using ProcessSamples = std::map<SampleKey, std::map<uint32_t, StallCounts>>;

/// Every sampled GPU function, and those that lie between a kernel and a sampled function on a call
/// path.
struct SampledFunctions {
  std::vector<AnalyzedFunction> functions;
  std::map<std::string, std::unique_ptr<GpuBinary>> images;
  std::vector<ProcessSamples> samples;  ///< parallel to Measurement::processes
  uint64_t attributed = 0, unattributed = 0;
};

/// Decodes what was sampled, finds its structure, and puts the samples on the instructions.
SampledFunctions analyze_functions(const Measurement& measurement, DecoderKind decoder,
                                   std::vector<Warning>& warnings);

}  // namespace fathom
