#include "prediction/lanes.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace fathom {
namespace {

uint64_t high_of_product(uint64_t a, uint64_t b, bool is_signed) {
  const uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const uint64_t middle = a1 * b0 + (a0 * b0 >> 32);
  uint64_t high = a1 * b1 + (middle >> 32) + ((a0 * b1 + (middle & 0xffffffff)) >> 32);
  if (is_signed && a >> 63) high -= b;
  if (is_signed && b >> 63) high -= a;
  return high;
}

uint64_t low_bits(uint32_t bits) {
  return bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << bits) - 1;
}

template <class T>
bool compares(Compare how, T a, T b) {
  switch (how) {
    case Compare::lt:
      return a < b;
    case Compare::le:
      return a <= b;
    case Compare::gt:
      return a > b;
    case Compare::ge:
      return a >= b;
    case Compare::eq:
      return a == b;
    case Compare::ne:
      return a != b;
    case Compare::never:
      return false;
    case Compare::always:
      return true;
  }
  return false;
}

uint32_t combine(Logic logic, uint32_t a, uint32_t b) {
  return logic == Logic::and_ ? a & b : logic == Logic::or_ ? a | b : a ^ b;
}

double as_float(uint64_t bits, bool is_double) {
  return is_double ? std::bit_cast<double>(bits)
                   : std::bit_cast<float>(static_cast<uint32_t>(bits));
}
uint64_t as_bits(double value, bool is_double) {
  return is_double ? std::bit_cast<uint64_t>(value)
                   : std::bit_cast<uint32_t>(static_cast<float>(value));
}

double rounded(double value, uint8_t how) {
  return how == 1   ? std::floor(value)
         : how == 2 ? std::ceil(value)
         : how == 3 ? std::trunc(value)
                    : std::nearbyint(value);
}

}  // namespace

Lanes::Lanes(const Program& program)
    : values_(program.slots + 1),
      unknown_(program.slots + 1),
      origin_(program.slots + 1),
      predicates_(program.predicates + 1),
      predicates_unknown_(program.predicates + 1) {}

uint32_t Lanes::predicate(const PredicateSource& source) const {
  const uint32_t value = source.index < 0 ? ~0u : predicates_[static_cast<size_t>(source.index)];
  return source.negated ? ~value : value;
}
uint32_t Lanes::guard(const PredicateSource& guard, uint32_t mask) const {
  return predicate(guard) & mask;
}
uint32_t Lanes::guard_unknown(const PredicateSource& guard) const {
  return guard.index < 0 ? 0 : predicates_unknown_[static_cast<size_t>(guard.index)];
}

uint32_t Lanes::read(const Source& source, LaneValues& out, bool is_signed) const {
  if (source.slot == kNoSlot) {
    uint64_t value = source.value;
    if (source.inverted) value = ~value;
    if (source.negated) value = -value;
    if (!source.wide && !is_signed) value &= 0xffffffff;
    if (!source.wide && is_signed)
      value = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(value)));
    out.fill(value);
    return source.unknown ? ~0u : 0;
  }
  const auto slot = static_cast<size_t>(source.slot);
  const auto& low = values_[slot];
  uint32_t unknown = unknown_[slot];
  if (source.wide) {
    const auto& high = values_[slot + 1];
    unknown |= unknown_[slot + 1];
    for (uint32_t i = 0; i < kLanes; ++i) out[i] = low[i] | uint64_t{high[i]} << 32;
  } else if (is_signed) {
    for (uint32_t i = 0; i < kLanes; ++i)
      out[i] = static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(low[i])));
  } else {
    for (uint32_t i = 0; i < kLanes; ++i) out[i] = low[i];
  }
  if (source.inverted)
    for (uint64_t& each : out) each = ~each;
  if (source.negated)
    for (uint64_t& each : out) each = -each;
  if ((source.inverted || source.negated) && !source.wide && !is_signed)
    for (uint64_t& each : out) each &= 0xffffffff;
  return unknown;
}

