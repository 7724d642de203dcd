#include "prediction/ptx_lowering.h"

#include <algorithm>
#include <bit>

#include "base/text.h"

namespace fathom {
namespace {

class Lowering {
 public:
  Lowering(const PtxFrame& frame, const PtxInstruction& in, ParameterBlock& parameters)
      : frame_(frame), in_(in), op_(frame.module.opcodes[in.opcode]), parameters_(parameters) {
    for (uint32_t i = 0; i < in.operand_count;) {
      const PtxOperand& operand = frame.function.operands[in.first_operand + i];
      top_.push_back(&operand);
      i += 1u + operand.count;
    }
    if (!op_.types.empty()) type_ = op_.types.back();
    step_.wide = type_.bits == 64;
    step_.is_signed = type_.kind == PtxType::s;
    step_.is_double = step_.wide;
  }

  Step lower() {
    if (in_.guard != kNoIndex) step_.guard = {frame_.register_slots[in_.guard], in_.guard_negated};
    const std::string_view base = op_.base();
    const bool done = flow(base) || memory(base) || predicates(base) || moves(base) ||
                      floats(base) || integers(base);
    if (!done) opaque();
    return step_;
  }

 private:
  bool is_float() const {
    return type_.kind == PtxType::f || type_.kind == PtxType::bf || type_.kind == PtxType::tf;
  }

  const PtxOperand* operand(size_t index) const {
    return index < top_.size() ? top_[index] : nullptr;
  }
  const PtxRegister* register_of(const PtxOperand& operand) const {
    return operand.kind == PtxOperandKind::register_ ? &frame_.function.registers[operand.name]
                                                     : nullptr;
  }
  int16_t slot_of(const PtxOperand& operand) const {
    const int16_t slot = frame_.register_slots[operand.name];
    if (operand.element == 0) return slot;
    const uint32_t size = std::max(1u, frame_.function.registers[operand.name].type.bits / 32u);
    return static_cast<int16_t>(slot + static_cast<int16_t>((operand.element - 1u) * size));
  }

  Source source_of(const PtxOperand& operand, bool wide) const {
    Source source;
    source.wide = wide;
    switch (operand.kind) {
      case PtxOperandKind::register_:
        source.slot = slot_of(operand);
        source.negated = operand.negated;
        source.wide = frame_.function.registers[operand.name].type.bits == 64;
        break;
      case PtxOperandKind::integer:
        source.value = static_cast<uint64_t>(operand.value);
        break;
      case PtxOperandKind::real: {
        const auto value = std::bit_cast<double>(operand.value);
        source.value = type_.bits == 64 ? std::bit_cast<uint64_t>(value)
                                        : std::bit_cast<uint32_t>(static_cast<float>(value));
        break;
      }
      case PtxOperandKind::symbol: {
        const auto found = frame_.addresses->find(frame_.module.symbols[operand.name]);
        source.wide = true;
        source.unknown = found == frame_.addresses->end();
        source.value = (source.unknown ? 0 : found->second) + static_cast<uint64_t>(operand.value);
        break;
      }
      default:
        source.unknown = true;
    }
    return source;
  }
  void source(size_t to, size_t from) {
    const PtxOperand* each = operand(from);
    if (each) step_.sources[to] = source_of(*each, step_.wide);
  }
  PredicateSource predicate_of(const PtxOperand& operand) const {
    if (operand.kind == PtxOperandKind::register_)
      return {frame_.register_slots[operand.name], operand.negated};
    return {-1, operand.value == 0};
  }

  void result(size_t index) {
    const PtxOperand* out = operand(index);
    if (!out) return;
    if (out->kind == PtxOperandKind::pair) {
      result_operand(out[1]);
      result_operand(out[2]);
    } else {
      result_operand(*out);
    }
  }
  void result_operand(const PtxOperand& out) {
    const PtxRegister* reg = register_of(out);
    if (!reg) return;
    if (reg->type.kind == PtxType::pred) {
      (step_.result_predicates[0] < 0 ? step_.result_predicates[0] : step_.result_predicates[1]) =
          slot_of(out);
      return;
    }
    step_.result = slot_of(out);
    step_.wide = reg->type.bits == 64;
    step_.result_slots = static_cast<uint8_t>(std::max(1u, reg->type.bits / 32u));
  }

