#pragma once

#include <string_view>

namespace fathom {

/// The text of data/sass.table, which the build embeds.
std::string_view sass_data();

}  // namespace fathom