uint32_t Lanes::stored_word(const Step& step, uint32_t word, LaneValues& out) const {
  Source source = step.sources[3];
  source.wide = false;
  if (source.slot != kNoSlot) {
    if (static_cast<size_t>(source.slot) + word >= values_.size()) {
      out.fill(0);
      return 0;
    }
    source.slot = static_cast<int16_t>(source.slot + static_cast<int16_t>(word));
  }
  return read(source, out);
}

void Lanes::write(int16_t slot, bool wide, const LaneValues& values, uint32_t unknown,
                  uint32_t mask) {
  if (slot == kNoSlot) return;
  const auto at = static_cast<size_t>(slot);
  if (mask == ~0u) {
    for (uint32_t i = 0; i < kLanes; ++i) values_[at][i] = static_cast<uint32_t>(values[i]);
    if (wide)
      for (uint32_t i = 0; i < kLanes; ++i)
        values_[at + 1][i] = static_cast<uint32_t>(values[i] >> 32);
  } else {
    for (uint32_t i = 0; i < kLanes; ++i) {
      if (!(mask >> i & 1)) continue;
      values_[at][i] = static_cast<uint32_t>(values[i]);
      if (wide) values_[at + 1][i] = static_cast<uint32_t>(values[i] >> 32);
    }
  }
  for (size_t part = at; part <= at + (wide ? 1 : 0); ++part)
    unknown_[part] = (unknown_[part] & ~mask) | (unknown & mask);
}

void Lanes::set_origin(int16_t slot, uint32_t slots, uint32_t origin) {
  if (slot == kNoSlot) return;
  for (uint32_t i = 0; i < slots; ++i) origin_[static_cast<size_t>(slot) + i] = origin;
}

void Lanes::write_predicate(int16_t index, uint32_t value, uint32_t unknown, uint32_t mask) {
  if (index < 0) return;
  uint32_t& own = predicates_[static_cast<size_t>(index)];
  uint32_t& own_unknown = predicates_unknown_[static_cast<size_t>(index)];
  own = (own & ~mask) | (value & mask);
  own_unknown = (own_unknown & ~mask) | (unknown & mask);
}

uint32_t Lanes::addresses(const Step& step, LaneValues& out) const {
  LaneValues second;
  uint32_t unknown = read(step.sources[0], out);
  if (step.amount > 0)
    for (uint64_t& each : out) each <<= step.amount;
  unknown |= read(step.sources[1], second, !step.sources[1].wide);
  for (uint32_t i = 0; i < kLanes; ++i) out[i] += second[i] + static_cast<uint64_t>(step.offset);
  if (!step.has_wide_address())
    for (uint64_t& each : out) each &= 0xffffffff;
  return unknown;
}

void Lanes::pass_origin(const Step& step, uint32_t unknown) {
  if (step.result == kNoSlot) return;
  uint32_t origin = 0;
  bool several = false;
  for (const Source& each : step.sources) {
    if (each.slot == kNoSlot || unknown_[static_cast<size_t>(each.slot)] == 0) continue;
    const uint32_t own = origin_[static_cast<size_t>(each.slot)];
    several |= origin != 0 && origin != own;
    origin = own;
  }
  set_origin(step.result, step.wide ? 2 : 1, unknown && !several ? origin : 0);
}

void Lanes::execute(const Step& step, const Launch& launch, uint32_t mask) {
  switch (step.op) {
    case Op::nothing:
      return;
    case Op::move:
    case Op::add:
    case Op::multiply_add:
    case Op::divide:
    case Op::remainder:
    case Op::shift_add:
    case Op::select:
    case Op::minimum:
    case Op::absolute_value:
      return integer(step, mask);
    case Op::logic:
    case Op::shift_left:
    case Op::shift_right:
    case Op::funnel:
    case Op::bit_field:
    case Op::permute:
    case Op::population_count:
    case Op::leading_bit:
    case Op::reverse_bits:
    case Op::bit_mask:
    case Op::sign_extend:
      return bits(step, mask);
    case Op::float_add:
    case Op::float_multiply:
    case Op::float_multiply_add:
    case Op::float_minimum:
    case Op::reciprocal:
    case Op::float_divide:
    case Op::float_root:
    case Op::float_other:
    case Op::int_to_float:
    case Op::float_to_int:
    case Op::float_to_float:
      return floating(step, mask);
    case Op::compare:
    case Op::float_compare:
      return compare(step, mask);
    case Op::division_check:
      return check_division(step, mask);
    case Op::predicate_logic:
    case Op::predicates_to_register:
    case Op::register_to_predicates:
    case Op::vote:
      return predicates(step, mask);
    case Op::special:
      return special(step, launch, mask);
    case Op::shuffle:
      return shuffle(step, mask);
    default:
      return opaque(step, mask);
  }
}

