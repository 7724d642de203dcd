// What goes from predicates and registers to predicates.

#include <bit>
#include <cstdlib>

#include "prediction/lanes.h"

namespace fathom {
namespace {

/// Whether a division of floats leaves the range in which a reciprocal and two steps do: where a
/// number is zero, denormal or infinite, or the quotient may become so. (0 / 4 does; measured.)
bool needs_slow_division(uint32_t a, uint32_t b) {
  constexpr int kLeast = 1, kMost = 253, kApart = 125;
  const int exponent_a = static_cast<int>(a >> 23 & 0xff),
            exponent_b = static_cast<int>(b >> 23 & 0xff);
  return exponent_a < kLeast || exponent_a > kMost || exponent_b < kLeast || exponent_b > kMost ||
         std::abs(exponent_a - exponent_b) > kApart;
}

}  // namespace

/// Numbers that nobody knows are ordinary.
void Lanes::check_division(const Step& step, uint32_t mask) {
  LaneValues a, b;
  const uint32_t unknown = read(step.sources[0], a) | read(step.sources[1], b);
  uint32_t result = 0;
  for (uint32_t i = 0; i < kLanes; ++i)
    if (needs_slow_division(static_cast<uint32_t>(a[i]), static_cast<uint32_t>(b[i])))
      result |= uint32_t{1} << i;
  write_predicate(step.result_predicates[0], result & ~unknown, 0, mask);
}

void Lanes::predicates(const Step& step, uint32_t mask) {
  uint32_t p[3], unknown = 0;
  for (size_t i = 0; i < 3; ++i) {
    p[i] = predicate(step.predicates[i]);
    unknown |= guard_unknown(step.predicates[i]);
  }
  LaneValues values{};
  if (step.op == Op::predicate_logic) {
    uint32_t result = 0;
    for (uint32_t row = 0; row < 8; ++row) {
      if (!(step.table >> row & 1)) continue;
      result |= (row & 4 ? p[0] : ~p[0]) & (row & 2 ? p[1] : ~p[1]) & (row & 1 ? p[2] : ~p[2]);
    }
    write_predicate(step.result_predicates[0], result, unknown, mask);
    write_predicate(step.result_predicates[1], ~result, unknown, mask);
  } else if (step.op == Op::vote) {
    const uint32_t held = p[0] & mask;
    const bool any = step.amount == 0   ? held != 0
                     : step.amount == 1 ? held == mask
                                        : held == mask || held == 0;
    values.fill(held);
    const uint32_t all = unknown & mask ? ~0u : 0;
    write_predicate(step.result_predicates[0], any ? ~0u : 0, all, mask);
    set_origin(step.result, 1, 0);
    write(step.result, false, values, all, mask);
  } else if (step.op == Op::predicates_to_register) {
    uint32_t any_unknown = 0;
    for (size_t bit = 0; bit < 7; ++bit) {
      if (!(step.table >> bit & 1)) continue;
      for (uint32_t i = 0; i < kLanes; ++i) values[i] |= uint64_t{predicates_[bit] >> i & 1} << bit;
      any_unknown |= predicates_unknown_[bit];
    }
    set_origin(step.result, 1, 0);
    write(step.result, false, values, any_unknown, mask);
  } else {
    const uint32_t from = read(step.sources[0], values);
    for (size_t bit = 0; bit < 7; ++bit) {
      if (!(step.table >> bit & 1)) continue;
      uint32_t value = 0;
      for (uint32_t i = 0; i < kLanes; ++i)
        value |= static_cast<uint32_t>(values[i] >> bit & 1) << i;
      write_predicate(static_cast<int16_t>(bit), value, from, mask);
    }
  }
}

}  // namespace fathom
