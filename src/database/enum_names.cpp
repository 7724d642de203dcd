#include "database/enum_names.h"

#include <array>

namespace fathom {
namespace {

template <class Enum>
struct Words;

template <>
struct Words<WarningSeverity> {
  static constexpr std::array<std::string_view, 3> kAll = {"note", "warning", "error"};
};
template <>
struct Words<MetricKind> {
  static constexpr std::array<std::string_view, 3> kAll = {"sum", "average", "derived"};
};
template <>
struct Words<ContextKind> {
  static constexpr std::array<std::string_view, 12> kAll = {
      "root",     "process",       "cpu_function",    "cpu_inlined",
      "cpu_line", "gpu_operation", "gpu_function",    "gpu_inlined",
      "gpu_loop", "gpu_line",      "gpu_instruction", "gpu_scc"};
};
template <>
struct Words<OccupancyLimit> {
  static constexpr std::array<std::string_view, 5> kAll = {"none", "warps", "blocks", "registers",
                                                           "shared_memory"};
};
template <>
struct Words<StallClass> {
  static constexpr std::array<std::string_view, 10> kAll = {
      "global memory", "local memory",    "constant memory",   "shared memory", "write after read",
      "arithmetic",    "synchronization", "instruction fetch", "throttle",      "other"};
};

template <class Enum>
std::string_view word(Enum value) {
  size_t index = static_cast<size_t>(value);
  return index < Words<Enum>::kAll.size() ? Words<Enum>::kAll[index] : std::string_view();
}

}  // namespace

std::string_view word_for(WarningSeverity value) {
  return word(value);
}
std::string_view word_for(MetricKind value) {
  return word(value);
}
std::string_view word_for(ContextKind value) {
  return word(value);
}
std::string_view word_for(OccupancyLimit value) {
  return word(value);
}
std::string_view word_for(StallClass value) {
  return word(value);
}

template <class Enum>
std::optional<Enum> value_of(std::string_view text) {
  constexpr auto& kAll = Words<Enum>::kAll;
  for (size_t i = 0; i < kAll.size(); ++i)
    if (kAll[i] == text) return static_cast<Enum>(i);
  return std::nullopt;
}
template std::optional<WarningSeverity> value_of(std::string_view);
template std::optional<MetricKind> value_of(std::string_view);
template std::optional<ContextKind> value_of(std::string_view);
template std::optional<OccupancyLimit> value_of(std::string_view);
template std::optional<StallClass> value_of(std::string_view);

}  // namespace fathom
