#pragma once

#include <cstdint>
#include <string_view>

#include "record/layout.h"

namespace fathom::collect::cuda {

/// A driver function that loads or unloads GPU code.
inline constexpr uint8_t kLoadsCode = 255;

/// Functions that wait: this plus the SyncKind (as in record::Synchronization::kind).
inline constexpr uint8_t kWaits = 64;
/// Functions whose first parameter is the stream that is waited for or made to wait.
inline constexpr bool names_stream(uint8_t watch) {
  return watch == kWaits + 2 || watch == kWaits + 3;
}
inline constexpr bool is_wait(uint8_t watch) {
  return watch >= kWaits && watch != kLoadsCode;
}

/// What the collector does about a function of the driver API: a record::ApiKind, kWaits and more,
/// kLoadsCode, or 0 for nothing. All variants of a function (_v2, _ptsz, ...) are treated alike.
uint8_t watch_for(std::string_view function);
inline constexpr record::ApiKind kind_of(uint8_t watch) {
  return is_wait(watch) ? record::ApiKind::synchronize : static_cast<record::ApiKind>(watch);
}

}  // namespace fathom::collect::cuda
