#include "core/frame_program.h"

#include <limits>

namespace fathom::collect {
namespace {

/// From the register numbers of the System V ABI for x86-64 (figure 3.36).
Base base_of(uint64_t reg) {
  switch (reg) {
    case 3:
      return Base::rbx;
    case 6:
      return Base::rbp;
    case 7:
      return Base::rsp;
    case 10:
      return Base::r10;
    case 12:
    case 13:
    case 14:
    case 15:
      return static_cast<Base>(static_cast<uint64_t>(Base::r12) + reg - 12);
    default:
      return Base::none;
  }
}

}  // namespace

uint64_t FrameReader::uleb() {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    const uint8_t byte = u8();
    if (failed_) return 0;
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    if ((byte & 0x80) == 0) return value;
  }
}

int64_t FrameReader::sleb() {
  uint64_t value = 0;
  for (unsigned shift = 0;;) {
    const uint8_t byte = u8();
    if (failed_) return 0;
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    shift += 7;
    if ((byte & 0x80) != 0) continue;
    if (shift < 64 && (byte & 0x40) != 0) value |= ~uint64_t(0) << shift;
    return static_cast<int64_t>(value);
  }
}

uintptr_t FrameReader::pointer(uint8_t encoding) {
  const uintptr_t here = position_;
  uint64_t value = 0;
  switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
      value = u64();
      break;
    case 0x01:
      value = uleb();
      break;
    case 0x02:
      value = u16();
      break;
    case 0x03:
      value = u32();
      break;
    case 0x09:
      value = static_cast<uint64_t>(sleb());
      break;
    case 0x0a:
      value = static_cast<uint64_t>(static_cast<int16_t>(u16()));
      break;
    case 0x0b:
      value = static_cast<uint64_t>(static_cast<int32_t>(u32()));
      break;
    default:
      fail();
  }
  if ((encoding & 0x70) == 0x10) value += here;  // relative to its own place
  return value;
}

const char* FrameReader::c_string() {
  const auto* text = reinterpret_cast<const char*>(position_);
  while (u8() != 0) {
  }
  return failed_ ? nullptr : text;
}

bool FrameProgram::run(MemoryRange instructions, bool initial) {
  FrameReader in(instructions, instructions.low);
  while (!in.at_end() && location_ <= pc_) {
    if (!step(in) || in.failed()) return false;
  }
  if (initial) initial_ = state_;
  return true;
}

bool FrameProgram::step(FrameReader& in) {
  const uint8_t code = in.u8(), operand = code & 0x3f;
  switch (code & 0xc0) {
    case 0x40:
      advance(operand);
      return true;
    case 0x80:
      set(operand, saved(Base::cfa, static_cast<int64_t>(in.uleb()) * alignment_.data));
      return true;
    case 0xc0:
      restore(operand);
      return true;
  }
  // The rules of the next row are not wanted once the location has passed the address; an advance
  // is the only way to pass it, so everything else may be applied at once.
  switch (code) {
    case 0x00:
      return true;  // nop
    case 0x02:
      advance(in.u8());
      return true;  // advance_loc1
    case 0x03:
      advance(in.u16());
      return true;  // advance_loc2
    case 0x04:
      advance(in.u32());
      return true;  // advance_loc4
    case 0x06:
      restore(in.uleb());
      return true;  // restore_extended
    case 0x0a:      // remember_state
      if (remembered_count_ == remembered_.size()) return false;
      remembered_[remembered_count_++] = state_;
      return true;
    case 0x0b:  // restore_state
      if (remembered_count_ == 0) return false;
      state_ = remembered_[--remembered_count_];
      return true;
    case 0x2e:
      in.uleb();
      return true;  // GNU_args_size
  }
  return step_extended(code, in);
}

bool FrameProgram::step_extended(uint8_t code, FrameReader& in) {
  const auto scaled = [this](int64_t factor) { return factor * alignment_.data; };
  const auto at_cfa = [](int64_t offset) { return saved(Base::cfa, offset); };
  if (code == 0x0e || code == 0x13) {  // def_cfa_offset, def_cfa_offset_sf
    state_.cfa_offset = code == 0x0e ? static_cast<int64_t>(in.uleb()) : scaled(in.sleb());
    return state_.cfa_base != Base::none;
  }
  if (code == 0x0f) {  // def_cfa_expression
    const Value value = evaluate(in);
    state_.cfa_base = value.known && !value.constant ? value.base : Base::none;
    state_.cfa_in_memory = value.in_memory;
    state_.cfa_offset = value.offset;
    return true;
  }
  const uint64_t reg = in.uleb();
  switch (code) {
    case 0x05:
      set(reg, at_cfa(scaled(static_cast<int64_t>(in.uleb()))));
      return true;
    case 0x07:
      set(reg, {Rule::undefined});
      return true;
    case 0x08:
      set(reg, {Rule::same});
      return true;
    case 0x09:
      in.uleb();
      set(reg, {Rule::lost});
      return true;  // register
    case 0x0c:
      return set_cfa(reg, static_cast<int64_t>(in.uleb()));
    case 0x0d:
      return set_cfa(reg, state_.cfa_offset);
    case 0x10: {  // expression
      const Value value = evaluate(in);
      const bool usable = value.known && !value.in_memory && !value.constant;
      set(reg, usable ? saved(value.base, value.offset) : Place{Rule::lost});
      return true;
    }
    case 0x11:
      set(reg, at_cfa(scaled(in.sleb())));
      return true;
    case 0x12:
      return set_cfa(reg, scaled(in.sleb()));
    case 0x14:
      in.uleb();
      set(reg, {Rule::lost});
      return true;  // val_offset
    case 0x15:
      in.sleb();
      set(reg, {Rule::lost});
      return true;  // val_offset_sf
    case 0x16:
      evaluate(in);
      set(reg, {Rule::lost});
      return true;  // val_expression
    case 0x2f:
      set(reg, at_cfa(-scaled(static_cast<int64_t>(in.uleb()))));
      return true;
    default:
      return false;
  }
}

