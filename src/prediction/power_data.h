#pragma once

#include <string_view>
#include <vector>

namespace fathom {

/// src/prediction/data/power_h200.json, in pieces: compilers limit the length of a literal. The
/// build writes this function.
const std::vector<std::string_view>& power_data();

}  // namespace fathom
