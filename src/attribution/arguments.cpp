#include "attribution/arguments.h"

#include <algorithm>

namespace fathom {
namespace {

/// Addresses of devices and of the host's programs; smaller values are sizes and counts, larger
/// ones floating-point numbers.
bool looks_like_address(uint64_t value) {
  return value >= uint64_t{1} << 32 && value < uint64_t{1} << 57;
}

}  // namespace

RecordedArguments::RecordedArguments(const Process& process)
    : process_(process), allocations_(process.operations) {
  std::map<uint32_t, uint64_t> launches;
  for (const auto& [correlation, set] : process.launch_arguments) ++launches[set];
  for (const auto& [number, set] : process.argument_sets) {
    const auto [usual, is_new] = usual_.try_emplace(set.kernel, number);
    if (!is_new && launches[number] > launches[usual->second]) usual->second = number;
  }
}

RecordedArguments::Known RecordedArguments::of(const GpuOperation& launch) {
  const auto call = process_.calls.find(launch.correlation);
  const uint64_t time = call == process_.calls.end() ? launch.start_ns : call->second.time_ns;
  const auto& all = process_.launch_arguments;
  const auto own = std::lower_bound(all.begin(), all.end(), std::pair(launch.correlation, 0u));
  if (own != all.end() && own->first == launch.correlation) {
    // A graph's launch has the correlation of all its kernels.
    const auto set = process_.argument_sets.find(own->second);
    if (set != process_.argument_sets.end() && set->second.kernel == launch.name)
      return {&resolved(own->second, time), false};
  }
  const auto usual = usual_.find(launch.name);
  if (usual == usual_.end()) return {};
  return {&resolved(usual->second, time), true};
}

/// As at the first launch that had them.
const std::vector<KnownArgument>& RecordedArguments::resolved(uint32_t set, uint64_t time_ns) {
  const auto [entry, is_new] = resolved_.try_emplace(set);
  if (!is_new) return entry->second;
  std::vector<ArgumentWord> words = process_.argument_sets.at(set).words;
  std::stable_sort(words.begin(), words.end(), [](const ArgumentWord& a, const ArgumentWord& b) {
    return a.offset < b.offset;
  });
  std::map<uint32_t, size_t> pieces;
  for (const ArgumentWord& each : words) ++pieces[each.position];
  for (const ArgumentWord& each : words) {
    KnownArgument known{each.position, each.offset, each.bytes, false, each.value, 0};
    if (each.bytes == 8) known.buffer_bytes = allocations_.bytes_from(each.value, time_ns);
    // Two small numbers in a structure may look like an address; a whole argument hardly does.
    const bool is_whole = pieces[each.position] == 1;
    known.is_pointer =
        known.buffer_bytes != 0 || (each.bytes == 8 && is_whole && looks_like_address(each.value));
    if (known.is_pointer) known.value = 0;
    entry->second.push_back(known);
  }
  return entry->second;
}

}  // namespace fathom