bool FrameProgram::set_cfa(uint64_t reg, int64_t offset) {
  state_.cfa_in_memory = false;
  state_.cfa_base = base_of(reg);
  state_.cfa_offset = offset;
  return true;
}

FrameProgram::Place FrameProgram::saved(Base base, int64_t offset) {
  constexpr int64_t kLimit = Recipe::Place::kLimit;
  if (offset < -kLimit || offset >= kLimit) return {Rule::lost};
  return {Rule::saved, base, static_cast<int32_t>(offset)};
}

/// Null: a register that no CFA depends on.
FrameProgram::Place* FrameProgram::place(State& state, uint64_t reg) {
  if (reg == kReturnAddress) return &state.return_address;
  const Base base = base_of(reg);
  return base == Base::none ? nullptr : &state.registers[static_cast<size_t>(base)];
}

void FrameProgram::set(uint64_t reg, Place rule) {
  if (Place* to = place(state_, reg)) *to = rule;
}

void FrameProgram::restore(uint64_t reg) {
  if (Place* to = place(state_, reg)) *to = *place(initial_, reg);
}

/// Register + offset, optionally dereferenced at the end, and the arithmetic on the address itself
/// that linkers emit for procedure linkage tables.
FrameProgram::Value FrameProgram::evaluate(FrameReader& in) const {
  const uint64_t size = in.uleb();
  const MemoryRange bytes{in.position(), in.position() + size};
  in.seek(in.position() + size);
  if (in.failed()) return {};
  FrameReader expression(bytes, bytes.low);
  std::array<Value, 8> stack{};
  size_t depth = 0;
  while (!expression.at_end()) {
    const uint8_t code = expression.u8();
    if (code >= 0x70 && code <= 0x8f) {  // bregN
      if (depth == stack.size()) return {};
      const uint64_t reg = code - 0x70u;
      Value value{true, false, reg == kReturnAddress, base_of(reg), expression.sleb()};
      if (value.constant) value.offset += static_cast<int64_t>(pc_);
      value.known = value.constant || value.base != Base::none;
      stack[depth++] = value;
    } else if (code >= 0x30 && code <= 0x4f) {  // litN
      if (depth == stack.size()) return {};
      stack[depth++] = {true, false, true, Base::none, code - 0x30};
    } else if (depth >= 1 && code == 0x06 && !stack[depth - 1].constant &&
               !stack[depth - 1].in_memory) {  // deref
      stack[depth - 1].in_memory = true;
    } else if (depth >= 1 && code == 0x23 && !stack[depth - 1].in_memory) {  // plus_uconst
      stack[depth - 1].offset += static_cast<int64_t>(expression.uleb());
    } else if (depth >= 2 && stack[depth - 1].constant && !stack[depth - 2].in_memory) {
      const int64_t right = stack[--depth].offset;
      Value& left = stack[depth - 1];
      if (code == 0x22)
        left.offset += right;  // plus
      else if (code == 0x1a && left.constant)
        left.offset &= right;  // and
      else if (code == 0x2a && left.constant)
        left.offset = left.offset >= right;                                // ge
      else if (code == 0x24 && left.constant && right >= 0 && right < 63)  // shl
        left.offset = static_cast<int64_t>(static_cast<uint64_t>(left.offset) << right);
      else
        return {};
    } else {
      return {};
    }
  }
  return depth == 1 && !expression.failed() ? stack[0] : Value{};
}

Recipe FrameProgram::recipe() const {
  Recipe out;
  const Place& ra = state_.return_address;
  if (ra.rule == Rule::undefined) {
    out.kind = Recipe::Kind::end;
    return out;
  }
  if (state_.cfa_base == Base::none || ra.rule != Rule::saved ||
      state_.cfa_offset < std::numeric_limits<int32_t>::min() ||
      state_.cfa_offset > std::numeric_limits<int32_t>::max())
    return out;
  out.kind = Recipe::Kind::frame;
  out.cfa_base = state_.cfa_base;
  out.cfa_in_memory = state_.cfa_in_memory;
  out.cfa_offset = static_cast<int32_t>(state_.cfa_offset);
  const auto recipe_place = [](const Place& from, Base reg) {
    Recipe::Place to{};
    to.offset = from.offset;  // saved() has seen to the range
    to.base = from.rule == Rule::saved ? from.base : Base::none;
    to.reg = reg;
    return to;
  };
  out.return_address = recipe_place(ra, Base::none);
  static_assert(Base::rsp < Base::rbp && Base::rbp < Base::rbx);
  for (size_t i = static_cast<size_t>(Base::rbp); i < kRegisters; ++i)
    if (state_.registers[i].rule != Rule::same)
      out.saved[out.saved_count++] = recipe_place(state_.registers[i], static_cast<Base>(i));
  out.saves_rbp = out.saved_count > 0 && out.saved[0].reg == Base::rbp;
  const auto beyond_rbp = [](Base base) { return base > Base::rbp && base < Base::cfa; };
  out.beyond_rbp = beyond_rbp(out.cfa_base) || beyond_rbp(out.return_address.base) ||
                   (out.saves_rbp && beyond_rbp(out.saved[0].base));
  return out;
}

}  // namespace fathom::collect