void Lanes::opaque(const Step& step, uint32_t mask) {
  LaneValues sum{}, a;
  for (const Source& source : step.sources) {
    if (source.slot == kNoSlot) continue;
    read(source, a);
    for (uint32_t i = 0; i < kLanes; ++i) sum[i] = sum[i] * 31 + a[i];
  }
  for (uint64_t& each : sum) each = mix(each) & 0x3fffffff;
  for (uint32_t i = 0; i < step.result_slots && step.result != kNoSlot; ++i)
    write(static_cast<int16_t>(step.result + static_cast<int16_t>(i)), false, sum, ~0u, mask);
  set_origin(step.result, step.result_slots, 0);
  uint32_t bit = 0;
  for (uint32_t i = 0; i < kLanes; ++i) bit |= static_cast<uint32_t>(sum[i] & 1) << i;
  for (int16_t index : step.result_predicates) write_predicate(index, bit, ~0u, mask);
}

void Lanes::add(const Step& step, uint32_t mask) {
  LaneValues result{}, a;
  uint32_t unknown = 0;
  // Negation as the hardware does it, so that carries come out right: the complement and one more.
  for (size_t s = 0; s < 3; ++s) {
    Source source = step.sources[s];
    const bool negated = source.negated;
    if (source.slot == kNoSlot && source.value == 0 && !source.negated && !source.inverted)
      continue;
    if (negated) source.negated = false, source.inverted = !source.inverted;
    unknown |= read(source, a);
    for (uint32_t i = 0; i < kLanes; ++i) {
      if (step.wide) {
        result[i] += a[i] + negated;
      } else {
        result[i] += (a[i] & 0xffffffff) + negated;
      }
    }
  }
  if (step.extended) {
    for (const PredicateSource& each : step.predicates) {
      const uint32_t carry = predicate(each);
      unknown |= guard_unknown(each);
      for (uint32_t i = 0; i < kLanes; ++i) result[i] += carry >> i & 1;
    }
  }
  uint32_t first = 0, second = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    first |= static_cast<uint32_t>((result[i] >> 32 & 3) != 0) << i;
    second |= static_cast<uint32_t>((result[i] >> 32 & 3) > 1) << i;
  }
  write_predicate(step.result_predicates[0], first, unknown, mask);
  write_predicate(step.result_predicates[1], second, unknown, mask);
  pass_origin(step, unknown & mask);
  write(step.result, step.wide, result, unknown, mask);
}

void Lanes::multiply_add(const Step& step, uint32_t mask) {
  LaneValues a, b, c, result;
  uint32_t unknown = read(step.sources[0], a, step.is_signed) |
                     read(step.sources[1], b, step.is_signed) | read(step.sources[2], c);
  uint32_t carry_out = 0;
  const uint32_t carry_in = step.extended ? predicate(step.predicates[0]) : 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    const bool wide_sources = step.sources[0].wide;
    if (step.high && wide_sources) {
      result[i] = high_of_product(a[i], b[i], step.is_signed) + c[i];
      continue;
    }
    const uint64_t product = a[i] * b[i];
    const uint64_t sum = product + c[i] + (carry_in >> i & 1);
    carry_out |= static_cast<uint32_t>(sum < product) << i;
    result[i] = step.high ? sum >> 32 : sum;
  }
  write_predicate(step.result_predicates[0], carry_out, unknown, mask);
  pass_origin(step, unknown & mask);
  write(step.result, step.wide, result, unknown, mask);
}

