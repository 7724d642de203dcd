#pragma once

#include <cstdint>
#include <string_view>

namespace fathom::collect::cuda {

/// FNV-1a, with its upper half folded in: NodeMap takes the lower bits first.
inline uint64_t hash_of(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char letter : text) hash = (hash ^ static_cast<uint8_t>(letter)) * 0x100000001b3u;
  return hash ^ hash >> 32;
}
/// One more word into a hash.
inline uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

}  // namespace fathom::collect::cuda
