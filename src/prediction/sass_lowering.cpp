// What a SASS instruction computes, read from the text that the decoder writes.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "binary/sass_operands.h"
#include "prediction/half.h"
#include "prediction/sass_program.h"

namespace fathom {

int16_t slot_of(Register reg) {
  switch (reg.file) {
    case RegisterFile::general:
      return static_cast<int16_t>(reg.index);
    case RegisterFile::uniform:
      return static_cast<int16_t>(256 + reg.index);
    case RegisterFile::predicate:
      return static_cast<int16_t>(reg.index);
    case RegisterFile::uniform_predicate:
      return static_cast<int16_t>(8 + reg.index);
    case RegisterFile::barrier:
      break;
  }
  return kNoSlot;
}

namespace {

/// Splits at commas outside brackets and `(...).
std::vector<std::string_view> operands_of(std::string_view text) {
  std::vector<std::string_view> parts;
  size_t start = 0;
  int depth = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    depth += (c == '[' || c == '(') - (c == ']' || c == ')');
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view part = trim(text.substr(start, i - start));
    if (!part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

uint64_t read_integer(std::string_view text) {
  return std::strtoull(std::string(text).c_str(), nullptr, 0);
}

/// "c[0x0][0x210]" or "c[0x0][UR4+0x10]".
struct ConstantPlace {
  bool found = false, indexed = false;
  uint32_t bank = 0, offset = 0;
  Source index;
};
ConstantPlace read_constant(std::string_view text) {
  ConstantPlace place;
  const size_t open = text.find("c[");
  const size_t second = text.find("][", open == text.npos ? 0 : open);
  if (open != 0 || second == text.npos || text.size() <= second + 2) return place;
  place.found = true;
  place.bank = static_cast<uint32_t>(read_integer(text.substr(2, second - 2)));
  std::string_view inside = text.substr(second + 2);
  inside = inside.substr(0, inside.find(']'));
  const RegisterToken token = read_register(inside);
  if (token.length > 0) {
    place.indexed = token.reg.has_value();
    if (token.reg) place.index.slot = slot_of(*token.reg);
    inside.remove_prefix(std::min(inside.size(), token.length));
    const size_t plus = inside.find('+');
    inside = plus == inside.npos ? std::string_view() : inside.substr(plus + 1);
  }
  if (!inside.empty()) place.offset = static_cast<uint32_t>(read_integer(inside));
  return place;
}

enum class Number : uint8_t { integer, float32, float64, half };

class Lowering {
 public:
  Lowering(const Instruction& instruction, const ConstantReader& constant)
      : in_(instruction), opcode_(instruction.opcode), constant_(constant) {
    std::string_view text = in_.text;
    if (starts_with(text, "@")) text = text.substr(std::min(text.size(), text.find(' ') + 1));
    const size_t space = text.find(' ');
    if (space != text.npos) parts_ = operands_of(text.substr(space + 1));
  }

  Step lower() {
    step_.op_class = in_.op_class;
    step_.flow = in_.flow;
    step_.space = in_.space;
    step_.bytes = in_.access_bytes;
    if (!in_.guard.always) {
      step_.guard = {slot_of(in_.guard.predicate), in_.guard.negated};
    }
    if (!flow() && !memory() && !moves() && !integers() && !bits() && !compares() && !floats() &&
        !predicates()) {
      opaque();
    }
    return step_;
  }

 private:
  // Operands.

  bool is(std::string_view name) const { return opcode_.base == name; }
  bool has(std::string_view modifier) const { return opcode_.has(modifier); }

  struct Parsed {
    Source source;
    PredicateSource predicate;
    bool is_predicate = false;
  };

  Parsed parse(std::string_view text, bool wide, Number number) {
    Parsed parsed;
    Source& source = parsed.source;
    source.wide = wide;
    bool negated = false;
    while (!text.empty() &&
           (text[0] == '-' || text[0] == '~' || text[0] == '|' || text[0] == '!')) {
      if (text[0] == '-' && text.size() > 1 && (std::isdigit(text[1]) || text[1] == '.')) break;
      if (starts_with(text, "-INF") || starts_with(text, "-QNAN") || starts_with(text, "-NAN"))
        break;
      negated |= text[0] == '!';
      source.negated |= text[0] == '-';
      source.inverted |= text[0] == '~';
      source.absolute |= text[0] == '|';
      text.remove_prefix(1);
    }
    const RegisterToken token = read_register(text);
    if (token.length > 0) {
      if (token.kind == OperandKind::predicate) {
        parsed.is_predicate = true;
        parsed.predicate.negated = negated;
        if (token.reg) parsed.predicate.index = slot_of(*token.reg);
      } else if (token.reg) {
        source.slot = slot_of(*token.reg);
      }
      return parsed;
    }
    const ConstantPlace place = read_constant(text);
    if (place.found) {
      const ConstantValue value =
          place.indexed ? ConstantValue{} : constant_(place.bank, place.offset, wide ? 8 : 4);
      source.unknown = !value.known;
      source.value = value.value;
      return parsed;
    }
    source.value = literal(text, number);
    return parsed;
  }

  static uint64_t literal(std::string_view text, Number number) {
    const std::string copy(text);
    if (number == Number::integer || starts_with(text, "0x") || starts_with(text, "-0x"))
      return static_cast<uint64_t>(std::strtoll(copy.c_str(), nullptr, 0));
    double value = std::strtod(copy.c_str(), nullptr);
    if (text.find("QNAN") != text.npos || text.find("SNAN") != text.npos) value = NAN;
    if (number == Number::half) return half_bits(value);
    if (number == Number::float64) return std::bit_cast<uint64_t>(value);
    return std::bit_cast<uint32_t>(static_cast<float>(value));
  }

  /// Leading operands that are written: predicates and one register.
  void take_results(bool wide = false) {
    size_t predicates = 0;
    while (next_ < parts_.size()) {
      const RegisterToken token = read_register(parts_[next_]);
      if (token.kind == OperandKind::predicate && token.length > 0) {
        if (predicates < 2 && token.reg) step_.result_predicates[predicates] = slot_of(*token.reg);
        ++predicates;
        ++next_;
        if (have_result_) continue;
        continue;
      }
      if (have_result_ || token.length == 0 || token.kind != OperandKind::register_) break;
      have_result_ = true;
      if (token.reg) step_.result = slot_of(*token.reg);
      ++next_;
    }
    step_.wide = wide;
    step_.result_slots = wide ? 2 : 1;
  }

  /// "VOTE.ANY R0, PT, P1": the last predicate is what is voted on, and no result.
  void take_vote() {
    if (parts_.empty()) return;
    next_ = parts_.size() - 1;
    const Parsed last = parse(parts_[next_], false, Number::integer);
    for (int16_t& slot : step_.result_predicates)
      if (last.is_predicate && slot == last.predicate.index) slot = kNoSlot;
    take_predicates();
  }

  void source(size_t index, bool wide = false, Number number = Number::integer) {
    if (next_ >= parts_.size()) return;
    step_.sources[index] = parse(parts_[next_++], wide, number).source;
  }
  /// The remaining operands that are predicates.
  void take_predicates() {
    if (step_.extended || step_.op == Op::add) step_.predicates.fill({-1, true});
    size_t count = 0;
    for (; next_ < parts_.size() && count < step_.predicates.size(); ++next_) {
      const Parsed parsed = parse(parts_[next_], false, Number::integer);
      if (parsed.is_predicate) step_.predicates[count++] = parsed.predicate;
    }
    predicate_count_ = count;
  }

  void opaque() {
    step_.op = Op::opaque;
    size_t count = 0;
    for (Register reg : in_.uses) {
      const bool value = reg.file == RegisterFile::general || reg.file == RegisterFile::uniform;
      if (value && count < step_.sources.size()) step_.sources[count++].slot = slot_of(reg);
    }
    for (Register reg : in_.defs) {
      if (reg.file == RegisterFile::barrier) continue;
      const int16_t slot = slot_of(reg);
      if (reg.file == RegisterFile::predicate || reg.file == RegisterFile::uniform_predicate) {
        if (step_.result_predicates[0] < 0) {
          step_.result_predicates[0] = slot;
        } else {
          step_.result_predicates[1] = slot;
        }
      } else if (step_.result == kNoSlot) {
        step_.result = slot;
        step_.result_slots = 1;
      } else if (slot == step_.result + step_.result_slots) {
        ++step_.result_slots;
      }
    }
  }

  // Groups of opcodes.

  bool flow() {
    switch (in_.flow) {
      case Flow::branch:
        step_.op = Op::branch;
        take_branch_predicate();
        return true;
      case Flow::indirect_branch:
        step_.op = Op::branch;
        branch_register();
        return true;
      case Flow::call:
      case Flow::indirect_call:
        step_.op = Op::call;
        return true;
      case Flow::return_:
        step_.op = Op::return_;
        return true;
      case Flow::exit:
        step_.op = Op::exit;
        return true;
      case Flow::next:
        break;
    }
    if ((is("BSSY") || is("BSYNC")) && !parts_.empty() && parts_[0].size() == 2) {
      step_.op = is("BSSY") ? Op::meet_later : Op::meet;
      step_.amount = static_cast<uint8_t>(parts_[0][1] - '0') & 15;
      return true;
    }
    if (in_.op_class == OpClass::control) return step_.op = Op::nothing, true;
    return false;
  }

  /// "@P0 BRA P1, 0x10" goes if both hold; "BRA.DIV UR4, 0x10" if threads have parted.
  void take_branch_predicate() {
    if (parts_.size() < 2) return;
    const Parsed parsed = parse(parts_[0], false, Number::integer);
    if (parsed.is_predicate) step_.predicates[0] = parsed.predicate;
    if (has("DIV") || has("CONV")) step_.predicates[0] = {-1, true};
  }
  void branch_register() {
    if (!parts_.empty()) step_.sources[0] = parse(parts_[0], false, Number::integer).source;
  }

  bool memory() {
    static constexpr std::string_view kVague[] = {"LDSM",    "STSM",    "LDGMC", "UBLKCP",
                                                  "UTMALDG", "UTMASTG", "LDTM",  "STTM"};
    const bool barrier = is("BAR");
    if (barrier) return step_.op = Op::barrier, step_.is_async = has("ARV"), true;
    if (is("LDC") || is("ULDC") || is("LDCU")) return constant_load(), true;
    if (!in_.is_memory() || in_.space == MemorySpace::texture) {
      if (in_.op_class != OpClass::texture) return false;
      opaque();
      step_.op = Op::load;
      step_.space = MemorySpace::texture;
      step_.bytes = std::max<uint8_t>(step_.bytes, 4);
      return true;
    }
    opaque();  // results, by what the decoder says
    for (Source& each : step_.sources) each = {};
    step_.op = in_.op_class == OpClass::store               ? Op::store
               : in_.op_class == OpClass::atomic            ? Op::atomic
               : in_.op_class == OpClass::asynchronous_copy ? Op::asynchronous_copy
                                                            : Op::load;
    step_.is_async = in_.op_class == OpClass::asynchronous_copy;
    step_.no_result_wait = is("RED") || is("REDG");
    step_.bypasses_l1 = has("STRONG") && (has("GPU") || has("SYS"));
    const bool vague =
        std::find(std::begin(kVague), std::end(kVague), opcode_.base) != std::end(kVague);
    bool first = true;
    for (std::string_view part : parts_) {
      const size_t open = part.rfind('[');
      if (open == part.npos || starts_with(part, "c[")) continue;
      // LDGSTS writes shared memory first and reads global memory second: the second counts.
      if (is("LDGSTS") && first) {
        first = false;
        continue;
      }
      address(part.substr(open + 1, part.rfind(']') - open - 1));
      break;
    }
    if (is("LDGSTS")) step_.space = MemorySpace::global;
    if (step_.op == Op::store && !parts_.empty())
      step_.sources[3] = parse(parts_.back(), false, Number::integer).source;
    if (vague && step_.bytes == 0) step_.bytes = 16;
    return true;
  }

  /// "R2.64+UR4+0x10": up to two registers and a number.
  void address(std::string_view text) {
    size_t count = 0;
    for (size_t at = 0; at <= text.size();) {
      const size_t plus = std::min(text.find('+', at + 1), text.size());
      std::string_view part = text.substr(at, plus - at);
      at = plus + 1;
      if (part.empty()) continue;
      const RegisterToken token = read_register(part);
      if (token.length == 0) {
        step_.offset += std::strtoll(std::string(part).c_str(), nullptr, 0);
      } else if (token.reg && count < 2) {
        Source& source = step_.sources[count++];
        source.slot = slot_of(*token.reg);
        source.wide = part.find(".64") != part.npos ||
                      (is_global() && token.reg->file == RegisterFile::uniform);
        if (part.find(".X4") != part.npos) step_.amount = 2;
        if (part.find(".X8") != part.npos) step_.amount = 3;
        if (part.find(".X16") != part.npos) step_.amount = 4;
        if (is_global() && part.find(".U32") == part.npos && count == 1) source.wide = true;
      }
    }
  }
  bool is_global() const {
    return in_.space == MemorySpace::global || in_.space == MemorySpace::generic;
  }

  void constant_load() {
    const bool wide = has("64");
    take_results(wide);
    step_.op = Op::move;
    step_.space = MemorySpace::constant;
    if (next_ >= parts_.size()) return;
    const ConstantPlace place = read_constant(parts_[next_]);
    if (place.found && !place.indexed) return source(0, wide);
    step_.op = Op::load;
    step_.bytes = wide ? 8 : 4;
    step_.sources[0] = place.index;
    step_.offset = static_cast<int32_t>(place.offset);
    step_.bank = static_cast<uint8_t>(place.bank);
  }

  bool moves() {
    if (is("MOV") || is("UMOV") || is("MOV32I") || is("R2UR") || is("R2UR2")) {
      const bool wide = has("64");
      take_results(wide);
      step_.op = Op::move;
      source(0, wide);
    } else if (is("S2R") || is("S2UR") || is("CS2R")) {
      take_results(is("CS2R") && !has("32"));
      step_.op = Op::special;
      if (next_ < parts_.size()) step_.special = special_of(parts_[next_]);
    } else if (is("SEL") || is("FSEL") || is("USEL")) {
      take_results();
      step_.op = Op::select;
      source(0, false, is("FSEL") ? Number::float32 : Number::integer);
      source(1, false, is("FSEL") ? Number::float32 : Number::integer);
      take_predicates();
    } else if (is("SHFL")) {
      take_results();
      step_.op = Op::shuffle;
      step_.amount = has("UP") ? 1 : has("DOWN") ? 2 : has("BFLY") ? 3 : 0;
      source(0);
      source(1);
      source(2);
    } else if (is("VOTE") || is("VOTEU")) {
      take_results();
      step_.op = Op::vote;
      step_.amount = has("ALL") ? 1 : has("EQ") ? 2 : 0;
      take_vote();
    } else {
      return false;
    }
    return true;
  }

  static Special special_of(std::string_view name) {
    static const std::map<std::string_view, Special> kNames = {
        {"SR_TID.X", Special::tid_x},         {"SR_TID.Y", Special::tid_y},
        {"SR_TID.Z", Special::tid_z},         {"SR_CTAID.X", Special::ctaid_x},
        {"SR_CTAID.Y", Special::ctaid_y},     {"SR_CTAID.Z", Special::ctaid_z},
        {"SR_LANEID", Special::lane},         {"SR_NTID", Special::ntid_x},
        {"SR_EQMASK", Special::lane_mask_eq}, {"SR_LTMASK", Special::lane_mask_lt},
        {"SR_LEMASK", Special::lane_mask_le}, {"SR_GTMASK", Special::lane_mask_gt},
        {"SR_GEMASK", Special::lane_mask_ge}, {"SR_VIRTID", Special::other},
        {"SR_CgaCtaId", Special::zero},       {"SRZ", Special::zero}};
    const auto found = kNames.find(name);
    return found == kNames.end() ? Special::other : found->second;
  }

  bool integers() {
    if (is("IADD3") || is("UIADD3") || is("VIADD") || is("IADD") || is("IADD32I") || is("UVIADD")) {
      const bool wide = has("64");
      take_results(wide);
      step_.op = Op::add;
      step_.extended = has("X");
      const size_t count = is("IADD3") || is("UIADD3") ? 3 : 2;
      for (size_t i = 0; i < count; ++i) source(i, wide);
      take_predicates();
    } else if (is("IMAD") || is("UIMAD") || is("XMAD") || is("IMUL")) {
      step_.op = Op::multiply_add;
      const bool wide = has("WIDE");
      take_results(wide);
      step_.is_signed = !has("U32");
      step_.high = has("HI");
      step_.extended = has("X");
      source(0);
      source(1);
      source(2, wide || step_.high);
      take_predicates();
    } else if (is("LEA") || is("ULEA")) {
      lea();
    } else if (is("IABS") || is("UIABS")) {
      take_results();
      step_.op = Op::absolute_value;
      source(0);
    } else if (is("VIADDMNMX") || is("VIMNMX3")) {
      take_results();
      step_.op = Op::minimum;
      step_.amount = is("VIADDMNMX") ? 1 : 2;
      step_.is_signed = !has("U32");
      for (size_t i = 0; i < 3; ++i) source(i);
      take_predicates();
    } else if (is("IMNMX") || is("VIMNMX") || is("UIMNMX") || is("FMNMX") || is("DMNMX") ||
               is("UVIMNMX")) {
      const bool is_float = is("FMNMX") || is("DMNMX");
      step_.op = is_float ? Op::float_minimum : Op::minimum;
      take_results(is("DMNMX"));
      step_.is_double = is("DMNMX");
      step_.is_signed = !has("U32");
      const Number number = is("DMNMX") ? Number::float64
                            : is_float  ? Number::float32
                                        : Number::integer;
      source(0, is("DMNMX"), number);
      source(1, is("DMNMX"), number);
      take_predicates();
    } else {
      return false;
    }
    return true;
  }

  void lea() {
    take_results();
    step_.op = Op::shift_add;
    step_.high = has("HI");
    step_.extended = has("X");
    step_.is_signed = has("SX32");
    source(0);
    source(1);
    if (step_.high && !step_.is_signed) source(2);
    // LEA without .HI: a, b, amount; .HI: a, b, c, amount; .HI.SX32: a, b, amount.
    if (next_ < parts_.size())
      step_.amount = static_cast<uint8_t>(read_integer(parts_[next_++]) & 63);
    take_predicates();
  }

  bool bits() {
    if (is("LOP3") || is("ULOP3")) {
      take_results();
      step_.op = Op::logic;
      source(0);
      source(1);
      source(2);
      if (next_ < parts_.size()) step_.table = static_cast<uint8_t>(read_integer(parts_[next_++]));
    } else if (is("SHF") || is("USHF")) {
      take_results();
      step_.op = Op::funnel;
      step_.is_signed = has("S32") || has("S64");
      step_.high = has("HI");
      step_.extended = has("W");
      step_.takes_minimum = has("L");  // to the left
      step_.amount = has("U64") || has("S64") ? 64 : 32;
      source(0);
      source(1);
      source(2);
    } else if (is("PRMT") || is("UPRMT")) {
      take_results();
      step_.op = Op::permute;
      source(0);
      source(1);
      source(2);
    } else if (is("POPC") || is("UPOPC") || is("FLO") || is("UFLO") || is("BREV") || is("UBREV")) {
      take_results();
      step_.op = is("POPC") || is("UPOPC") ? Op::population_count
                 : is("FLO") || is("UFLO") ? Op::leading_bit
                                           : Op::reverse_bits;
      step_.is_signed = !has("U32");
      step_.high = has("SH");
      source(0);
    } else if (is("BMSK") || is("UBMSK") || is("SGXT") || is("USGXT")) {
      take_results();
      step_.op = is("BMSK") || is("UBMSK") ? Op::bit_mask : Op::sign_extend;
      step_.is_signed = !has("U32");
      source(0);
      source(1);
    } else {
      return false;
    }
    return true;
  }

  bool compare_of(std::string_view name) {
    static const std::map<std::string_view, Compare> kNames = {
        {"LT", Compare::lt},   {"LE", Compare::le},   {"GT", Compare::gt},  {"GE", Compare::ge},
        {"EQ", Compare::eq},   {"NE", Compare::ne},   {"LTU", Compare::lt}, {"LEU", Compare::le},
        {"GTU", Compare::gt},  {"GEU", Compare::ge},  {"EQU", Compare::eq}, {"NEU", Compare::ne},
        {"F", Compare::never}, {"T", Compare::always}};
    const auto found = kNames.find(name);
    if (found == kNames.end()) return false;
    step_.compare = found->second;
    return true;
  }

  bool compares() {
    const bool integer = is("ISETP") || is("UISETP");
    const bool floating = is("FSETP"), is_double = is("DSETP");
    if (is("FCHK")) {
      take_results_only_predicates();
      source(0, false, Number::float32);
      source(1, false, Number::float32);
      step_.op = Op::division_check;
      return true;
    }
    if (!integer && !floating && !is_double) return false;
    step_.op = integer ? Op::compare : Op::float_compare;
    step_.is_double = is_double;
    step_.is_signed = !has("U32");
    step_.extended = has("EX");
    step_.logic = has("OR") ? Logic::or_ : has("XOR") ? Logic::xor_ : Logic::and_;
    bool known = false;
    for (size_t i = 0; i < opcode_.modifier_count && !known; ++i)
      known = compare_of(opcode_.modifiers[i]);
    if (!known) return false;
    take_results_only_predicates();
    const Number number = is_double  ? Number::float64
                          : floating ? Number::float32
                                     : Number::integer;
    source(0, is_double, number);
    source(1, is_double, number);
    take_predicates();
    return true;
  }

  void take_results_only_predicates() {
    for (size_t i = 0; i < 2 && next_ < parts_.size(); ++i) {
      const RegisterToken token = read_register(parts_[next_]);
      if (token.kind != OperandKind::predicate || token.length == 0) return;
      if (token.reg) step_.result_predicates[i] = slot_of(*token.reg);
      ++next_;
    }
  }

  bool floats() {
    const bool is_double = starts_with(opcode_.base, "D");
    const Number number = is_double ? Number::float64 : Number::float32;
    const auto arithmetic = [&](Op op, size_t count) {
      step_.op = op;
      step_.is_double = is_double;
      take_results(is_double);
      for (size_t i = 0; i < count; ++i) source(i, is_double, number);
      return true;
    };
    if (is("FADD") || is("DADD") || is("FADD32I")) return arithmetic(Op::float_add, 2);
    if (is("FMUL") || is("DMUL") || is("FMUL32I")) return arithmetic(Op::float_multiply, 2);
    if (is("FFMA") || is("DFMA") || is("FFMA32I")) return arithmetic(Op::float_multiply_add, 3);
    if (is("MUFU")) {
      const bool reciprocal = has("RCP");
      take_results();
      step_.op = reciprocal ? Op::reciprocal : has("SQRT") ? Op::float_root : Op::float_other;
      step_.high = has("RCP64H");
      if (step_.high) step_.op = Op::float_other;
      return source(0, false, Number::float32), true;
    }
    if (is("FRND") && !has("F64") && !has("F16")) {
      take_results();
      step_.op = Op::float_to_float;
      step_.high = true;
      step_.amount = has("FLOOR") ? 1 : has("CEIL") ? 2 : has("TRUNC") ? 3 : 0;
      return source(0, false, Number::float32), true;
    }
    if (is("I2F") || is("I2FP") || is("F2I") || is("F2F")) return conversion();
    if (is("HFMA2") && parts_.size() >= 5) return half_constant();
    return false;
  }

  bool conversion() {
    const bool to_float = is("I2F") || is("I2FP"), from_float = is("F2I");
    const bool to64 = opcode_.modifier_count > 0 && ends_with(opcode_.modifiers[0], "64");
    bool from64 = false, odd = false;
    for (size_t i = 0; i < opcode_.modifier_count; ++i) {
      const std::string_view part = opcode_.modifiers[i];
      from64 |= i > 0 && (part == "F64" || part == "S64" || part == "U64");
      odd |= part == "F16" || part == "U8" || part == "S8" || part == "U16" || part == "S16";
    }
    if (is("F2I") && has("F64")) from64 = true;
    if (is("F2I") && (has("S64") || has("U64"))) odd = true;
    if (odd) return false;
    take_results(to64 && !is("F2I"));
    step_.op = to_float ? Op::int_to_float : from_float ? Op::float_to_int : Op::float_to_float;
    step_.is_double = to_float ? has("F64") : from64;
    step_.is_signed = !has("U32") && !has("U64");
    step_.amount = has("FLOOR") ? 1 : has("CEIL") ? 2 : has("TRUNC") ? 3 : has("RP") ? 2 : 0;
    source(0, from64 || has("S64") || has("U64"), from64 ? Number::float64 : Number::float32);
    return true;
  }

  /// "HFMA2.MMA R7, -RZ, RZ, 0, 1.5" puts two constants into a register.
  bool half_constant() {
    const bool zeros = parts_[1] == "-RZ" && parts_[2] == "RZ";
    const auto is_number = [](std::string_view text) {
      return read_register(text).length == 0 && !starts_with(text, "c[");
    };
    if (!zeros || !is_number(parts_[3]) || !is_number(parts_[4])) return false;
    take_results();
    step_.op = Op::move;
    step_.sources[0].value =
        literal(parts_[3], Number::half) << 16 | literal(parts_[4], Number::half);
    return true;
  }

  bool predicates() {
    if (is("PLOP3") || is("UPLOP3")) {
      take_results_only_predicates();
      step_.op = Op::predicate_logic;
      take_predicates_then_tables();
    } else if (is("P2R") || is("UP2R")) {
      take_results();
      step_.op = Op::predicates_to_register;
      for (; next_ < parts_.size(); ++next_) {
        if (parts_[next_] == "PR" || parts_[next_] == "UPR") continue;
        const Source operand = parse(parts_[next_], false, Number::integer).source;
        if (operand.slot == kNoSlot && operand.value != 0)
          step_.table = static_cast<uint8_t>(operand.value);
      }
    } else if (is("R2P")) {
      step_.op = Op::register_to_predicates;
      ++next_;
      source(0);
      if (next_ < parts_.size()) step_.table = static_cast<uint8_t>(read_integer(parts_[next_]));
    } else {
      return false;
    }
    return true;
  }

  void take_predicates_then_tables() {
    size_t count = 0;
    bool first = true;
    for (; next_ < parts_.size(); ++next_) {
      const Parsed parsed = parse(parts_[next_], false, Number::integer);
      if (parsed.is_predicate && count < 3) {
        step_.predicates[count++] = parsed.predicate;
      } else if (!parsed.is_predicate && first) {
        step_.table = static_cast<uint8_t>(parsed.source.value);
        first = false;
      }
    }
  }

  const Instruction& in_;
  SassOpcode opcode_;
  const ConstantReader& constant_;
  std::vector<std::string_view> parts_;
  size_t next_ = 0, predicate_count_ = 0;
  bool have_result_ = false;
  Step step_;
};

}  // namespace

Step lower_sass(const Instruction& instruction, const ConstantReader& constant) {
  return Lowering(instruction, constant).lower();
}

}  // namespace fathom