void Lanes::integer(const Step& step, uint32_t mask) {
  if (step.op == Op::add) return add(step, mask);
  if (step.op == Op::multiply_add) return multiply_add(step, mask);
  LaneValues a, b, c, result;
  uint32_t unknown = read(step.sources[0], a, step.is_signed);
  if (step.op == Op::move) {
    pass_origin(step, unknown & mask);
    return write(step.result, step.wide, a, unknown, mask);
  }
  if (step.op != Op::absolute_value) unknown |= read(step.sources[1], b, step.is_signed);
  if (step.op == Op::minimum && step.amount > 0)
    unknown |= read(step.sources[2], c, step.is_signed);
  const uint32_t p = predicate(step.predicates[0]);
  for (uint32_t i = 0; i < kLanes; ++i) {
    const auto signed_a = static_cast<int64_t>(a[i]), signed_b = static_cast<int64_t>(b[i]);
    const bool choice = p >> i & 1;
    switch (step.op) {
      case Op::select:
        result[i] = choice ? a[i] : b[i];
        break;
      case Op::minimum: {
        const auto chosen = [&](uint64_t x, uint64_t y) {
          const bool less =
              step.is_signed ? static_cast<int64_t>(x) < static_cast<int64_t>(y) : x < y;
          return less == choice ? x : y;
        };
        const uint64_t sum = a[i] + b[i];
        const uint64_t wrapped = step.is_signed
                                     ? static_cast<uint64_t>(int64_t{static_cast<int32_t>(sum)})
                                     : sum & 0xffffffff;
        result[i] = step.amount == 1 ? chosen(wrapped, c[i]) : chosen(a[i], b[i]);
        if (step.amount == 2) result[i] = chosen(result[i], c[i]);
        break;
      }
      case Op::absolute_value:
        result[i] = static_cast<uint64_t>(
            std::abs(static_cast<int64_t>(step.wide ? signed_a : static_cast<int32_t>(a[i]))));
        break;
      case Op::divide:
      case Op::remainder: {
        const bool bad = b[i] == 0 || (step.is_signed && signed_b == -1);
        const uint64_t quotient = bad              ? (b[i] == 0 ? 0 : -a[i])
                                  : step.is_signed ? static_cast<uint64_t>(signed_a / signed_b)
                                                   : a[i] / b[i];
        result[i] = step.op == Op::divide ? quotient : a[i] - quotient * b[i];
        break;
      }
      default:
        break;
    }
  }
  if (step.op == Op::select) unknown |= guard_unknown(step.predicates[0]);
  if (step.op == Op::shift_add) {
    unknown |= read(step.sources[2], c);
    const uint32_t carry_in = step.extended ? predicate(step.predicates[0]) : 0;
    uint32_t carry_out = 0;
    for (uint32_t i = 0; i < kLanes; ++i) {
      const uint64_t pair =
          step.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(static_cast<int32_t>(a[i])))
                         : (a[i] & 0xffffffff) | c[i] << 32;
      const uint64_t shifted =
          step.high ? (step.amount == 0 ? pair >> 32 : pair >> (32 - step.amount % 32))
                    : a[i] << step.amount;
      const uint64_t sum = (shifted & 0xffffffff) + (b[i] & 0xffffffff) + (carry_in >> i & 1);
      carry_out |= static_cast<uint32_t>(sum >> 32 & 1) << i;
      result[i] = sum;
    }
    write_predicate(step.result_predicates[0], carry_out, unknown, mask);
  }
  pass_origin(step, unknown & mask);
  write(step.result, step.wide, result, unknown, mask);
}