  void opaque() {
    step_.op = Op::opaque;
    step_.op_class = op_.base() == "mma" || op_.base() == "wmma" || op_.base() == "wgmma"
                         ? OpClass::tensor
                         : OpClass::other;
    size_t count = 0;
    const PtxOperand* first = operand(0);
    if (first && first->kind == PtxOperandKind::vector) {
      vector_result(*first);
    } else {
      result(0);
    }
    for (uint32_t i = 1; i < in_.operand_count; ++i) {
      const PtxOperand& each = frame_.function.operands[in_.first_operand + i];
      const PtxRegister* reg = register_of(each);
      if (reg && reg->type.kind != PtxType::pred && count < step_.sources.size())
        step_.sources[count++] = source_of(each, false);
    }
  }
  /// Parts of a vector rarely lie in order; those that do are the result.
  void vector_result(const PtxOperand& vector) {
    for (uint32_t i = 1; i <= vector.count; ++i) {
      const PtxOperand& part = (&vector)[i];
      const PtxRegister* reg = register_of(part);
      if (!reg || reg->type.kind == PtxType::pred) continue;
      const int16_t slot = slot_of(part);
      const auto size = static_cast<uint8_t>(std::max(1u, reg->type.bits / 32u));
      if (step_.result == kNoSlot) {
        step_.result = slot;
        step_.result_slots = size;
      } else if (slot == step_.result + step_.result_slots) {
        step_.result_slots = static_cast<uint8_t>(step_.result_slots + size);
      }
    }
  }

  bool flow(std::string_view base) {
    if (base == "bra" || base == "brx") {
      step_.op = Op::branch;
      step_.op_class = OpClass::control;
      step_.flow = base == "bra" ? Flow::branch : Flow::indirect_branch;
      const PtxOperand* label = operand(base == "bra" ? 0 : 1);
      if (base == "bra" && label && label->kind == PtxOperandKind::label)
        step_.target = label->name;
      if (base == "brx" && label && label->kind == PtxOperandKind::label)
        step_.table_targets = frame_.function.labels[label->name].targets;
    } else if (base == "call") {
      step_.op = Op::call;
      step_.flow = Flow::call;
      step_.op_class = OpClass::control;
    } else if (base == "ret" || base == "exit" || base == "trap") {
      const bool leaves = base != "ret" || frame_.is_entry;
      step_.op = leaves ? Op::exit : Op::return_;
      step_.flow = leaves ? Flow::exit : Flow::return_;
      step_.op_class = OpClass::control;
    } else if (base == "bar" || base == "barrier") {
      step_.op = op_.has("arrive") ? Op::nothing : Op::barrier;
      step_.op_class = OpClass::barrier;
      if (op_.has("cluster")) step_.op = Op::nothing;
    } else if (base == "membar" || base == "fence" || base == "nanosleep" || base == "prefetch" ||
               base == "prefetchu") {
      step_.op_class = OpClass::control;
    } else {
      return false;
    }
    return true;
  }

