#include "binary/sass_semantics.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"
#include "binary/sass_opcodes.h"
#include "binary/sass_operands.h"
#include "binary/sass_widths.h"

namespace fathom {
namespace {

constexpr unsigned kPredicates = 7;  // P0 to P6; also UP0 to UP6

RegisterSpan span_of(Register first, unsigned count, bool defined, size_t position) {
  return {first, static_cast<uint16_t>(count), defined, position};
}

/// The registers in an operand with brackets: "desc[UR4][R2.64+0x10]", "c[0x0][R7]", "gdesc[UR8]".
void add_address(std::string_view text, size_t position, unsigned plain_width,
                 std::vector<RegisterSpan>& spans) {
  size_t open = text.find('[');
  std::string_view prefix = text.substr(0, open);
  while (!prefix.empty() && (prefix[0] == '-' || prefix[0] == '|' || prefix[0] == '~'))
    prefix.remove_prefix(1);
  const bool described = prefix == "desc" || prefix == "cx";
  const bool constant = prefix == "c";
  bool first_brackets = true;
  for (size_t at = open; at < text.size(); ++at) {
    if (text[at] == ']' && first_brackets) first_brackets = false;
    const bool starts = (text[at] == 'R' || text[at] == 'U') && at > 0 &&
                        (text[at - 1] == '[' || text[at - 1] == '+' || text[at - 1] == '-');
    if (!starts) continue;
    RegisterToken token = read_register(text.substr(at));
    if (!token.length) continue;
    std::string_view suffix = text.substr(at + token.length);
    unsigned width = constant ? 1 : plain_width;
    if (described && first_brackets) width = 2;
    if (starts_with(suffix, ".64")) width = 2;
    if (starts_with(suffix, ".U32") || starts_with(suffix, ".X")) width = 1;
    if (token.reg) spans.push_back(span_of(*token.reg, width, false, position + at));
    at += token.length - 1;
  }
}

/// Registers that an address without a suffix of its own takes.
unsigned address_width(std::string_view text, const OperandWidths& widths, size_t source) {
  if (widths.source_address[source]) return widths.source_address[source];
  if (starts_with(text, "gdesc[")) return 2;
  return text[0] == '[' ? widths.address : 1;
}

/// How many leading operands are destinations by the pattern; nothing if they do not fit it.
std::optional<size_t> match_destinations(std::string_view pattern, const SassOperands& operands,
                                         std::array<size_t, 4>& registers) {
  size_t at = 0, found = 0;
  for (char wanted : pattern) {
    OperandKind kind =
        wanted == 'R' || wanted == 'r' ? OperandKind::register_ : OperandKind::predicate;
    const bool here =
        at < operands.count && !operands.list[at].negated &&
        (operands.list[at].kind == kind ||
         (kind == OperandKind::predicate && operands.list[at].kind == OperandKind::predicate_set));
    if (here && kind == OperandKind::register_ && found < registers.size()) registers[found++] = at;
    if (here) ++at;
    if (!here && (wanted == 'R' || wanted == 'P')) return std::nullopt;
  }
  return at;
}

/// PR, or the part of it that an immediate after it selects: "R2P PR, R0, 0x6".
void add_predicate_set(const SassOperands& operands, bool defined,
                       std::vector<RegisterSpan>& spans) {
  unsigned mask = (1u << kPredicates) - 1;
  bool uniform = false;
  for (size_t i = 0; i < operands.count; ++i) {
    std::string_view text = operands.list[i].text;
    if (operands.list[i].kind == OperandKind::predicate_set) uniform = text[0] == 'U';
    if (starts_with(text, "0x"))
      std::from_chars(text.data() + 2, text.data() + text.size(), mask, 16);
  }
  const RegisterFile file = uniform ? RegisterFile::uniform_predicate : RegisterFile::predicate;
  for (uint8_t i = 0; i < kPredicates; ++i)
    if (mask >> i & 1) spans.push_back(span_of({file, i}, 1, defined, RegisterSpan::kUnnamed));
}

/// Fills spans and access_bytes; false if the operands do not look as the table says.
bool read_operands(const OpcodeFacts& facts, const SassOpcode& opcode, std::string_view text,
                   SassMeaning& meaning) {
  SassOperands operands(text);
  std::array<size_t, 4> registers{};
  std::optional<size_t> first_source = match_destinations(facts.destinations, operands, registers);
  if (!first_source) return false;
  OperandWidths widths = operand_widths(facts, opcode, operands.list.data() + *first_source,
                                        operands.count - *first_source);
  meaning.access_bytes = widths.access_bytes;
  size_t next_register = 0;
  for (size_t i = 0; i < operands.count; ++i) {
    const SassOperand& operand = operands.list[i];
    const bool destination = i < *first_source;
    const size_t position = static_cast<size_t>(operand.text.data() - text.data());
    unsigned width = 1;
    if (operand.kind == OperandKind::register_)
      width = destination ? widths.destination[next_register++] : widths.source[i - *first_source];
    if (operand.kind == OperandKind::address)
      add_address(operand.text, position, address_width(operand.text, widths, i - *first_source),
                  meaning.spans);
    if (operand.kind == OperandKind::predicate_set)
      add_predicate_set(operands, destination, meaning.spans);
    if (!operand.reg) continue;
    if (operand.wide) width = 2;
    if (operand.scalar) width = 1;
    const bool code_address = facts.widths == Widths::pair_source;
    if (code_address && operand.reg->file != RegisterFile::general) width = 1;
    meaning.spans.push_back(span_of(*operand.reg, width, destination, position + operand.start));
  }
  return true;
}

/// "@!P0 " in front of an instruction; moves `text` behind it.
Guard read_guard(std::string_view& text) {
  Guard guard;
  if (text.empty() || text[0] != '@') return guard;
  size_t end = std::min(text.find(' '), text.size());
  std::string_view written = text.substr(1, end - 1);
  text = trim(text.substr(end));
  if (starts_with(written, "!")) {
    guard.negated = true;
    written.remove_prefix(1);
  }
  RegisterToken token = read_register(written);
  if (token.reg) {
    guard.always = false;
    guard.predicate = *token.reg;
  } else if (token.kind == OperandKind::predicate && guard.negated) {
    guard.always = false;  // @!PT: never
  }
  return guard;
}

void read_flow(const OpcodeFacts& facts, std::string_view operands, SassMeaning& meaning) {
  meaning.flow = facts.flow;
  if (facts.flow != Flow::call && facts.flow != Flow::branch) return;
  std::string_view label = label_in(operands);
  // CALL.REL.NOINC R4 `(kernel): the register says where, the name only where R4 counts from.
  const bool by_register =
      !operands.empty() && read_register(operands).kind == OperandKind::register_;
  if (facts.flow == Flow::call && (by_register || label.empty()))
    meaning.flow = Flow::indirect_call;
  else if (facts.flow == Flow::call)
    meaning.label = label;
}

/// IMAD is also the compiler's way to move, add and shift in the multiplier's pipeline.
OpClass refine_class(const OpcodeFacts& facts, const SassOpcode& opcode) {
  if (opcode.base == "IMAD" || opcode.base == "UIMAD") {
    if (opcode.has("MOV")) return OpClass::move;
    if (opcode.has("IADD") || opcode.has("SHL") || opcode.has("X")) return OpClass::integer;
  }
  return facts.op_class;
}

}  // namespace

std::optional<unsigned> hidden_descriptor(uint64_t high, OpClass op_class, MemorySpace space,
                                          std::string_view text) {
  constexpr uint64_t kHasDescriptor = uint64_t{1} << (91 - 64);
  const bool global = space == MemorySpace::global || space == MemorySpace::generic;
  if (!global || !(high & kHasDescriptor)) return std::nullopt;
  if (text.find(".64") == std::string::npos || text.find("UR") != std::string::npos)
    return std::nullopt;
  // Loads have it where the others have their data.
  return op_class == OpClass::load ? 32 : 64;
}

void add_hidden_descriptor(uint64_t low, uint64_t high, Instruction& instruction) {
  std::optional<unsigned> bit =
      hidden_descriptor(high, instruction.op_class, instruction.space, instruction.text);
  if (!bit) return;
  constexpr uint8_t kNone = 63;  // URZ
  uint8_t index = (*bit < 64 ? low >> *bit : high) & 63;
  if (index == kNone) return;
  add_registers(span_of({RegisterFile::uniform, index}, 2, false, 0), instruction.uses);
  sort_registers(instruction.uses);
}

void add_registers(const RegisterSpan& span, std::vector<Register>& registers) {
  for (unsigned i = 0; i < span.count && span.first.index + i < 255; ++i)
    registers.push_back({span.first.file, static_cast<uint8_t>(span.first.index + i)});
}

void add_barriers(Instruction& out) {
  auto barrier = [](uint8_t index) { return Register{RegisterFile::barrier, index}; };
  if (out.control.write_barrier < 6) out.defs.push_back(barrier(out.control.write_barrier));
  if (out.control.read_barrier < 6) out.defs.push_back(barrier(out.control.read_barrier));
  for (uint8_t i = 0; i < 6; ++i)
    if (out.control.wait_mask >> i & 1) out.uses.push_back(barrier(i));
  sort_registers(out.defs);
  sort_registers(out.uses);
}

void drop_padding(std::vector<Instruction>& instructions) {
  size_t kept = instructions.size();
  while (kept > 1 && instructions[kept - 1].opcode == "NOP") --kept;
  const bool padding = kept < instructions.size() && instructions[kept - 1].flow == Flow::branch &&
                       instructions[kept - 1].target == instructions[kept - 1].offset;
  if (padding) instructions.resize(kept);
}

void sort_registers(std::vector<Register>& registers) {
  if (registers.size() < 2) return;
  if (!std::is_sorted(registers.begin(), registers.end()))
    std::sort(registers.begin(), registers.end());
  registers.erase(std::unique(registers.begin(), registers.end()), registers.end());
}

std::optional<SassMeaning> read_meaning(std::string_view name, std::string_view operands) {
  SassOpcode opcode(name);
  const OpcodeFacts* facts = find_opcode(opcode.base);
  SassMeaning meaning;
  if (!facts || !read_operands(*facts, opcode, operands, meaning)) return std::nullopt;
  meaning.op_class = refine_class(*facts, opcode);
  meaning.space = facts->space;
  read_flow(*facts, operands, meaning);
  return meaning;
}

Instruction read_sass(std::string_view text) {
  Instruction instruction;
  text = trim(text);
  instruction.text = text;
  instruction.guard = read_guard(text);
  size_t end = std::min(text.find(' '), text.size());
  instruction.opcode = text.substr(0, end);
  std::optional<SassMeaning> meaning = read_meaning(instruction.opcode, trim(text.substr(end)));
  if (!meaning) {
    instruction.known = false;
    return instruction;
  }
  instruction.op_class = meaning->op_class;
  instruction.space = meaning->space;
  instruction.access_bytes = meaning->access_bytes;
  instruction.flow = meaning->flow;
  instruction.target_symbol = meaning->label;
  for (const RegisterSpan& span : meaning->spans)
    add_registers(span, span.defined ? instruction.defs : instruction.uses);
  if (!instruction.guard.always && instruction.guard.predicate.index < kPredicates)
    instruction.uses.push_back(instruction.guard.predicate);
  sort_registers(instruction.defs);
  sort_registers(instruction.uses);
  return instruction;
}

}  // namespace fathom