void Lanes::bits(const Step& step, uint32_t mask) {
  LaneValues a, b, c, result;
  const bool is_signed = step.is_signed && (step.op == Op::shift_right);
  uint32_t unknown =
      read(step.sources[0], a, is_signed) | read(step.sources[1], b) | read(step.sources[2], c);
  const uint32_t size = step.wide ? 64 : 32;
  for (uint32_t i = 0; i < kLanes; ++i) {
    uint64_t& out = result[i];
    switch (step.op) {
      case Op::logic: {
        out = 0;
        for (uint32_t row = 0; row < 8; ++row) {
          if (!(step.table >> row & 1)) continue;
          out |= (row & 4 ? a[i] : ~a[i]) & (row & 2 ? b[i] : ~b[i]) & (row & 1 ? c[i] : ~c[i]);
        }
        break;
      }
      case Op::shift_left:
        out = b[i] >= size ? 0 : a[i] << b[i];
        break;
      case Op::shift_right: {
        const uint64_t by = std::min<uint64_t>(b[i], size - 1);
        out = step.is_signed ? static_cast<uint64_t>(static_cast<int64_t>(a[i]) >> by)
              : b[i] >= size ? 0
                             : a[i] >> by;
        break;
      }
      case Op::funnel: {
        const uint64_t pair = (a[i] & 0xffffffff) | c[i] << 32;
        const uint64_t most = step.amount;
        const uint64_t by = step.extended ? b[i] & (most - 1) : std::min<uint64_t>(b[i], most);
        uint64_t moved = 0;
        if (step.takes_minimum) {
          moved = by >= 64 ? 0 : pair << by;
        } else if (step.is_signed) {
          moved = static_cast<uint64_t>(static_cast<int64_t>(pair) >> std::min<uint64_t>(by, 63));
        } else {
          moved = by >= 64 ? 0 : pair >> by;
        }
        out = step.high ? moved >> 32 : moved;
        break;
      }
      case Op::bit_field: {
        const uint64_t position = b[i] & 0xff, length = b[i] >> 8 & 0xff;
        out = position >= 64 ? 0 : a[i] >> position & low_bits(static_cast<uint32_t>(length));
        if (step.is_signed && length > 0 && length < 64 && out >> (length - 1) & 1)
          out |= ~low_bits(static_cast<uint32_t>(length));
        break;
      }
      case Op::permute: {
        const uint64_t bytes = (a[i] & 0xffffffff) | c[i] << 32;
        out = 0;
        for (uint32_t byte = 0; byte < 4; ++byte) {
          const uint64_t selector = b[i] >> 4 * byte & 15;
          uint64_t value = bytes >> 8 * (selector & 7) & 0xff;
          if (selector & 8) value = value & 0x80 ? 0xff : 0;
          out |= value << 8 * byte;
        }
        break;
      }
      case Op::population_count:
        out = static_cast<uint64_t>(std::popcount(a[i]));
        break;
      case Op::leading_bit: {
        uint64_t value = a[i];
        if (step.is_signed && value >> (size - 1) & 1) value = ~value & low_bits(size);
        const auto bit = static_cast<int>(std::bit_width(value)) - 1;
        out = bit < 0 ? 0xffffffff
                      : static_cast<uint64_t>(step.high ? static_cast<int>(size) - 1 - bit : bit);
        break;
      }
      case Op::reverse_bits: {
        out = 0;
        for (uint32_t bit = 0; bit < size; ++bit) out |= (a[i] >> bit & 1) << (size - 1 - bit);
        break;
      }
      case Op::bit_mask:
        out =
            a[i] >= 32 ? 0 : low_bits(static_cast<uint32_t>(std::min<uint64_t>(b[i], 32))) << a[i];
        break;
      case Op::sign_extend: {
        const auto length = static_cast<uint32_t>(std::min<uint64_t>(b[i], 32));
        out = a[i] & low_bits(length);
        if (step.is_signed && length > 0 && out >> (length - 1) & 1) out |= ~low_bits(length);
        break;
      }
      default:
        out = 0;
    }
  }
  if (step.op == Op::logic && step.result_predicates[0] >= 0) {
    uint32_t any = 0;
    for (uint32_t i = 0; i < kLanes; ++i)
      any |= static_cast<uint32_t>((result[i] & 0xffffffff) != 0) << i;
    write_predicate(step.result_predicates[0], any, unknown, mask);
  }
  pass_origin(step, unknown & mask);
  write(step.result, step.wide, result, unknown, mask);
}

