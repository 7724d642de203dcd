#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace fathom {

/// The nearest number of 16 bits (IEEE 754 binary16) to a value; compilers write small whole
/// numbers as such.
inline uint16_t half_bits(double value) {
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double size = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7fff;
  if (size >= 65520) return sign | 0x7c00;
  if (size < 0x1p-14) return static_cast<uint16_t>(sign | std::lrint(size * 0x1p24));
  int exponent = 0;
  const double fraction = std::frexp(size, &exponent);  // 0.5 <= fraction < 1
  const long bits = ((exponent + 14L) << 10) + std::lrint(fraction * 2048) - 1024;
  return static_cast<uint16_t>(sign | bits);
}

}  // namespace fathom
