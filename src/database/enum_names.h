#pragma once
// The words for enums in a database: readable by hand, and stable when an enum is reordered.

#include <optional>
#include <string_view>

#include "model/profile.h"

namespace fathom {

std::string_view word_for(WarningSeverity value);
std::string_view word_for(MetricKind value);
std::string_view word_for(ContextKind value);
std::string_view word_for(OccupancyLimit value);
std::string_view word_for(StallClass value);

/// The value behind a word, or nothing.
template <class Enum>
std::optional<Enum> value_of(std::string_view word);

}  // namespace fathom
