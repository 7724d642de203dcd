#include "attribution/lane_value.h"

#include <algorithm>
#include <bit>

namespace fathom {
namespace {

constexpr uint8_t kAllBits = 32;

uint8_t trailing_zeros(uint32_t number) {
  return uint8_t(std::countr_zero(number));
}

bool same_in_all(const Lanes& lanes) {
  return std::all_of(lanes.begin(), lanes.end(), [&](uint32_t v) { return v == lanes[0]; });
}

/// What a common base leaves known of the low bits.
uint8_t known_bits(const LaneValue& v) {
  return v.exact ? kAllBits : v.zero_bits;
}

uint32_t low_mask(unsigned bits) {
  return bits >= 32 ? ~0u : (1u << bits) - 1;
}

LaneValue unknown_of(const LaneValue& a, const LaneValue& b) {
  bool data = a.kind == LaneValue::Kind::data || b.kind == LaneValue::Kind::data;
  return data ? data_value() : computed_value();
}

/// `lanes` over a base that is a multiple of 2^zero_bits: what all lanes share goes into the base.
LaneValue over_base(const Lanes& lanes, unsigned zero_bits, const Lanes& multiples) {
  LaneValue result;
  result.kind = LaneValue::Kind::known;
  result.zero_bits = uint8_t(std::min(zero_bits, 31u));
  const uint32_t shared = lanes[0] & ~low_mask(result.zero_bits);
  for (uint32_t l = 0; l < kLanes; ++l) {
    result.lanes[l] = lanes[l] - shared;
    result.multiples[l] = multiples[l] - multiples[0];
  }
  return result;
}

/// The multiples of two unknown numbers: lanes are told apart as before.
Lanes combine(const Lanes& a, const Lanes& b) {
  Lanes result{};
  bool equal = a == b, none = same_in_all(b);
  constexpr uint32_t kApart = 0x10001;
  for (uint32_t l = 0; l < kLanes; ++l)
    result[l] = none || equal ? a[l] : same_in_all(a) ? b[l] : a[l] + kApart * b[l];
  return result;
}

LaneValue by_number(const LaneValue& a, uint32_t factor) {
  LaneValue result = a;
  for (uint32_t l = 0; l < kLanes; ++l) {
    result.lanes[l] *= factor;
    result.multiples[l] *= factor;
  }
  if (factor == 0) return exact_value(0);
  result.zero_bits = uint8_t(std::min(31, a.zero_bits + trailing_zeros(factor)));
  return result;
}

/// By a number that only the launch knows, a multiple of 2^zero_bits.
LaneValue by_unknown(const LaneValue& a, unsigned zero_bits) {
  unsigned base_bits = a.exact ? 31 : a.zero_bits;
  for (uint32_t lane : a.lanes) base_bits = std::min<unsigned>(base_bits, trailing_zeros(lane));
  if (a.has_multiples()) return computed_value();
  return over_base({}, std::min(31u, base_bits + zero_bits), a.lanes);
}

}  // namespace

bool LaneValue::is_uniform() const {
  return is_known() && same_in_all(lanes) && !has_multiples();
}

bool LaneValue::has_multiples() const {
  return !same_in_all(multiples);
}

LaneValue exact_value(uint32_t number) {
  Lanes lanes;
  lanes.fill(number);
  return exact_lanes(lanes);
}

LaneValue exact_lanes(const Lanes& lanes) {
  LaneValue result;
  result.kind = LaneValue::Kind::known;
  result.exact = true;
  result.lanes = lanes;
  return result;
}

LaneValue uniform_value(unsigned zero_bits) {
  return over_base({}, zero_bits, {});
}

LaneValue computed_value() {
  LaneValue result;
  result.kind = LaneValue::Kind::computed;
  return result;
}

LaneValue data_value() {
  LaneValue result;
  result.kind = LaneValue::Kind::data;
  return result;
}

LaneValue add(const LaneValue& a, const LaneValue& b) {
  if (!a.is_known() || !b.is_known()) return unknown_of(a, b);
  Lanes lanes;
  for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = a.lanes[l] + b.lanes[l];
  if (a.exact && b.exact) return exact_lanes(lanes);
  return over_base(lanes, std::min(known_bits(a), known_bits(b)),
                   combine(a.multiples, b.multiples));
}

LaneValue negate(const LaneValue& a) {
  return a.is_known() ? by_number(a, ~0u) : a;
}

LaneValue multiply(const LaneValue& a, const LaneValue& b) {
  if (a.exact && b.exact && a.is_known() && b.is_known()) {
    Lanes lanes;
    for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = a.lanes[l] * b.lanes[l];
    return exact_lanes(lanes);
  }
  for (const LaneValue* zero : {&a, &b})
    if (*zero == exact_value(0)) return *zero;
  if (!a.is_known() || !b.is_known()) return unknown_of(a, b);
  if (a.exact && a.is_uniform()) return by_number(b, a.lanes[0]);
  if (b.exact && b.is_uniform()) return by_number(a, b.lanes[0]);
  auto common_bits = [](const LaneValue& v) {
    return v.lanes[0] ? std::min(v.zero_bits, trailing_zeros(v.lanes[0])) : v.zero_bits;
  };
  if (b.is_uniform()) return by_unknown(a, common_bits(b));
  if (a.is_uniform()) return by_unknown(b, common_bits(a));
  return computed_value();
}

LaneValue shift_right(const LaneValue& a, unsigned bits) {
  if (!a.is_known()) return a;
  bits = std::min(bits, 31u);
  Lanes lanes;
  for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = uint32_t(int32_t(a.lanes[l]) >> bits);
  if (a.exact) return exact_lanes(lanes);
  if (a.is_uniform()) return uniform_value(a.zero_bits > bits ? a.zero_bits - bits : 0);
  if (a.has_multiples()) return computed_value();
  if (a.zero_bits >= bits) return over_base(lanes, a.zero_bits - bits, {});
  // No lane's part reaches into the base's bits, so that the sum does not carry.
  auto within = [&](uint32_t lane) { return lane <= low_mask(a.zero_bits); };
  bool no_carry = std::all_of(a.lanes.begin(), a.lanes.end(), within);
  return no_carry ? uniform_value() : computed_value();
}

LaneValue logic(const LaneValue& a, const LaneValue& b, const LaneValue& c, uint8_t table) {
  const LaneValue* operands[] = {&a, &b, &c};
  LaneValue nothing = exact_value(0);
  // Operands that the table does not look at.
  if ((table & 0xf) == (table >> 4)) operands[0] = &nothing;
  if ((table & 0x33) == ((table >> 2) & 0x33)) operands[1] = &nothing;
  if ((table & 0x55) == ((table >> 1) & 0x55)) operands[2] = &nothing;
  unsigned bits = kAllBits;
  bool uniform = true, multiples = false;
  LaneValue unknown = exact_value(0);
  for (const LaneValue* v : operands) {
    if (!v->is_known()) unknown = unknown_of(*v, unknown);
    bits = std::min<unsigned>(bits, known_bits(*v));
    uniform = uniform && v->is_uniform();
    multiples = multiples || v->has_multiples();
  }
  if (!unknown.is_known()) return unknown;
  auto apply = [&](uint32_t x, uint32_t y, uint32_t z) {
    uint32_t result = 0;
    for (unsigned i = 0; i < 8; ++i)
      if (table >> i & 1) result |= (i & 4 ? x : ~x) & (i & 2 ? y : ~y) & (i & 1 ? z : ~z);
    return result;
  };
  Lanes low;
  bool above_zero = true, above_same = true;
  const uint32_t above = ~low_mask(bits);
  for (uint32_t l = 0; l < kLanes; ++l) {
    uint32_t v[3];
    // Unknown bits: tried as zeros and as ones; only where neither matters the result is known.
    for (int i = 0; i < 3; ++i) v[i] = operands[i]->lanes[l];
    uint32_t zeros = apply(v[0], v[1], v[2]);
    for (int i = 0; i < 3; ++i)
      if (!operands[i]->exact) v[i] ^= above;
    uint32_t ones = apply(v[0], v[1], v[2]);
    low[l] = zeros & low_mask(bits);
    above_zero = above_zero && ((zeros | ones) & above) == 0;
    for (const LaneValue* o : operands)
      above_same = above_same && (o->lanes[l] & above) == (o->lanes[0] & above);
  }
  if (bits == kAllBits) return exact_lanes(low);
  if (multiples) return computed_value();
  if (above_zero) return exact_lanes(low);
  if (uniform) return uniform_value(bits);
  return above_same ? over_base(low, bits, {}) : computed_value();
}

LaneValue multiply_high(const LaneValue& a, const LaneValue& b, const LaneValue& c) {
  if (!a.is_known() || !b.is_known() || !c.is_known()) return unknown_of(unknown_of(a, b), c);
  if (!a.exact || !b.exact || !c.exact) {
    bool uniform = a.is_uniform() && b.is_uniform() && c.is_uniform();
    return uniform ? uniform_value() : computed_value();
  }
  Lanes lanes;
  for (uint32_t l = 0; l < kLanes; ++l)
    lanes[l] = uint32_t((uint64_t(a.lanes[l]) * b.lanes[l] + c.lanes[l]) >> 32);
  return exact_lanes(lanes);
}

LaneValue either(const LaneValue& a, const LaneValue& b) {
  if (a == b) return a;
  if (a.is_uniform() && !b.is_uniform()) return b;
  if (b.is_uniform() && !a.is_uniform()) return a;
  return join(a, b);
}

LaneValue join(const LaneValue& a, const LaneValue& b) {
  if (a.kind == LaneValue::Kind::none || a == b) return b;
  if (b.kind == LaneValue::Kind::none) return a;
  if (!a.is_known() || !b.is_known()) return unknown_of(a, b);
  const uint32_t apart = a.lanes[0] - b.lanes[0];
  for (uint32_t l = 1; l < kLanes; ++l)
    if (a.lanes[l] - b.lanes[l] != apart || a.multiples[l] != b.multiples[l])
      return computed_value();
  unsigned bits = std::min(known_bits(a), known_bits(b));
  bits = std::min<unsigned>(bits, trailing_zeros(apart));
  return over_base(bits ? a.lanes : b.lanes, bits, a.multiples);
}

LaneValue mix(const LaneValue& a, const LaneValue& b) {
  if (a.kind == LaneValue::Kind::none) return b;
  if (b.kind == LaneValue::Kind::none) return a;
  if (a.is_uniform() && b.is_uniform()) return uniform_value();
  return unknown_of(a, b);
}

}  // namespace fathom
