#pragma once

#include "model/measured_launches.h"
#include "prediction/launch.h"

namespace fathom {

/// Puts recorded arguments in where nobody gave a value or a size. A structure becomes its pieces:
/// so positions hold for the caller's own arguments before, and not after.
void apply_known_arguments(const std::vector<KnownArgument>& known,
                           std::vector<Parameter>& parameters);

}  // namespace fathom
