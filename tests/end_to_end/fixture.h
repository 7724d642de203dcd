#pragma once

#include <string>
#include <vector>

#include "attribution/attribution.h"

namespace fathom::testing {

/// tests/fixtures/h200-samples
std::string fixture_path();
std::string source_path(const std::string& relative);

/// The fixture, read, attributed and advised; fixture() once for all tests of the program, by the
/// native decoder.
Attribution analyze_fixture(DecoderKind decoder);
const Attribution& fixture();
const Measurement& fixture_measurement();

/// A pair of samples/cuda/pairs.tsv.
struct Pair {
  std::string program, kind, kernel, fixed_kernel;
};
std::vector<Pair> pairs();

}  // namespace fathom::testing