  bool memory(std::string_view base) {
    const bool loads = base == "ld" || base == "ldu", stores = base == "st",
               atomics = base == "atom" || base == "red";
    const bool copies = base == "cp" && op_.has("async") && top_.size() >= 2;
    if (!loads && !stores && !atomics && !copies) return false;
    step_.space = op_.has("shared") || op_.has("shared::cta") ? MemorySpace::shared
                  : op_.has("local")                          ? MemorySpace::local
                  : op_.has("const")                          ? MemorySpace::constant
                                                              : MemorySpace::global;
    if (copies) step_.space = MemorySpace::global;
    const uint32_t parts = op_.has("v4") ? 4 : op_.has("v2") ? 2 : op_.has("v8") ? 8 : 1;
    step_.bytes = static_cast<uint8_t>(std::max(1u, type_.bits / 8u) * parts);
    const PtxOperand* address = nullptr;
    for (const PtxOperand* each : top_)
      if (each->kind == PtxOperandKind::address) address = copies || !address ? each : address;
    if (!address) return false;
    if (op_.has("param") && parameter(*address, loads)) return true;
    step_.op = loads ? Op::load : stores ? Op::store : atomics ? Op::atomic : Op::asynchronous_copy;
    step_.op_class = loads     ? OpClass::load
                     : stores  ? OpClass::store
                     : atomics ? OpClass::atomic
                               : OpClass::asynchronous_copy;
    step_.no_result_wait = base == "red";
    step_.bypasses_l1 =
        op_.has("volatile") || op_.has("relaxed") || op_.has("acquire") || op_.has("cg");
    if (copies) step_.bytes = op_.has("bulk") ? 16 : copy_bytes();
    step_.offset = address->value;
    PtxOperand base_operand = *address;
    base_operand.kind = address->base;
    base_operand.value = 0;
    if (address->base != PtxOperandKind::none) step_.sources[0] = source_of(base_operand, true);
    if (loads || base == "atom") {
      const PtxOperand* first = operand(0);
      if (first->kind == PtxOperandKind::vector) {
        vector_result(*first);
      } else {
        result(0);
      }
    }
    if (stores && top_.size() > 1) {
      const PtxOperand* data =
          top_[1]->kind == PtxOperandKind::vector && top_[1]->count > 0 ? top_[1] + 1 : top_[1];
      step_.sources[3] = source_of(*data, type_.bits == 64);
    }
    return true;
  }
  uint8_t copy_bytes() const {
    const PtxOperand* size = operand(2);
    return static_cast<uint8_t>(size && size->kind == PtxOperandKind::integer
                                    ? std::clamp<int64_t>(size->value, 4, 16)
                                    : 16);
  }

  /// Parameters of the kernel are constants; those of functions are registers.
  bool parameter(const PtxOperand& address, bool loads) {
    if (address.base != PtxOperandKind::symbol) return false;
    const std::string_view name = frame_.module.symbols[address.name];
    const auto slot = frame_.variable_slots.find(name);
    step_.op = Op::move;
    step_.space = MemorySpace::none;
    step_.op_class = OpClass::move;
    Source inside;
    inside.wide = type_.bits == 64;
    if (slot != frame_.variable_slots.end())
      inside.slot = static_cast<int16_t>(slot->second + static_cast<int16_t>(address.value / 4));
    if (!loads) {
      const bool vector =
          top_.size() > 1 && top_[1]->kind == PtxOperandKind::vector && top_[1]->count > 0;
      step_.result = inside.slot;
      step_.wide = inside.wide;
      step_.result_slots = inside.wide ? 2 : 1;
      if (top_.size() > 1) step_.sources[0] = source_of(vector ? top_[1][1] : *top_[1], step_.wide);
      return true;
    }
    const PtxOperand* to = operand(0);
    result_operand(to->kind == PtxOperandKind::vector && to->count > 0 ? to[1] : *to);
    if (slot == frame_.variable_slots.end()) {
      inside.value = parameters_.read(offset_of(name) + static_cast<uint32_t>(address.value),
                                      std::max(1u, type_.bits / 8u));
      if (step_.is_signed && type_.bits < 32 && inside.value >> (type_.bits - 1) & 1)
        inside.value |= ~uint64_t{0} << type_.bits;
    }
    step_.sources[0] = inside;
    return true;
  }
  uint32_t offset_of(std::string_view name) const {
    const auto& list = frame_.function.parameters;
    for (size_t i = 0; i < list.size() && i < parameters_.parameters().size(); ++i)
      if (list[i].name == name) return parameters_.parameters()[i].offset;
    return 0;
  }

