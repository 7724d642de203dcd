#pragma once

#include <array>
#include <cstdint>
#include <cstring>

#include "core/eh_frame.h"

namespace fathom::collect {

/// Reads unwind tables in memory without leaving a range; after an overrun it yields zeros.
class FrameReader {
 public:
  FrameReader(MemoryRange range, uintptr_t position) : range_(range), position_(position) {
    seek(position);
  }

  uint8_t u8() { return read<uint8_t>(); }
  uint16_t u16() { return read<uint16_t>(); }
  uint32_t u32() { return read<uint32_t>(); }
  uint64_t u64() { return read<uint64_t>(); }
  uint64_t uleb();
  int64_t sleb();
  /// A pointer in one of the encodings of .eh_frame; an unknown one fails.
  uintptr_t pointer(uint8_t encoding);
  /// Null if the terminator is missing.
  const char* c_string();

  MemoryRange range() const { return range_; }
  uintptr_t position() const { return position_; }
  bool at_end() const { return position_ >= range_.high; }
  bool failed() const { return failed_; }
  void seek(uintptr_t position) {
    if (range_.contains(position, 0)) {
      position_ = position;
    } else {
      fail();
    }
  }
  void fail() {
    failed_ = true;
    position_ = range_.high;
  }

 private:
  template <class T>
  T read() {
    T value{};
    if (!range_.contains(position_, sizeof(T))) {
      fail();
      return value;
    }
    std::memcpy(&value, reinterpret_cast<const void*>(position_), sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  MemoryRange range_;
  uintptr_t position_;
  bool failed_ = false;
};

/// Runs call frame instructions (DWARF 4, section 6.4.2) up to one address and keeps what a Recipe
/// needs: the rules for the CFA, the return address and the registers that a CFA can depend on.
class FrameProgram {
 public:
  // Register numbers of the System V ABI for x86-64 (figure 3.36).
  static constexpr uint64_t kReturnAddress = 16;

  struct Alignment {
    uint64_t code = 1;
    int64_t data = 1;
  };

  FrameProgram(Alignment alignment, uintptr_t begin, uintptr_t pc)
      : alignment_(alignment), location_(begin), pc_(pc) {}

  /// False if an instruction is not understood. `initial`: the instructions of the CIE, whose rules
  /// DW_CFA_restore goes back to.
  bool run(MemoryRange instructions, bool initial);
  Recipe recipe() const;

 private:
  enum class Rule : uint8_t { same, undefined, saved, lost };
  struct Place {
    Rule rule = Rule::same;
    Base base = Base::none;
    int32_t offset = 0;
  };
  struct State {
    Base cfa_base = Base::none;  ///< none: not known
    bool cfa_in_memory = false;
    int64_t cfa_offset = 0;
    Place return_address;
    Place registers[kRegisters];
  };
  struct Value {  ///< of an expression: a register plus an offset, or the word stored there
    bool known = false, in_memory = false, constant = false;
    Base base = Base::none;
    int64_t offset = 0;
  };

  bool step(FrameReader& in);
  bool step_extended(uint8_t code, FrameReader& in);
  bool set_cfa(uint64_t reg, int64_t offset);
  static Place saved(Base base, int64_t offset);
  static Place* place(State& state, uint64_t reg);
  void set(uint64_t reg, Place rule);
  void restore(uint64_t reg);
  void advance(uint64_t delta) { location_ += delta * alignment_.code; }
  Value evaluate(FrameReader& in) const;

  Alignment alignment_;
  uintptr_t location_, pc_;
  State state_, initial_;
  std::array<State, 16> remembered_;
  size_t remembered_count_ = 0;
};

}  // namespace fathom::collect
