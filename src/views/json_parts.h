#pragma once
// JSON that several views share. Keys keep their order, so that the same profile gives the same
// text.

#include <nlohmann/json.hpp>
#include <string>

#include "model/profile.h"

namespace fathom {

using Json = nlohmann::ordered_json;

Json json_of(const RunFacts& run, const std::vector<DeviceFacts>& devices);
Json json_of(const SourceLocation& at);
Json json_of(const std::optional<SpeedupRange>& speedup);
Json json_of(const Finding& finding);
/// Indented text with a line end. Bytes that are no UTF-8 become U+FFFD.
std::string text_of(const Json& json);

}  // namespace fathom