  static bool compare_of(std::string_view name, Compare& out) {
    static const std::map<std::string_view, Compare> kNames = {
        {"lt", Compare::lt},  {"le", Compare::le},  {"gt", Compare::gt},  {"ge", Compare::ge},
        {"eq", Compare::eq},  {"ne", Compare::ne},  {"lo", Compare::lt},  {"ls", Compare::le},
        {"hi", Compare::gt},  {"hs", Compare::ge},  {"ltu", Compare::lt}, {"leu", Compare::le},
        {"gtu", Compare::gt}, {"geu", Compare::ge}, {"equ", Compare::eq}, {"neu", Compare::ne}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) return false;
    out = found->second;
    return true;
  }

  bool predicates(std::string_view base) {
    if (base == "setp") {
      if (op_.pieces.size() < 2 || !compare_of(op_.pieces[1], step_.compare)) return false;
      const bool wide = step_.wide;
      step_.op = is_float() ? Op::float_compare : Op::compare;
      step_.op_class = is_float() ? OpClass::fp32 : OpClass::integer;
      if (type_.bits == 16 && is_float()) return false;
      step_.logic = op_.has("or") ? Logic::or_ : op_.has("xor") ? Logic::xor_ : Logic::and_;
      result(0);
      step_.wide = wide;
      source(0, 1);
      source(1, 2);
      if (const PtxOperand* other = operand(3)) step_.predicates[0] = predicate_of(*other);
      return true;
    }
    if (type_.kind != PtxType::pred || !op_.has("pred")) return false;
    step_.op = Op::predicate_logic;
    step_.op_class = OpClass::predicate;
    step_.table = base == "and"   ? 0xc0
                  : base == "or"  ? 0xfc
                  : base == "xor" ? 0x3c
                  : base == "not" ? 0x0f
                                  : 0xf0;
    result(0);
    for (size_t i = 1; i < top_.size() && i < 3; ++i)
      step_.predicates[i - 1] = predicate_of(*top_[i]);
    return true;
  }

  static Special special_of(std::string_view name, uint8_t element) {
    static const std::map<std::string_view, Special> kNames = {
        {"%tid", Special::tid_x},
        {"%ctaid", Special::ctaid_x},
        {"%ntid", Special::ntid_x},
        {"%nctaid", Special::nctaid_x},
        {"%laneid", Special::lane},
        {"%warpid", Special::warp},
        {"%lanemask_eq", Special::lane_mask_eq},
        {"%lanemask_lt", Special::lane_mask_lt},
        {"%lanemask_le", Special::lane_mask_le},
        {"%lanemask_gt", Special::lane_mask_gt},
        {"%lanemask_ge", Special::lane_mask_ge}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) return Special::other;
    const uint8_t offset = element > 0 ? static_cast<uint8_t>(element - 1) : 0;
    return static_cast<Special>(static_cast<uint8_t>(found->second) + offset);
  }

  bool moves(std::string_view base) {
    const PtxOperand* from = operand(1);
    if (base == "mov" && from && from->kind == PtxOperandKind::special) {
      result(0);
      step_.op = Op::special;
      step_.op_class = OpClass::special_register;
      step_.special = special_of(frame_.module.symbols[from->name], from->element);
    } else if ((base == "mov" || base == "cvta") && from && from->kind != PtxOperandKind::vector &&
               operand(0)->kind == PtxOperandKind::register_) {
      result(0);
      if (step_.result == kNoSlot) return false;
      step_.op = Op::move;
      step_.op_class = OpClass::move;
      source(0, 1);
    } else if (base == "selp") {
      result(0);
      step_.op = Op::select;
      source(0, 1);
      source(1, 2);
      if (const PtxOperand* p = operand(3)) step_.predicates[0] = predicate_of(*p);
    } else if (base == "shfl") {
      result(0);
      step_.op = Op::shuffle;
      step_.op_class = OpClass::shuffle;
      step_.amount = op_.has("up") ? 1 : op_.has("down") ? 2 : op_.has("bfly") ? 3 : 0;
      source(0, 1);
      source(1, 2);
    } else if (base == "vote") {
      result(0);
      step_.op = Op::vote;
      step_.op_class = OpClass::shuffle;
      step_.amount = op_.has("all") ? 1 : op_.has("uni") ? 2 : 0;
      if (from) step_.predicates[0] = predicate_of(*from);
    } else if (base == "cvt") {
      return conversion();
    } else {
      return false;
    }
    return true;
  }

