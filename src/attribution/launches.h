#pragma once

#include <vector>

#include "attribution/attribution.h"
#include "model/measured_launches.h"

namespace fathom {

/// The launches of a measurement, those that are alike together, longest in all first.
/// `attribution` is that of the same measurement.
std::vector<MeasuredLaunches> launches_of(const Measurement& measurement,
                                          const Attribution& attribution);

}  // namespace fathom
