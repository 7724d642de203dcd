#include "binary/sass_literals.h"

#include <bit>
#include <charconv>
#include <cmath>

#include "base/text.h"

namespace fathom {
namespace {

void append_integer(int64_t value, int base, std::string& text) {
  if (value < 0) text += '-';
  if (base == 16) text += "0x";
  char digits[24];
  const uint64_t magnitude = value < 0 ? 0 - static_cast<uint64_t>(value) : value;
  auto [end, error] = std::to_chars(digits, digits + sizeof digits, magnitude, base);
  text.append(digits, end);
}

/// What is not a number is followed by a blank there.
void append_float(double value, std::string& text) {
  if (std::isnan(value)) {
    text += std::signbit(value) ? "-QNAN " : "+QNAN ";
  } else if (std::isinf(value)) {
    text += value < 0 ? "-INF " : "+INF ";
  } else {
    const char* pattern = std::fabs(value) >= 1e9 ? "%.20e" : "%.20g";
    text += value == 0 && std::signbit(value) ? "-0.0" : format(pattern, value);
  }
}

/// IEEE 754 binary16.
double half(uint64_t bits) {
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = static_cast<int>(bits >> 10 & 31);
  const double fraction = static_cast<double>(bits & 1023);
  if (exponent == 31) return bits & 1023 ? std::copysign(NAN, sign) : sign * INFINITY;
  if (exponent == 0) return sign * std::ldexp(fraction, -24);
  return sign * std::ldexp(1024 + fraction, exponent - 25);
}

}  // namespace

void append_literal(const SassEntry& entry, size_t literal, const SassWord& word, bool bfloat16,
                    std::string& text) {
  const SassLiteral& number = entry.literals[literal];
  if (number.kind == SassLiteral::Kind::hexadecimal)
    return append_integer(number.value(word), 16, text);
  if (number.kind == SassLiteral::Kind::decimal)
    return append_integer(number.value(word), 10, text);
  const SassLiteral::Run& first = number.runs.front();
  const SassLiteral::Run& last = number.runs.back();
  const unsigned width = last.start + last.count - first.start;
  const uint64_t bits = word.bits(first.start, width);
  const bool wide = !entry.name.empty() && starts_with(entry.name[0].text, "D");
  if (width <= 16 && bfloat16)
    return append_float(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)), text);
  if (width <= 16) return append_float(half(bits), text);
  if (wide) return append_float(std::bit_cast<double>(bits << (64 - width)), text);
  append_float(std::bit_cast<float>(static_cast<uint32_t>(bits << (32 - std::min(width, 32u)))),
               text);
}

}  // namespace fathom