void Lanes::floating(const Step& step, uint32_t mask) {
  std::array<LaneValues, 3> in;
  uint32_t unknown = step.op == Op::float_other ? ~0u : 0;
  for (size_t s = 0; s < 3; ++s) {
    Source plain = step.sources[s];
    plain.negated = plain.absolute = false;
    unknown |= read(plain, in[s], step.op == Op::int_to_float && step.is_signed);
  }
  LaneValues result;
  const bool d = step.is_double;
  for (uint32_t i = 0; i < kLanes; ++i) {
    double x[3];
    for (size_t s = 0; s < 3; ++s) {
      x[s] = as_float(in[s][i], d);
      if (step.sources[s].absolute) x[s] = std::fabs(x[s]);
      if (step.sources[s].negated) x[s] = -x[s];
    }
    switch (step.op) {
      case Op::float_add:
        result[i] = as_bits(x[0] + x[1], d);
        break;
      case Op::float_multiply:
        result[i] = as_bits(x[0] * x[1], d);
        break;
      case Op::float_multiply_add:
        result[i] = as_bits(d ? std::fma(x[0], x[1], x[2]) : x[0] * x[1] + x[2], d);
        break;
      case Op::float_minimum:
        result[i] = as_bits((predicate(step.predicates[0]) >> i & 1) ? std::fmin(x[0], x[1])
                                                                     : std::fmax(x[0], x[1]),
                            d);
        break;
      case Op::reciprocal:
        result[i] = as_bits(1 / x[0], d);
        break;
      case Op::int_to_float:
        result[i] = as_bits(step.is_signed ? static_cast<double>(static_cast<int64_t>(in[0][i]))
                                           : static_cast<double>(in[0][i]),
                            step.is_double);
        if (step.amount == 2 && !step.is_double &&
            static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(result[i]))) <
                static_cast<double>(in[0][i]))
          ++result[i];
        break;
      case Op::float_to_int: {
        double value = rounded(x[0], step.amount);
        const double least = step.is_signed ? -2147483648.0 : 0,
                     most = step.is_signed ? 2147483647.0 : 4294967295.0;
        if (!step.wide) value = std::isnan(value) ? 0 : std::clamp(value, least, most);
        if (step.wide) value = std::isnan(value) ? 0 : std::clamp(value, -9e18, 9e18);
        result[i] = static_cast<uint64_t>(static_cast<int64_t>(value));
        break;
      }
      case Op::float_to_float:
        result[i] = as_bits(step.high ? rounded(x[0], step.amount) : x[0], step.wide);
        break;
      default:
        result[i] = 0;
    }
  }
  make_ordinary(step, in, unknown, result);
  pass_origin(step, unknown & mask);
  write(step.result, step.wide, result, unknown, mask);
}

/// Made-up numbers stay such as programs mostly compute, also where the function is not known.
void Lanes::make_ordinary(const Step& step, const std::array<LaneValues, 3>& in, uint32_t unknown,
                          LaneValues& result) {
  if (unknown == 0 || step.op == Op::float_to_int) return;
  const bool d = step.op == Op::float_to_float ? step.wide : step.is_double;
  const bool is_computed =
      step.op != Op::float_other && step.op != Op::float_divide && step.op != Op::float_root;
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(unknown >> i & 1)) continue;
    const double size = std::fabs(as_float(result[i], d));
    if (is_computed && size < 1e30 && size > 1e-30) continue;
    if (is_computed && size == 0) continue;
    const uint64_t random = mix(in[0][i] + 3 * in[1][i] + 7 * in[2][i]);
    result[i] = as_bits(0.5 + static_cast<double>(random >> 32) * 0x1p-33, d);
  }
}

/// Comparisons with numbers that hardly occur (infinity, limits of exact ranges, denormals) look
/// for operands that need special care: made-up ones do not.
uint32_t Lanes::assume_ordinary(const Step& step, LaneValues& a, LaneValues& b, uint32_t unknown) {
  for (size_t s = 0; s < 2; ++s) {
    const Source& source = step.sources[s];
    if (source.slot != kNoSlot || source.unknown) continue;
    const double limit = std::fabs(as_float(source.value, step.is_double));
    if (!(limit >= 65536 || limit < 1e-30) || limit == 0) continue;
    LaneValues& other = s == 0 ? b : a;
    for (uint32_t i = 0; i < kLanes; ++i)
      if (unknown >> i & 1) other[i] = as_bits(1, step.is_double);
    return 0;
  }
  return unknown;
}

