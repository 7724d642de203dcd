#include "prediction/known_arguments.h"

#include <algorithm>

namespace fathom {
namespace {

void put(const KnownArgument& known, Parameter& parameter) {
  if (known.is_pointer)
    parameter.buffer_bytes = known.buffer_bytes;
  else
    parameter.value = known.value;
}

/// The pieces of one structure, in order; what is not known of it stays a parameter of its own.
void add_pieces(const Parameter& whole, std::vector<KnownArgument> pieces,
                std::vector<Parameter>& out) {
  std::sort(pieces.begin(), pieces.end(),
            [](const KnownArgument& a, const KnownArgument& b) { return a.offset < b.offset; });
  const uint32_t end = whole.offset + whole.size;
  uint32_t at = whole.offset;
  const auto leave = [&](uint32_t until) {
    if (until > at) out.push_back({whole.name, at, until - at, whole.is_float, {}, 0});
    at = std::max(at, until);
  };
  for (const KnownArgument& each : pieces) {
    if (each.offset < at || each.bytes > end - std::min(each.offset, end)) continue;
    leave(each.offset);
    out.push_back({whole.name, each.offset, each.bytes, whole.is_float, {}, 0});
    put(each, out.back());
    at += each.bytes;
  }
  leave(end);
}

}  // namespace

void apply_known_arguments(const std::vector<KnownArgument>& known,
                           std::vector<Parameter>& parameters) {
  std::vector<Parameter> result;
  for (uint32_t position = 0; position < parameters.size(); ++position) {
    const Parameter& parameter = parameters[position];
    std::vector<KnownArgument> pieces;
    for (const KnownArgument& each : known)
      if (each.position == position) pieces.push_back(each);
    const bool is_given = parameter.value.has_value() || parameter.buffer_bytes != 0;
    if (pieces.empty() || is_given) {
      result.push_back(parameter);
    } else if (parameter.size > 8) {
      add_pieces(parameter, std::move(pieces), result);
    } else {
      result.push_back(parameter);
      if (pieces.front().bytes == parameter.size) put(pieces.front(), result.back());
    }
  }
  parameters = std::move(result);
}

}  // namespace fathom
