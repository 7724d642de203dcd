#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace fathom {

/// Files of registers that carry dependencies. `barrier` are the six virtual registers B0 to B5 of
/// the GPA paper (section 4): a write or read barrier of an instruction defines one, a wait mask
/// uses some.
enum class RegisterFile : uint8_t { general, uniform, predicate, uniform_predicate, barrier };

/// One register of 32 bits (or one bit, for predicates). RZ, URZ, PT and UPT never appear.
struct Register {
  RegisterFile file = RegisterFile::general;
  uint8_t index = 0;
  auto operator<=>(const Register&) const = default;
};
/// "R4", "UR6", "P0", "UP1", "B2"
std::string to_string(Register reg);

/// The guard in front of an instruction. Always-true (PT) and no guard at all are the same.
struct Guard {
  bool always = true;
  bool negated = false;
  Register predicate{RegisterFile::predicate, 7};
};

enum class MemorySpace : uint8_t { none, global, local, shared, constant, texture, generic };

/// What an instruction does, as far as latencies and advice care.
enum class OpClass : uint8_t {
  integer,           // IADD3, LOP3, SHF, LEA, ISETP, SEL, PRMT ...
  integer_multiply,  // IMAD and variants that multiply
  integer_wide,      // POPC, FLO, BREV, IDP...: quarter rate or slower
  fp16,
  fp32,
  fp64,
  conversion,        // F2F, F2I, I2F, I2I, FRND
  special,           // MUFU
  tensor,            // HMMA, IMMA, DMMA, HGMMA, QGMMA...
  move,              // MOV, R2UR, S2UR of constants, uniform moves
  predicate,         // PLOP3, P2R, R2P
  special_register,  // S2R, S2UR, CS2R
  shuffle,           // SHFL, VOTE, MATCH, REDUX
  load,
  store,
  atomic,  // space tells which memory; LDC is a load of constant space
  texture,
  asynchronous_copy,  // LDGSTS, UBLKCP, UTMALDG...
  barrier,            // BAR, WARPSYNC, SYNCS, ARRIVES, DEPBAR
  memory_barrier,     // MEMBAR, FENCE, ERRBAR, CCTL
  control,            // BRA, EXIT, RET, CALL, BSSY, BSYNC, BREAK, NANOSLEEP, YIELD, NOP...
  other
};

/// As machine models list it: "integer", "special_register". Memory accesses are listed by their
/// space as well, which the caller adds.
std::string_view class_name(OpClass op_class);

enum class Flow : uint8_t { next, branch, indirect_branch, call, indirect_call, return_, exit };

/// Bits 105 to 125 of a 128-bit instruction.
struct Control {
  uint8_t stall = 0;   ///< cycles before the next instruction may issue
  bool yield = false;  ///< bit 109 as it stands (set on each instruction that keeps operands)
  uint8_t write_barrier = 7;  ///< barrier set when the result is there; 7 = none
  uint8_t read_barrier = 7;   ///< barrier set when the operands were read; 7 = none
  uint8_t wait_mask = 0;      ///< barriers 0 to 5 that must be clear before it issues
  uint8_t reuse = 0;
};
Control decode_control(uint64_t high_word);

/// One machine instruction, however it was decoded. Offsets are in bytes from the function's start.
struct Instruction {
  uint64_t offset = 0;
  std::string opcode;  ///< with modifiers: "LDG.E.64"
  std::string text;    ///< with guard and operands: "@!P0 LDG.E.64 R4, desc[UR4][R2.64]"
  OpClass op_class = OpClass::other;
  Guard guard;
  std::vector<Register> defs;  ///< sorted, unique; barrier registers included
  std::vector<Register> uses;  ///< sorted, unique; guard's predicate and waited barriers included
  MemorySpace space = MemorySpace::none;
  uint8_t access_bytes = 0;  ///< per thread; 0 if no memory access or unknown
  Control control;
  Flow flow = Flow::next;
  std::optional<uint64_t> target;  ///< of a direct branch or call within the function's section
  /// Of a BSSY: where the threads that part after it meet again, if it is in the function.
  std::optional<uint64_t> convergence;
  std::string target_symbol;    ///< of a call, if it is known by name
  std::vector<uint64_t> table;  ///< targets of an indirect branch, if known
  bool known = true;  ///< false: the decoder does not understand it; defs and uses are empty

  bool is_load() const { return op_class == OpClass::load || op_class == OpClass::texture; }
  bool is_store() const { return op_class == OpClass::store; }
  bool is_memory() const {
    return is_load() || is_store() || op_class == OpClass::atomic ||
           op_class == OpClass::asynchronous_copy;
  }
  /// The opcode without modifiers: "LDG".
  std::string_view base_opcode() const {
    return std::string_view(opcode).substr(0, opcode.find('.'));
  }
};

}  // namespace fathom