  bool conversion() {
    if (op_.types.size() < 2) return false;
    const PtxTypeName to = op_.types[0], from = op_.types[1];
    const bool to_float = to.kind == PtxType::f, from_float = from.kind == PtxType::f;
    if ((to_float && to.bits == 16) || (from_float && from.bits == 16)) return false;
    result(0);
    step_.is_signed = (from_float ? to : from).kind == PtxType::s;
    step_.amount = op_.has("rmi") ? 1 : op_.has("rpi") ? 2 : op_.has("rzi") ? 3 : 0;
    source(0, 1);
    step_.op_class = OpClass::conversion;
    step_.high = op_.has("rmi") || op_.has("rpi") || op_.has("rzi") || op_.has("rni");
    if (to_float && from_float)
      return step_.is_double = from.bits == 64, step_.op = Op::float_to_float, true;
    if (to_float) return step_.is_double = to.bits == 64, step_.op = Op::int_to_float, true;
    if (from_float) return step_.is_double = from.bits == 64, step_.op = Op::float_to_int, true;
    // Between integers: cut off, then widened by the narrower of both.
    step_.op_class = OpClass::integer;
    step_.op = Op::bit_field;
    const uint8_t bits = std::min(to.bits, from.bits);
    step_.is_signed = (from.bits <= to.bits ? from : to).kind == PtxType::s;
    step_.sources[1].value = uint64_t{bits} << 8;
    return true;
  }

  bool floats(std::string_view base) {
    if (!is_float() || type_.bits == 16 || op_.has("f16x2") || op_.has("bf16x2")) return false;
    step_.op_class = type_.bits == 64 ? OpClass::fp64 : OpClass::fp32;
    static const std::map<std::string_view, Op> kNames = {
        {"add", Op::float_add},          {"sub", Op::float_add},
        {"mul", Op::float_multiply},     {"fma", Op::float_multiply_add},
        {"mad", Op::float_multiply_add}, {"min", Op::float_minimum},
        {"max", Op::float_minimum},      {"rcp", Op::reciprocal},
        {"neg", Op::float_add},          {"abs", Op::float_add},
        {"div", Op::float_divide},       {"sqrt", Op::float_root}};
    const auto found = kNames.find(base);
    result(0);
    step_.op = found == kNames.end() ? Op::float_other : found->second;
    for (size_t i = 0; i < 3; ++i) source(i, i + 1);
    if (base == "sub") step_.sources[1].negated = !step_.sources[1].negated;
    if (base == "neg") step_.sources[0].negated = true;
    if (base == "abs") step_.sources[0].absolute = true;
    if (base == "max") step_.predicates[0] = {-1, true};
    return true;
  }

