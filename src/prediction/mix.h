#pragma once

#include <cstdint>

namespace fathom {

/// A mixer: every bit of the result depends on every bit of x.
inline uint64_t mix(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9ull;
  x ^= x >> 27;
  x *= 0x94d049bb133111ebull;
  return x ^ x >> 31;
}

}  // namespace fathom
