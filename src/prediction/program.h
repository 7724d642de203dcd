#pragma once
// One kernel in the form that prediction works on, made from SASS or from PTX: what each step
// computes (as far as addresses and trip counts can depend on it), which unit it keeps busy, and
// what it waits for.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "binary/instruction.h"
#include "flow/control_flow.h"
#include "machine/pipes.h"
#include "model/finding.h"
#include "prediction/launch.h"

namespace fathom {

/// Registers are slots of 32 bits for each lane; 64-bit values take two, the low half first.
inline constexpr int16_t kNoSlot = -1;

struct Source {
  int16_t slot = kNoSlot;  ///< kNoSlot: `value` is the operand
  bool wide = false;       ///< 64 bits
  bool negated = false;    ///< arithmetic negation, of the sign for floats
  bool inverted = false;   ///< bitwise
  bool absolute = false;
  bool unknown = false;  ///< a constant that nobody knows before the kernel runs
  uint64_t value = 0;
};
struct PredicateSource {
  int16_t index = -1;    ///< -1: always `!negated`
  bool negated = false;  ///< of a constant: false
};

enum class Op : uint8_t {
  nothing,
  opaque,  ///< some function of its sources: the result counts as unknown
  move,
  add,           ///< a + b + c + carries
  multiply_add,  ///< a * b + c
  divide,
  remainder,
  logic,  ///< by truth table of a, b, c
  shift_left,
  shift_right,
  funnel,     ///< SHF: (high c, low a) shifted by b
  shift_add,  ///< LEA: (a << n) + b; high: ((c:a) << n >> 32) + b
  compare,    ///< to predicates
  select,     ///< p ? a : b
  minimum,    ///< p ? min(a, b) : max(a, b)
  absolute_value,
  bit_field,  ///< b = position | length << 8
  permute,    ///< PRMT
  population_count,
  leading_bit,  ///< FLO: number of the highest bit set
  reverse_bits,
  bit_mask,
  sign_extend,  ///< SGXT: low b bits of a
  float_add,
  float_multiply,
  float_multiply_add,
  float_minimum,
  float_divide,
  float_root,
  reciprocal,
  float_other,  ///< square roots, logarithms...: unknown unless computed
  float_compare,
  division_check,  ///< FCHK: whether a / b needs the slow path
  int_to_float,
  float_to_int,
  float_to_float,
  predicate_logic,
  predicates_to_register,
  register_to_predicates,
  special,  ///< `special` tells which
  shuffle,
  vote,
  load,
  store,
  atomic,
  asynchronous_copy,
  barrier,
  meet_later,  ///< BSSY: these threads meet again at the `meet` of the same `amount`
  meet,        ///< BSYNC
  branch,
  call,
  return_,
  exit,
};

enum class Compare : uint8_t { lt, le, gt, ge, eq, ne, never, always };
enum class Logic : uint8_t { and_, or_, xor_ };
enum class Special : uint8_t {
  other,
  tid_x,
  tid_y,
  tid_z,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  ntid_x,
  ntid_y,
  ntid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  lane,
  warp,
  lane_mask_eq,
  lane_mask_lt,
  lane_mask_le,
  lane_mask_gt,
  lane_mask_ge,
  zero
};

/// What a step costs and waits for.
struct StepTiming {
  Pipe pipe = Pipe::none;
  float pipe_cycles = 1;  ///< that the unit is busy with one warp
  float latency = 4;  ///< cycles until the result is there; of memory: without the memory's part
  float issues = 1;   ///< machine instructions that it stands for (PTX)
  uint8_t stall = 1;
  uint8_t write_barrier = 7, read_barrier = 7, wait_mask = 0;
};

struct Step {
  Op op = Op::nothing;
  OpClass op_class = OpClass::other;
  bool wide = false;  ///< the result has 64 bits
  bool is_signed = false;
  bool high = false;       ///< the upper half of the result
  bool extended = false;   ///< .X, .EX: takes a carry or the result of the lower halves
  bool is_double = false;  ///< floats of 64 bits
  bool takes_minimum = true;
  bool is_async = false;
  bool bypasses_l1 = false;
  bool no_result_wait = false;  ///< RED: nobody waits
  Compare compare = Compare::eq;
  Logic logic = Logic::and_;
  Special special = Special::other;
  uint8_t table = 0;   ///< truth table of logic
  uint8_t amount = 0;  ///< of shift_add; bits of a narrow result (16 of PTX)
  PredicateSource guard;
  int16_t result = kNoSlot;
  uint8_t result_slots = 1;
  std::array<int16_t, 2> result_predicates{-1, -1};
  std::array<Source, 4> sources;
  std::array<PredicateSource, 3> predicates;
  MemorySpace space = MemorySpace::none;
  uint8_t bytes = 0;   ///< per lane, of memory operations
  int64_t offset = 0;  ///< added to the address
  uint8_t bank = 0;    ///< of constant memory; of PTX 0
  Flow flow = Flow::next;
  uint32_t target = 0xffffffffu;        ///< step, of a direct branch or call
  std::vector<uint32_t> table_targets;  ///< of an indirect branch
  bool slow_path = false;               ///< a call of the compiler's code for rare operands
  StepTiming timing;
  std::vector<int16_t> reads, writes;  ///< slots, where no control fields say what is waited for

  bool makes_floats() const {
    return op_class == OpClass::fp32 || op_class == OpClass::fp64 || op_class == OpClass::special;
  }
  /// Addresses of 64 bits; constants have such ones in PTX.
  bool has_wide_address() const {
    return space == MemorySpace::global || space == MemorySpace::generic ||
           (space == MemorySpace::constant && sources[0].wide);
  }
};

/// Which constants an address belongs to: a bank of the machine, or a variable of PTX.
inline uint64_t place_of_constants(uint8_t bank, uint64_t address) {
  return bank != 0 ? bank : address >> kBufferShift;
}

struct Program {
  std::string name;  ///< mangled
  bool from_sass = true;
  std::vector<Step> steps;
  std::vector<Instruction> instructions;  ///< of SASS: one for each step; of PTX: text and flow
  std::vector<std::vector<SourceLocation>> locations;  ///< by step: innermost first
  ControlFlowGraph graph;
  LoopNest loops;
  uint32_t slots = 0, predicates = 0;
  bool waits_by_slot = false;  ///< PTX: dependences are those of `reads` and `writes`
  /// Bytes of constant memory, where the file tells, by place_of_constants().
  std::map<uint64_t, uint64_t> constants;
  LaunchShape shape;  ///< registers and shared memory; grid and block of the launch

  SourceLocation at(uint32_t step) const {
    return locations.empty() || locations[step].empty() ? SourceLocation{}
                                                        : locations[step].front();
  }
};

}  // namespace fathom
