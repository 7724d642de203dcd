#include "attribution/lane_interpreter.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text.h"

namespace fathom {
namespace {

bool holds_numbers(Register reg) {
  return reg.file == RegisterFile::general || reg.file == RegisterFile::uniform;
}

/// "UIADD3" is to uniform registers what "IADD3" is to others.
std::string_view common_name(const Instruction& code) {
  std::string_view name = code.base_opcode();
  static const std::set<std::string_view> kUniform = {"UIADD3", "UIMAD",  "ULEA",   "USHF",
                                                      "ULOP3",  "UMOV",   "USEL",   "UPRMT",
                                                      "ULDC",   "UIMNMX", "UVIADD", "UVIMNMX"};
  if (kUniform.count(name)) name.remove_prefix(1);
  return name;
}

/// The operands that are numbers and stand behind the destination.
std::vector<const Operand*> sources_of(const std::vector<Operand>& operands) {
  std::vector<const Operand*> sources;
  for (size_t i = 1; i < operands.size(); ++i)
    if (operands[i].kind != Operand::Kind::predicate) sources.push_back(&operands[i]);
  return sources;
}

LaneValue mix_all(const std::vector<LaneValue>& in) {
  LaneValue result = uniform_value();
  for (const LaneValue& v : in) result = mix(result, v);
  return result;
}

/// The shift, where it is one number.
std::optional<unsigned> amount_of(const LaneValue& v) {
  if (!v.exact || !v.is_uniform()) return std::nullopt;
  return v.lanes[0] & 63;
}

LaneValue shift_left(const LaneValue& a, const LaneValue& by) {
  if (auto amount = amount_of(by))
    return multiply(a, exact_value(*amount < 32 ? 1u << *amount : 0));
  if (by.is_known() && by.exact) {
    Lanes powers;
    for (uint32_t l = 0; l < kLanes; ++l) powers[l] = 1u << (by.lanes[l] & 31);
    return multiply(a, exact_lanes(powers));
  }
  return by.is_uniform() ? multiply(a, uniform_value()) : mix(a, by);
}

LaneValue shift_right_by(const LaneValue& a, const LaneValue& by) {
  auto amount = amount_of(by);
  if (!amount) return mix(a, by);
  // An index is not negative: its sign is zero.
  if (*amount >= 31 && a.is_known()) return exact_value(0);
  return shift_right(a, *amount);
}

/// SHF.L.U32 d, low, by, high; SHF.R.U32.HI d, low, by, high; and with U64 for both halves.
LaneValue of_shift(const Instruction& code, const std::vector<LaneValue>& in) {
  if (in.size() < 2) return mix_all(in);
  bool right = has_modifier(code.opcode, "R"), upper = has_modifier(code.opcode, "HI");
  bool wide = has_modifier(code.opcode, "U64") || has_modifier(code.opcode, "S64");
  if (right) return shift_right_by(upper && in.size() > 2 ? in[2] : in[0], in[1]);
  if (upper) return wide || in.size() < 3 ? mix_all(in) : shift_left(in[2], in[1]);
  return shift_left(in[0], in[1]);
}

/// LEA d, a, b, shift is (a << shift) + b; LEA.HI d, a, b, c, shift takes (a:c << shift)'s upper
/// half.
LaneValue of_scaled_add(const Instruction& code, const std::vector<LaneValue>& in) {
  if (in.size() < 3 || has_modifier(code.opcode, "X")) return mix_all(in);
  auto amount = amount_of(in.back());
  if (!amount || *amount > 31) return mix_all(in);
  if (!has_modifier(code.opcode, "HI")) return add(shift_left(in[0], in.back()), in[1]);
  if (*amount == 0) return in[1];
  return add(shift_right_by(in[0], exact_value(32 - *amount)), in[1]);
}

LaneValue of_sum(const Instruction& code, const std::vector<LaneValue>& in) {
  if (has_modifier(code.opcode, "X") || in.empty()) return mix_all(in);
  LaneValue sum = in[0];
  for (size_t i = 1; i < in.size(); ++i) sum = add(sum, in[i]);
  return sum;
}

LaneValue of_logic(const std::vector<LaneValue>& in) {
  if (in.size() < 4 || !in[3].exact) return mix_all(in);
  return logic(in[0], in[1], in[2], uint8_t(in[3].lanes[0]));
}

LaneValue of_choice(const std::vector<LaneValue>& in) {
  return in.size() < 2 ? mix_all(in) : either(in[0], in[1]);
}

uint32_t half_bits(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  int exponent = 0;
  double fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 <= fraction < 1
  uint32_t sign = value < 0 ? 0x8000 : 0;
  if (exponent < -13) return sign | uint32_t(std::lround(std::ldexp(std::fabs(value), 24)));
  return sign | (uint32_t(exponent + 14) << 10 |
                 (uint32_t(std::lround(std::ldexp(fraction, 11))) & 0x3ff));
}

}  // namespace

LaneInterpreter::LaneInterpreter(const AnalyzedFunction& function,
                                 const std::array<uint32_t, 3>& block)
    : function_(function), block_(block), slicer_(function.instructions, function.graph) {}

void LaneInterpreter::follow(const std::vector<uint32_t>& instructions) {
  gather(instructions);
  // Few rounds suffice: values around a loop lose at most their constant part, and then bits.
  constexpr int kMostRounds = 40;
  for (int round = 0; round < kMostRounds; ++round) {
    bool changed = false;
    for (auto& [instruction, node] : nodes_) changed = evaluate(instruction, node) || changed;
    if (!changed) return;
  }
  for (auto& [instruction, node] : nodes_)
    for (auto& [reg, value] : node.results)
      if (value.is_known() && !value.is_uniform()) value = computed_value();
}

void LaneInterpreter::gather(std::vector<uint32_t> work) {
  while (!work.empty()) {
    uint32_t i = work.back();
    work.pop_back();
    auto [entry, is_new] = nodes_.try_emplace(i);
    if (!is_new) continue;
    Node& node = entry->second;
    node.operands = parse_operands(function_.instructions[i].text);
    for (const Dependency& dependency : slicer_.dependencies_of(i)) {
      if (!holds_numbers(dependency.through)) continue;
      node.sources.push_back(dependency);
      work.push_back(dependency.def);
    }
    for (Register reg : function_.instructions[i].defs)
      if (holds_numbers(reg)) node.results[reg] = {};
  }
}

bool LaneInterpreter::evaluate(uint32_t instruction, Node& node) {
  bool changed = false;
  for (auto& [reg, value] : node.results) {
    LaneValue now = result_of(instruction, node, reg);
    changed = changed || !(now == value);
    value = now;
  }
  return changed;
}

LaneValue LaneInterpreter::address(uint32_t instruction, const Operand& memory) const {
  auto node = nodes_.find(instruction);
  if (node == nodes_.end()) return computed_value();
  LaneValue sum = exact_value(0);
  for (const Operand& part : memory.parts) {
    LaneValue value = value_of(node->second, part);
    if (value.kind == LaneValue::Kind::none) value = computed_value();
    sum = add(sum, multiply(value, exact_value(part.scale)));
  }
  return sum;
}

LaneValue LaneInterpreter::of_register(const Node& node, Register reg) const {
  LaneValue result;
  bool any = false, conditional = false;
  for (const Dependency& source : node.sources) {
    if (source.through != reg) continue;
    any = true;
    conditional = conditional || !function_.instructions[source.def].guard.always;
    const LaneValue& value = nodes_.at(source.def).results.at(reg);
    if (value.kind == LaneValue::Kind::none) continue;
    if (result.kind == LaneValue::Kind::none)
      result = value;
    else
      result = conditional ? either(result, value) : join(result, value);
  }
  if (any) return result;
  // The stack pointer, or what the caller hands over.
  bool uniform = reg.file == RegisterFile::uniform || reg.index == 1;
  return uniform ? uniform_value() : computed_value();
}

LaneValue LaneInterpreter::value_of(const Node& node, const Operand& operand, uint32_t word) const {
  LaneValue value;
  switch (operand.kind) {
    case Operand::Kind::general:
    case Operand::Kind::uniform: {
      if (operand.number < 0) {
        value = exact_value(0);
        break;
      }
      RegisterFile file =
          operand.kind == Operand::Kind::uniform ? RegisterFile::uniform : RegisterFile::general;
      value = of_register(node, {file, uint8_t(operand.number + int(word))});
      break;
    }
    case Operand::Kind::immediate:
      return exact_value(uint32_t(operand.value));
    case Operand::Kind::constant:
      value = constant(operand.bank, operand.value + 4 * word);
      break;
    case Operand::Kind::special:
      return special(operand.text);
    case Operand::Kind::decimal:
      return uniform_value();
    default:
      return starts_with(operand.text, "cx[UR") ? uniform_value() : computed_value();
  }
  if (operand.negated) value = negate(value);
  if (operand.inverted) value = add(negate(value), exact_value(~0u));
  return value;
}

LaneValue LaneInterpreter::constant(uint32_t bank, int64_t offset) const {
  // Where the driver puts blockDim: CUDA's binary interface, before and from compute capability 10.
  const std::string& arch = function_.machine ? function_.machine->arch : std::string();
  bool newer = starts_with(arch, "sm_") && std::atoi(arch.c_str() + 3) >= 100;
  int64_t first = newer ? 0x360 : 0;
  if (bank == 0 && offset >= first && offset < first + 12 && offset % 4 == 0 && block_[0] > 0)
    return exact_value(block_[size_t((offset - first) / 4)]);
  return uniform_value();
}

LaneValue LaneInterpreter::thread_index(int dimension) const {
  Lanes lanes;
  uint32_t x = std::max(1u, block_[0]), y = std::max(1u, block_[1]);
  for (uint32_t l = 0; l < kLanes; ++l)
    lanes[l] = dimension == 0 ? l % x : dimension == 1 ? l / x % y : l / x / y;
  return exact_lanes(lanes);
}

LaneValue LaneInterpreter::special(std::string_view name) const {
  if (name == "SR_TID.X") return thread_index(0);
  if (name == "SR_TID.Y") return thread_index(1);
  if (name == "SR_TID.Z") return thread_index(2);
  if (name == "SRZ") return exact_value(0);
  if (name == "SR_LANEID") {
    Lanes lanes;
    for (uint32_t l = 0; l < kLanes; ++l) lanes[l] = l;
    return exact_lanes(lanes);
  }
  bool differs = name == "SR_TID" || ends_with(name, "MASK") || starts_with(name, "SR_LTMASK") ||
                 name == "SR_VIRTID";
  return differs ? computed_value() : uniform_value();
}

/// d = a * b + c: the lower half, or the upper one of a wide product.
LaneValue LaneInterpreter::of_multiply(const Instruction& code, const std::vector<LaneValue>& in,
                                       bool upper) const {
  if (in.size() < 3 || has_modifier(code.opcode, "X")) return mix_all(in);
  if (upper || has_modifier(code.opcode, "HI")) return multiply_high(in[0], in[1], in[2]);
  return add(multiply(in[0], in[1]), in[2]);
}

/// Memory gives all lanes the same only where they ask for the same.
LaneValue LaneInterpreter::of_load(uint32_t instruction, const Node& node, uint32_t word) const {
  // Local memory is each thread's own.
  if (function_.instructions[instruction].space == MemorySpace::local) return computed_value();
  for (const Operand& operand : node.operands) {
    if (operand.kind == Operand::Kind::constant) return value_of(node, operand, word);
    if (operand.kind == Operand::Kind::memory || operand.kind == Operand::Kind::indexed) {
      LaneValue at = address(instruction, operand);
      bool atomic = function_.instructions[instruction].op_class == OpClass::atomic;
      return at.is_uniform() && !atomic ? uniform_value() : data_value();
    }
  }
  return data_value();
}

/// HFMA2 d, -RZ, RZ, upper, lower: how the compiler keeps the integer pipe free for other work.
LaneValue LaneInterpreter::of_half_constant(const Node& node) const {
  auto sources = sources_of(node.operands);
  auto number = [](const Operand& operand) {
    return operand.kind == Operand::Kind::decimal ? operand.decimal : double(operand.value);
  };
  if (sources.size() != 4 || sources[0]->number >= 0 || sources[1]->number >= 0 ||
      sources[0]->kind != Operand::Kind::general || sources[2]->kind == Operand::Kind::general)
    return computed_value();
  return exact_value(half_bits(number(*sources[2])) << 16 | half_bits(number(*sources[3])));
}

LaneValue LaneInterpreter::result_of(uint32_t instruction, const Node& node,
                                     Register defined) const {
  LaneValue value = operation(instruction, node, defined);
  if (defined.file != RegisterFile::uniform || value.kind == LaneValue::Kind::none) return value;
  return value.is_uniform() ? value : uniform_value();
}

LaneValue LaneInterpreter::operation(uint32_t instruction, const Node& node,
                                     Register defined) const {
  const Instruction& code = function_.instructions[instruction];
  const std::string_view name = common_name(code);
  uint32_t word = 0;
  if (!node.operands.empty() && node.operands[0].number >= 0)
    word = uint32_t(std::max(0, int(defined.index) - node.operands[0].number));
  if (code.is_memory() || name == "LDC" || name == "LDCU") return of_load(instruction, node, word);
  if (name == "HFMA2") {
    LaneValue constant = of_half_constant(node);
    if (constant.is_known()) return constant;
  }
  std::vector<LaneValue> in;
  for (const Operand* operand : sources_of(node.operands)) {
    in.push_back(value_of(node, *operand));
    if (in.back().kind == LaneValue::Kind::none) return {};
  }
  if (name == "S2R" || name == "S2UR" || name == "CS2R" || name == "MOV" || name == "IABS" ||
      name == "R2UR")
    return in.empty() ? computed_value() : in[0];
  if (name == "IMAD" || name == "UIMAD") return of_multiply(code, in, word > 0);
  if (name == "IADD3" || name == "IADD" || name == "VIADD") return of_sum(code, in);
  if (name == "LEA") return of_scaled_add(code, in);
  if (name == "SHF") return of_shift(code, in);
  if (name == "LOP3") return of_logic(in);
  if (name == "SEL" || name == "FSEL" || name == "IMNMX" || name == "VIMNMX") return of_choice(in);
  if (name == "VOTE" || name == "VOTEU" || name == "REDUX") return uniform_value();
  if (name == "SHFL") return in.empty() || !in[0].is_uniform() ? data_value() : in[0];
  return in.empty() ? computed_value() : mix_all(in);
}

}  // namespace fathom