  bool integers(std::string_view base) {
    static const std::map<std::string_view, Op> kNames = {
        {"add", Op::add},          {"sub", Op::add},
        {"addc", Op::add},         {"mul", Op::multiply_add},
        {"mad", Op::multiply_add}, {"div", Op::divide},
        {"rem", Op::remainder},    {"and", Op::logic},
        {"or", Op::logic},         {"xor", Op::logic},
        {"not", Op::logic},        {"lop3", Op::logic},
        {"shl", Op::shift_left},   {"shr", Op::shift_right},
        {"shf", Op::funnel},       {"min", Op::minimum},
        {"max", Op::minimum},      {"abs", Op::absolute_value},
        {"neg", Op::add},          {"bfe", Op::bit_field},
        {"prmt", Op::permute},     {"popc", Op::population_count},
        {"clz", Op::leading_bit},  {"bfind", Op::leading_bit},
        {"brev", Op::reverse_bits}};
    const auto found = kNames.find(base);
    if (found == kNames.end() || is_float()) return false;
    step_.op = found->second;
    step_.op_class = step_.op == Op::multiply_add ? OpClass::integer_multiply : OpClass::integer;
    const bool sources_wide = type_.bits == 64;
    result(0);
    for (size_t i = 0; i < 3; ++i) source(i, i + 1);
    (void)sources_wide;
    if (base == "sub") step_.sources[1].negated = true;
    if (base == "neg") step_.sources[0].negated = true;
    if (base == "max") step_.predicates[0] = {-1, true};
    if (base == "clz") step_.is_signed = false;
    if (step_.op == Op::leading_bit) step_.high = base == "clz" || op_.has("shiftamt");
    if (step_.op == Op::multiply_add) {
      step_.high = op_.has("hi");
      if (op_.has("wide")) step_.sources[2].wide = true;
    }
    if (step_.op == Op::bit_field) return bit_field();
    if (step_.op == Op::funnel) {
      // shf.l low, high, amount: the upper word of what is shifted; .r: the lower one.
      std::swap(step_.sources[1], step_.sources[2]);
      step_.amount = 64;
      step_.extended = op_.has("wrap");
      step_.takes_minimum = op_.has("l");
      step_.high = step_.takes_minimum;
    }
    if (step_.op == Op::logic) {
      step_.table = base == "and" ? 0xc0 : base == "or" ? 0xfc : base == "xor" ? 0x3c : 0x0f;
      const PtxOperand* table = operand(4);
      if (base == "lop3" && table) step_.table = static_cast<uint8_t>(table->value);
    }
    return true;
  }

  /// bfe with numbers for position and length; others are not followed.
  bool bit_field() {
    const PtxOperand *position = operand(2), *length = operand(3);
    if (!position || !length || position->kind != PtxOperandKind::integer ||
        length->kind != PtxOperandKind::integer)
      return false;
    step_.sources[1] = {};
    step_.sources[2] = {};
    step_.sources[1].value =
        static_cast<uint64_t>((position->value & 0xff) | (length->value & 0xff) << 8);
    return true;
  }

  const PtxFrame& frame_;
  const PtxInstruction& in_;
  const PtxOpcode& op_;
  ParameterBlock& parameters_;
  std::vector<const PtxOperand*> top_;
  PtxTypeName type_;
  Step step_;
};

}  // namespace

Step lower_ptx(const PtxFrame& frame, const PtxInstruction& instruction,
               ParameterBlock& parameters) {
  return Lowering(frame, instruction, parameters).lower();
}

PtxCallOperands call_operands(const PtxFrame& frame, const PtxInstruction& in) {
  PtxCallOperands call;
  std::vector<int16_t>* list = &call.results;
  const auto slot = [&](const PtxOperand& each) {
    if (each.kind == PtxOperandKind::register_) return frame.register_slots[each.name];
    if (each.kind != PtxOperandKind::symbol) return kNoSlot;
    const auto found = frame.variable_slots.find(frame.module.symbols[each.name]);
    return found == frame.variable_slots.end() ? kNoSlot : found->second;
  };
  for (uint32_t i = 0; i < in.operand_count;) {
    const PtxOperand& each = frame.function.operands[in.first_operand + i];
    if (each.kind == PtxOperandKind::list) {
      for (uint32_t part = 1; part <= each.count; ++part) list->push_back(slot((&each)[part]));
    } else if (each.kind == PtxOperandKind::symbol && call.name.empty()) {
      call.name = frame.module.symbols[each.name];
      list = &call.arguments;
    } else {
      list = &call.arguments;
    }
    i += 1u + each.count;
  }
  return call;
}

}  // namespace fathom