void Lanes::compare(const Step& step, uint32_t mask) {
  LaneValues a, b;
  const bool is_float = step.op == Op::float_compare;
  Source first = step.sources[0], second = step.sources[1];
  if (is_float) first.negated = second.negated = first.absolute = second.absolute = false;
  const bool is_signed = step.is_signed && !is_float;
  const uint32_t unknown_a = read(first, a, is_signed), unknown_b = read(second, b, is_signed);
  uint32_t unknown = unknown_a | unknown_b;
  // The order of two made-up numbers means nothing, and would be the same in each round of a
  // search.
  const bool orders = unordered && step.compare != Compare::eq && step.compare != Compare::ne;
  const uint32_t by_chance = is_float ? unknown : orders ? unknown_a & unknown_b : 0;
  if (is_float && unknown) unknown = assume_ordinary(step, a, b, unknown);
  uint32_t result = 0;
  const uint32_t lower = step.extended ? predicate(step.predicates[1]) : 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    bool holds = false;
    if (by_chance & unknown & uint32_t{1} << i) {
      holds = mix(a[i] * 3 + b[i]) & 1;
    } else if (is_float) {
      double x = as_float(a[i], step.is_double), y = as_float(b[i], step.is_double);
      if (step.sources[0].absolute) x = std::fabs(x);
      if (step.sources[1].absolute) y = std::fabs(y);
      holds = compares(step.compare, step.sources[0].negated ? -x : x,
                       step.sources[1].negated ? -y : y);
    } else if (step.extended && a[i] == b[i]) {
      holds = lower >> i & 1;
    } else if (is_signed) {
      holds = compares(step.compare, static_cast<int64_t>(a[i]), static_cast<int64_t>(b[i]));
    } else {
      holds = compares(step.compare, a[i], b[i]);
    }
    result |= static_cast<uint32_t>(holds) << i;
  }
  if (step.extended) unknown |= guard_unknown(step.predicates[1]);
  const PredicateSource& other = step.predicates[0];
  unknown |= guard_unknown(other);
  // A constant may decide whatever the other side is.
  const uint32_t second_value = predicate(other);
  if (other.index >= 0 && guard_unknown(other) == 0)
    unknown &= step.logic == Logic::and_  ? second_value
               : step.logic == Logic::or_ ? ~second_value
                                          : ~0u;
  write_predicate(step.result_predicates[0], combine(step.logic, result, second_value), unknown,
                  mask);
  write_predicate(step.result_predicates[1], combine(step.logic, ~result, second_value), unknown,
                  mask);
}

void Lanes::special(const Step& step, const Launch& launch, uint32_t mask) {
  LaneValues values{};
  uint32_t unknown = 0;
  const auto which = static_cast<uint32_t>(step.special);
  for (uint32_t i = 0; i < kLanes; ++i) {
    const uint32_t thread = warp * kLanes + i;
    switch (step.special) {
      case Special::tid_x:
        values[i] = thread % launch.block[0];
        break;
      case Special::tid_y:
        values[i] = thread / launch.block[0] % launch.block[1];
        break;
      case Special::tid_z:
        values[i] = thread / launch.block[0] / launch.block[1];
        break;
      case Special::ctaid_x:
      case Special::ctaid_y:
      case Special::ctaid_z:
        values[i] = block[which - static_cast<uint32_t>(Special::ctaid_x)];
        break;
      case Special::ntid_x:
      case Special::ntid_y:
      case Special::ntid_z:
        values[i] = launch.block[which - static_cast<uint32_t>(Special::ntid_x)];
        break;
      case Special::nctaid_x:
      case Special::nctaid_y:
      case Special::nctaid_z:
        values[i] = launch.grid[which - static_cast<uint32_t>(Special::nctaid_x)];
        break;
      case Special::lane:
        values[i] = i;
        break;
      case Special::warp:
        values[i] = warp;
        break;
      case Special::lane_mask_eq:
        values[i] = 1u << i;
        break;
      case Special::lane_mask_lt:
        values[i] = (1u << i) - 1;
        break;
      case Special::lane_mask_le:
        values[i] = low_bits(i + 1);
        break;
      case Special::lane_mask_gt:
        values[i] = ~low_bits(i + 1) & 0xffffffff;
        break;
      case Special::lane_mask_ge:
        values[i] = ~low_bits(i) & 0xffffffff;
        break;
      case Special::zero:
        break;
      case Special::other:
        unknown = ~0u;
        break;
    }
  }
  set_origin(step.result, step.wide ? 2 : 1, 0);
  write(step.result, step.wide, values, unknown, mask);
}

