#pragma once
// A 32-bit register over the 32 lanes of one warp, as far as the code alone tells it.

#include <array>
#include <cstdint>
#include <functional>

namespace fathom {

inline constexpr uint32_t kLanes = 32;
using Lanes = std::array<uint32_t, kLanes>;

/// The value of lane l is base + lanes[l] + s * multiples[l] (mod 2^32): `base` is unknown but the
/// same in all lanes (nothing, if `exact`) and a multiple of 2^zero_bits; s is a number that the
/// launch fixes and the code does not show, such as the width of a matrix.
struct LaneValue {
  enum class Kind : uint8_t {
    none,      ///< not looked at yet
    known,     ///< as above
    computed,  ///< from the thread's index, in a way that is not followed
    data       ///< differs from lane to lane as memory says
  };
  Kind kind = Kind::none;
  bool exact = false;
  uint8_t zero_bits = 0;
  Lanes lanes{};
  Lanes multiples{};

  bool operator==(const LaneValue&) const = default;
  bool is_known() const { return kind == Kind::known; }
  /// The same in all lanes.
  bool is_uniform() const;
  bool has_multiples() const;
};

LaneValue exact_value(uint32_t number);
LaneValue exact_lanes(const Lanes& lanes);
/// Unknown, but the same in all lanes.
LaneValue uniform_value(unsigned zero_bits = 0);
LaneValue computed_value();
LaneValue data_value();

LaneValue add(const LaneValue& a, const LaneValue& b);
LaneValue negate(const LaneValue& a);
LaneValue multiply(const LaneValue& a, const LaneValue& b);
/// Of a signed number.
LaneValue shift_right(const LaneValue& a, unsigned bits);
/// Bit by bit: bit i of `table` is the result where a, b and c have the bits 2, 1 and 0 of i.
LaneValue logic(const LaneValue& a, const LaneValue& b, const LaneValue& c, uint8_t table);
/// The upper half of a * b + c, with c's lower half alone.
LaneValue multiply_high(const LaneValue& a, const LaneValue& b, const LaneValue& c);
/// One of them, by a condition that is not followed: of a value that the lanes share and one that
/// differs, the one that differs (indexes are clamped to the ends of an array).
LaneValue either(const LaneValue& a, const LaneValue& b);
/// Where two paths through the code meet.
LaneValue join(const LaneValue& a, const LaneValue& b);
/// What an operation that is not followed makes of its operands.
LaneValue mix(const LaneValue& a, const LaneValue& b);

}  // namespace fathom
