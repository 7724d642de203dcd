#pragma once
// PTX as plain data: what the text says, not what it means. Names are views into the text, which
// must outlive the module; what repeats (opcodes, symbols) is kept once and named by index.
// Source: NVIDIA, "Parallel Thread Execution ISA", versions 6.0 to 9.0.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom {

inline constexpr uint32_t kNoIndex = 0xffffffffu;

enum class PtxType : uint8_t { none, pred, b, u, s, f, bf, tf, other };
/// ".f32" is {f, 32}, ".f16x2" {f, 32}, ".pred" {pred, 1}.
struct PtxTypeName {
  PtxType kind = PtxType::none;
  uint8_t bits = 0;
  auto operator<=>(const PtxTypeName&) const = default;
};
/// `name` without its dot; kind none where it is no type.
PtxTypeName read_ptx_type(std::string_view name);

enum class PtxSpace : uint8_t { none, reg, param, local, shared, global, constant };

/// An opcode and its modifiers: "ld.global.nc.v4.f32".
struct PtxOpcode {
  std::string_view text;
  std::vector<std::string_view> pieces;  ///< "ld", "global", "nc", "v4", "f32"
  std::vector<PtxTypeName> types;        ///< those of the pieces, in order

  std::string_view base() const { return pieces.front(); }
  bool has(std::string_view piece) const;
};

enum class PtxOperandKind : uint8_t {
  register_,  ///< `name`: index in PtxFunction::registers
  special,    ///< %tid.x: `name` in PtxModule::symbols ("%tid"), `element` 1 to 4 for .x to .w
  integer,    ///< `value`
  real,       ///< `value` holds the bits of a double; 0f3F800000 is widened
  symbol,     ///< a variable, parameter or function: `name` in PtxModule::symbols
  label,      ///< `name`: index in PtxFunction::labels
  address,    ///< [base + value]; `base` says what `name` is; `count` operands follow in brackets
  vector,     ///< {a, b}: the next `count` operands
  pair,       ///< p|q: the next two operands
  list,       ///< (a, b) of a call: the next `count` operands
  none        ///< _
};
/// Large modules have millions: 16 bytes.
struct PtxOperand {
  PtxOperandKind kind : 4 = PtxOperandKind::none;
  /// Of an address: register_, symbol or none (a number only).
  PtxOperandKind base : 4 = PtxOperandKind::none;
  bool negated : 1 = false;  ///< !p
  uint8_t element : 3 = 0;   ///< 1 to 4: .x to .w of a vector register
  uint16_t count = 0;        ///< parts that follow, those of the parts included
  uint32_t name = kNoIndex;
  int64_t value = 0;
};

/// A row of .loc; inlining is a chain.
struct PtxLocation {
  uint32_t file = 0;  ///< the number of .file
  uint32_t line = 0;
  uint32_t inlined_at = kNoIndex;     ///< index in PtxFunction::locations
  uint32_t function_name = kNoIndex;  ///< of the inlined function: PtxModule::symbols
};

struct PtxInstruction {
  uint32_t opcode = 0;           ///< index in PtxModule::opcodes
  uint32_t line = 0;             ///< in the PTX text
  uint32_t location = kNoIndex;  ///< index in PtxFunction::locations
  uint32_t guard = kNoIndex;     ///< index in PtxFunction::registers
  uint32_t first_operand = 0;    ///< index in PtxFunction::operands
  uint32_t operand_count = 0;    ///< parts included
  bool guard_negated = false;
};

struct PtxRegister {
  std::string_view name;
  PtxTypeName type;
  uint8_t elements = 1;  ///< of .v2 and .v4
};

struct PtxVariable {
  std::string_view name;
  PtxSpace space = PtxSpace::none;
  PtxTypeName type;
  uint32_t align = 0;       ///< bytes; 0: the type's
  uint64_t size = 0;        ///< bytes; 0: extern without a size
  bool is_pointer = false;  ///< a parameter with .ptr
};

struct PtxLabel {
  std::string_view name;
  uint32_t instruction = kNoIndex;  ///< the next one; the number of instructions at the end
  std::vector<uint32_t> targets;    ///< of a .branchtargets list: indexes of labels
};

/// An entry or a function.
struct PtxFunction {
  std::string_view name;
  uint32_t line = 0;
  bool is_entry = false;
  bool has_body = false;
  std::vector<PtxVariable> parameters, results;
  std::vector<PtxVariable> variables;  ///< of the body: shared, local, parameters of calls
  std::vector<PtxRegister> registers;  ///< that instructions name
  std::vector<PtxLabel> labels;
  std::vector<PtxInstruction> instructions;
  std::vector<PtxOperand> operands;
  std::vector<PtxLocation> locations;
  std::array<uint32_t, 3> max_threads{0, 0, 0};       ///< .maxntid; 0: not said
  std::array<uint32_t, 3> required_threads{0, 0, 0};  ///< .reqntid
  uint32_t min_blocks = 0;                            ///< .minnctapersm
  uint32_t max_registers = 0;                         ///< .maxnreg
};

struct PtxFile {
  uint32_t number = 0;
  std::string_view name;
};

struct PtxModule {
  uint32_t version_major = 0, version_minor = 0;
  std::string_view target;  ///< "sm_90"
  uint32_t address_bits = 32;
  std::vector<PtxFile> files;
  std::vector<PtxVariable> variables;  ///< global, constant, shared
  std::vector<PtxFunction> functions;
  std::vector<PtxOpcode> opcodes;
  std::vector<std::string_view> symbols;

  /// By exact name, one with a body where there are several; or null.
  const PtxFunction* find(std::string_view name) const;
  std::string_view file_name(uint32_t number) const;  ///< empty where there is none
};

/// Reads a whole module. `file` is for messages only. Everything is checked, but of functions that
/// `keep` refuses the body is not kept, which saves memory in large modules.
/// Errors: "k.ptx:12: expected ..., found ...".
Result<PtxModule> parse_ptx(std::string_view text, const std::string& file,
                            const std::function<bool(const PtxFunction&)>& keep = {});

}  // namespace fathom
