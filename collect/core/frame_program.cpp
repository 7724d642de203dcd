#include "core/frame_program.h"

#include <limits>

namespace fathom::collect {

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
      set(operand,
          {Rule::saved, Recipe::Base::cfa, static_cast<int64_t>(in.uleb()) * alignment_.data});
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
  const auto at_cfa = [](int64_t offset) { return Place{Rule::saved, Recipe::Base::cfa, offset}; };
  if (code == 0x0e || code == 0x13) {  // def_cfa_offset, def_cfa_offset_sf
    state_.cfa_offset = code == 0x0e ? static_cast<int64_t>(in.uleb()) : scaled(in.sleb());
    return state_.cfa_known;
  }
  if (code == 0x0f) {  // def_cfa_expression
    const Value value = evaluate(in);
    state_.cfa_known = value.known && !value.constant;
    state_.cfa_in_memory = value.in_memory;
    state_.cfa_base = value.base;
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
      set(reg, usable ? Place{Rule::saved, value.base, value.offset} : Place{Rule::lost});
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
  state_.cfa_known = reg == kStackPointer || reg == kFramePointer;
  state_.cfa_in_memory = false;
  state_.cfa_base = reg == kFramePointer ? Recipe::Base::fp : Recipe::Base::sp;
  state_.cfa_offset = offset;
  return true;
}

void FrameProgram::set(uint64_t reg, Place place) {
  if (reg == kReturnAddress) state_.return_address = place;
  if (reg == kFramePointer) state_.frame_pointer = place;
}

void FrameProgram::restore(uint64_t reg) {
  if (reg == kReturnAddress) state_.return_address = initial_.return_address;
  if (reg == kFramePointer) state_.frame_pointer = initial_.frame_pointer;
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
      Value value{true, false, reg == kReturnAddress,
                  reg == kFramePointer ? Recipe::Base::fp : Recipe::Base::sp, expression.sleb()};
      if (value.constant) value.offset += static_cast<int64_t>(pc_);
      value.known = value.constant || reg == kStackPointer || reg == kFramePointer;
      stack[depth++] = value;
    } else if (code >= 0x30 && code <= 0x4f) {  // litN
      if (depth == stack.size()) return {};
      stack[depth++] = {true, false, true, Recipe::Base::sp, code - 0x30};
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
  const auto fits = [](int64_t offset) {
    return offset >= std::numeric_limits<int32_t>::min() &&
           offset <= std::numeric_limits<int32_t>::max();
  };
  Recipe out;
  if (state_.return_address.rule == Rule::undefined) {
    out.kind = Recipe::Kind::end;
    return out;
  }
  const auto& fp = state_.frame_pointer;
  if (!state_.cfa_known || state_.return_address.rule != Rule::saved || !fits(state_.cfa_offset) ||
      !fits(state_.return_address.offset) || !fits(fp.offset))
    return out;
  out.kind = Recipe::Kind::frame;
  out.cfa_base = state_.cfa_base;
  out.cfa_in_memory = state_.cfa_in_memory;
  out.cfa_offset = static_cast<int32_t>(state_.cfa_offset);
  out.ra_base = state_.return_address.base;
  out.ra_offset = static_cast<int32_t>(state_.return_address.offset);
  out.fp_rule = fp.rule == Rule::saved  ? Recipe::FramePointer::saved
                : fp.rule == Rule::same ? Recipe::FramePointer::same
                                        : Recipe::FramePointer::lost;
  out.fp_base = fp.base;
  out.fp_offset = static_cast<int32_t>(fp.offset);
  return out;
}

}  // namespace fathom::collect
