#include "prediction/contents.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "prediction/half.h"
#include "prediction/mix.h"

namespace fathom {
namespace {

using Number = BufferContents::Number;

struct TypeName {
  std::string_view name;
  Number number;
  uint8_t size;
};
constexpr std::array<TypeName, 12> kTypes{{{"f16", Number::real, 2},
                                           {"bf16", Number::brain, 2},
                                           {"f32", Number::real, 4},
                                           {"f64", Number::real, 8},
                                           {"u8", Number::whole, 1},
                                           {"i8", Number::whole, 1},
                                           {"u16", Number::whole, 2},
                                           {"i16", Number::whole, 2},
                                           {"u32", Number::whole, 4},
                                           {"i32", Number::whole, 4},
                                           {"u64", Number::whole, 8},
                                           {"i64", Number::whole, 8}}};

/// "0..3", "0..4095:rising"
bool read_bounds(std::string text, uint64_t bytes, BufferContents& contents) {
  constexpr std::string_view kRising = ":rising";
  if (ends_with(text, kRising)) {
    text.resize(text.size() - kRising.size());
    contents.rising_over = std::max<uint64_t>(1, bytes / contents.size);
  }
  const size_t dots = text.find("..");
  if (dots == text.npos) return false;
  const std::string low = text.substr(0, dots), high = text.substr(dots + 2);
  char *low_end = nullptr, *high_end = nullptr;
  contents.low = std::strtod(low.c_str(), &low_end);
  contents.high = std::strtod(high.c_str(), &high_end);
  contents.any = false;
  return !low.empty() && !high.empty() && *low_end == '\0' && *high_end == '\0' &&
         std::fabs(contents.low) < 1e18 && std::fabs(contents.high) < 1e18 &&
         contents.low <= contents.high;
}

uint64_t bits_of(double value, const BufferContents& contents) {
  const auto single = std::bit_cast<uint32_t>(static_cast<float>(value));
  if (contents.number == Number::brain) return single >> 16;
  if (contents.size == 2) return half_bits(value);
  return contents.size == 4 ? single : std::bit_cast<uint64_t>(value);
}

uint64_t element(const BufferContents& contents, uint64_t index) {
  const uint64_t random = mix(index + 0x9e3779b97f4a7c15ull);
  if (contents.number == Number::whole && contents.any) return random;
  if (contents.number == Number::whole) {
    const auto count = static_cast<uint64_t>(std::floor(contents.high - contents.low)) + 1;
    return static_cast<uint64_t>(static_cast<int64_t>(contents.low)) + random % count;
  }
  const double share = static_cast<double>(random >> 32) * 0x1p-32;
  return bits_of(contents.low + (contents.high - contents.low) * share, contents);
}

/// Of what rises from element to element.
double changing_share_in_order(const BufferContents& contents) {
  constexpr uint64_t kPlaces = 256;
  const uint64_t elements = contents.rising_over, apart = std::max(1u, 32u / contents.size);
  const auto at = [&](uint64_t index) {
    const double share =
        static_cast<double>(index) / static_cast<double>(std::max<uint64_t>(2, elements) - 1);
    const double value = contents.low + (contents.high - contents.low) * std::min(1.0, share);
    return contents.number == Number::whole ? static_cast<uint64_t>(std::llround(value))
                                            : bits_of(value, contents);
  };
  int changed = 0;
  for (uint64_t place = 0; place < kPlaces; ++place) {
    // Not at round numbers only, whose low bits are alike.
    const uint64_t index = elements * place / kPlaces + 5 * place % 64;
    changed += std::popcount(at(index) ^ at(index + apart));
  }
  return changed / (8.0 * contents.size * kPlaces);
}

}  // namespace

Result<BufferContents> read_contents(const std::string& text, uint64_t bytes,
                                     const std::string& place) {
  const size_t colon = std::min(text.find(':'), text.size());
  for (const TypeName& each : kTypes) {
    if (text.substr(0, colon) != each.name) continue;
    BufferContents contents;
    contents.number = each.number;
    contents.size = each.size;
    if (colon == text.size() || read_bounds(text.substr(colon + 1), bytes, contents))
      return contents;
  }
  return Error{ErrorKind::usage, "\"" + text + "\" does not say what a buffer holds", place,
               "write TYPE, TYPE:LOW..HIGH or TYPE:LOW..HIGH:rising, e.g. @64M:f32 or @4M:u8:0..3 "
               "(f16, bf16, f32, f64, u8 to u64, i8 to i64)"};
}

uint32_t word_of(const BufferContents& contents, uint64_t address) {
  if (contents.size == 8)
    return static_cast<uint32_t>(element(contents, address / 8) >> (address % 8 >= 4 ? 32 : 0));
  uint64_t word = 0;
  const uint32_t bits = contents.size * 8u;
  for (uint32_t at = 0; at < 4; at += contents.size) {
    const uint64_t value = element(contents, (address + at) / contents.size);
    word |= (bits < 32 ? value & ((uint64_t{1} << bits) - 1) : value) << 8 * at;
  }
  return static_cast<uint32_t>(word);
}

double changing_share(const BufferContents& contents) {
  constexpr uint64_t kSector = 32, kPlaces = 64;
  if (contents.rising_over > 0) return changing_share_in_order(contents);
  int changed = 0;
  for (uint64_t place = 0; place < kPlaces; ++place) {
    const uint64_t sector = place * kSector;
    for (uint64_t at = sector; at < sector + kSector; at += 4)
      changed += std::popcount(word_of(contents, at) ^ word_of(contents, at + kSector));
  }
  return changed / (8.0 * kSector * kPlaces);
}

}  // namespace fathom
