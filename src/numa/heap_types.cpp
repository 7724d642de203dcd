#include "numa/heap_types.h"

#include <algorithm>
#include <charconv>
#include <map>

#include "base/text.h"

namespace fathom {
namespace {

constexpr double kNearlyAll = 0.9;  ///< of the samples

std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end == text.data() + text.size() || *end != ' ') return std::nullopt;
  text.remove_prefix(size_t(end - text.data()) + 1);
  return value;
}

/// "__fathom_numa_type 8 16 pair {first:0:8, second:8:8}": an access at offset 8 of a pair.
std::optional<HeapType> read(const std::string& function) {
  constexpr std::string_view kStart = "__fathom_numa_type ";
  std::string_view text = function;
  if (text.substr(0, kStart.size()) != kStart) return std::nullopt;
  text.remove_prefix(kStart.size());
  std::optional<uint64_t> offset = take_number(text);
  std::optional<uint64_t> size = offset ? take_number(text) : std::nullopt;
  if (!size || *size == 0 || *offset >= *size) return std::nullopt;
  return HeapType{std::string(text), *size, {*offset}};
}

}  // namespace

std::optional<HeapType> heap_type_of(const NumaView& view, const Subject& subject) {
  if (subject.variable || subject.facts.count != 1 || subject.facts.bytes == 0) return std::nullopt;
  struct Seen {
    HeapType type;
    double samples = 0;
  };
  std::map<std::pair<std::string, uint64_t>, Seen> seen;
  double all = 0;
  for (const NumaPlace& place : view.numa.places) {
    if (!std::binary_search(subject.objects.begin(), subject.objects.end(), place.object)) continue;
    all += double(place.samples);
    std::optional<HeapType> type =
        read(view.names.code(place.module, place.address).front().function);
    if (!type) continue;
    Seen& one = seen[{type->text, type->size}];
    if (one.samples > 0)
      one.type.offsets.push_back(type->offsets.front());
    else
      one.type = *std::move(type);
    one.samples += double(place.samples);
  }
  for (auto& [key, one] : seen) {
    if (one.samples < kNearlyAll * all || subject.facts.bytes % one.type.size != 0) continue;
    auto& offsets = one.type.offsets;
    std::sort(offsets.begin(), offsets.end());
    offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
    return std::move(one.type);
  }
  return std::nullopt;
}

}  // namespace fathom
