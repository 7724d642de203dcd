#pragma once
// The registers of one warp, 32 lanes at once, and what steps do with them. Values that come from
// memory are made up; each lane's bit in `unknown` says so, and whatever is computed of them is
// unknown too. Made-up values still go through the arithmetic: threads that read the same address
// go on with the same value, and addresses computed of them fall into the right buffer.

#include <array>
#include <cstdint>
#include <vector>

#include "prediction/launch.h"
#include "prediction/mix.h"
#include "prediction/program.h"

namespace fathom {

inline constexpr uint32_t kLanes = 32;
using LaneValues = std::array<uint64_t, kLanes>;

class Lanes {
 public:
  explicit Lanes(const Program& program);

  /// Where the warp stands.
  std::array<uint32_t, 3> block{};
  uint32_t warp = 0;
  /// Whether the numbers to compare come from buffers that have no order in common.
  bool unordered = false;

  /// Lanes of `mask` for which the guard holds.
  uint32_t guard(const PredicateSource& guard, uint32_t mask) const;
  uint32_t guard_unknown(const PredicateSource& guard) const;
  uint32_t predicate(const PredicateSource& source) const;

  /// Everything but memory and control flow, for the lanes of `mask`.
  void execute(const Step& step, const Launch& launch, uint32_t mask);

  /// An operand in all lanes; returns the lanes in which it is unknown.
  uint32_t read(const Source& source, LaneValues& out, bool is_signed = false) const;
  /// A 32-bit word of what a store writes, and the lanes in which it is unknown; of damaged code
  /// that has fewer registers than it stores, zeros.
  uint32_t stored_word(const Step& step, uint32_t word, LaneValues& out) const;
  /// Addresses of a memory step; the lanes in which they are unknown.
  uint32_t addresses(const Step& step, LaneValues& out) const;
  void write(int16_t slot, bool wide, const LaneValues& values, uint32_t unknown, uint32_t mask);

  /// The load (its step plus one) that an operand's unknown part comes from, 0: none or several.
  uint32_t origin(const Source& source) const {
    return source.slot == kNoSlot ? 0 : origin_[static_cast<size_t>(source.slot)];
  }
  void set_origin(int16_t slot, uint32_t slots, uint32_t origin);

  /// Bits in which a step's result differs from what its lanes made before it; a load's, from what
  /// they loaded; what a store writes, from thread to thread where these share the wires.
  uint16_t changed_bits(const Step& step, uint32_t mask);
  /// Bits in which a step's result differs from lane to lane: as much as from warp to warp, whose
  /// results follow each other in one unit.
  uint16_t spread_bits(const Step& step, uint32_t mask) const;

  /// What changed since another state, for going on with a loop without running it.
  struct State {
    std::vector<std::array<uint32_t, kLanes>> values;
    std::vector<uint32_t> unknown, predicates, predicates_unknown, origin;
  };
  State state() const { return {values_, unknown_, predicates_, predicates_unknown_, origin_}; }
  void restore(const State& state);
  /// How registers grew from a state to the next and to now, by the same amount both times; the
  /// lanes in which they did not are `uneven`.
  struct Growth {
    std::vector<std::array<uint32_t, kLanes>> steps;
    std::vector<uint32_t> uneven;
  };
  Growth growth(const State& a, const State& b) const;
  /// How often registers can grow before a comparison's operands meet or change places.
  uint64_t growths_until(const Step& comparison, const Growth& growth, uint32_t mask) const;
  /// Lets registers grow on; what grew unevenly becomes unknown.
  void extrapolate(const Growth& growth, uint64_t times);

 private:
  uint16_t loaded_bits(const Step& step, uint32_t mask);
  uint16_t stored_bits(const Step& step, uint32_t mask) const;
  void write_predicate(int16_t index, uint32_t value, uint32_t unknown, uint32_t mask);
  void integer(const Step& step, uint32_t mask);
  void bits(const Step& step, uint32_t mask);
  void floating(const Step& step, uint32_t mask);
  void compare(const Step& step, uint32_t mask);
  static void make_ordinary(const Step& step, const std::array<LaneValues, 3>& in, uint32_t unknown,
                            LaneValues& result);
  static uint32_t assume_ordinary(const Step& step, LaneValues& a, LaneValues& b, uint32_t unknown);
  void predicates(const Step& step, uint32_t mask);
  void check_division(const Step& step, uint32_t mask);
  void special(const Step& step, const Launch& launch, uint32_t mask);
  void shuffle(const Step& step, uint32_t mask);
  void opaque(const Step& step, uint32_t mask);
  void add(const Step& step, uint32_t mask);
  void multiply_add(const Step& step, uint32_t mask);
  void pass_origin(const Step& step, uint32_t unknown);

  std::vector<std::array<uint32_t, kLanes>> values_;
  std::vector<uint32_t> unknown_, origin_;
  std::vector<uint32_t> predicates_, predicates_unknown_;
  std::array<uint32_t, kLanes> last_{}, last_high_{}, last_loaded_{};
};

}  // namespace fathom
