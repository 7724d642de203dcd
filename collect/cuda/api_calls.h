#pragma once

#include <cstdint>
#include <string_view>

#include "record/layout.h"

namespace fathom::collect::cuda {

/// A driver function that loads or unloads GPU code.
inline constexpr uint8_t kLoadsCode = 255;

/// What the collector does about a function of the driver API: a record::ApiKind, kLoadsCode, or 0
/// for nothing. All variants of a function (_v2, _ptsz, ...) are treated alike.
uint8_t watch_for(std::string_view function);

}  // namespace fathom::collect::cuda