void Lanes::shuffle(const Step& step, uint32_t mask) {
  LaneValues a, b, result;
  const uint32_t unknown = read(step.sources[0], a);
  const uint32_t where_unknown = read(step.sources[1], b);
  uint32_t result_unknown = where_unknown;
  for (uint32_t i = 0; i < kLanes; ++i) {
    const auto by = static_cast<uint32_t>(b[i] & 31);
    uint32_t from = i;
    if (step.amount == 0) from = by;
    if (step.amount == 1 && i >= by) from = i - by;
    if (step.amount == 2 && i + by < kLanes) from = i + by;
    if (step.amount == 3) from = i ^ by;
    result[i] = a[from];
    result_unknown |= (unknown >> from & 1) << i;
  }
  write_predicate(step.result_predicates[0], ~0u, 0, mask);
  pass_origin(step, result_unknown & mask);
  write(step.result, false, result, result_unknown, mask);
}

void Lanes::restore(const State& state) {
  values_ = state.values;
  unknown_ = state.unknown;
  predicates_ = state.predicates;
  predicates_unknown_ = state.predicates_unknown;
  origin_ = state.origin;
}

Lanes::Growth Lanes::growth(const State& a, const State& b) const {
  Growth growth;
  growth.steps.resize(values_.size());
  growth.uneven.resize(values_.size());
  for (size_t slot = 0; slot < values_.size(); ++slot) {
    for (uint32_t i = 0; i < kLanes; ++i) {
      const uint32_t step = values_[slot][i] - b.values[slot][i];
      if (step == b.values[slot][i] - a.values[slot][i]) {
        growth.steps[slot][i] = step;
      } else {
        growth.uneven[slot] |= 1u << i;
      }
    }
  }
  return growth;
}

uint64_t Lanes::growths_until(const Step& comparison, const Growth& growth, uint32_t mask) const {
  LaneValues a, b;
  uint32_t skip = read(comparison.sources[0], a, comparison.is_signed) |
                  read(comparison.sources[1], b, comparison.is_signed);
  const auto grows = [&](const Source& source, uint32_t lane) -> int64_t {
    if (source.slot == kNoSlot) return 0;
    const auto slot = static_cast<size_t>(source.slot);
    if (growth.uneven[slot] >> lane & 1) skip |= 1u << lane;
    const auto step = static_cast<int32_t>(growth.steps[slot][lane]);
    return source.negated || source.inverted ? -int64_t{step} : step;
  };
  uint64_t least = ~uint64_t{0};
  for (uint32_t i = 0; i < kLanes; ++i) {
    const int64_t step = grows(comparison.sources[0], i) - grows(comparison.sources[1], i);
    if (step == 0 || ((skip | ~mask) >> i & 1)) continue;
    const auto apart = static_cast<int64_t>(a[i] - b[i]);
    if ((apart < 0) == (step < 0)) continue;  // ever farther apart
    least = std::min(least, static_cast<uint64_t>(std::abs(apart / step)));
  }
  return least;
}

void Lanes::extrapolate(const Growth& growth, uint64_t times) {
  for (size_t slot = 0; slot < values_.size(); ++slot) {
    for (uint32_t i = 0; i < kLanes; ++i)
      values_[slot][i] += static_cast<uint32_t>(times) * growth.steps[slot][i];
    unknown_[slot] |= growth.uneven[slot];
  }
}

}  // namespace fathom
