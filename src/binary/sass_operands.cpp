#include "binary/sass_operands.h"

#include "base/text.h"

namespace fathom {
namespace {

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

SassOperand read_operand(std::string_view text) {
  SassOperand operand;
  operand.text = text;
  size_t start = text.find_first_not_of("-~!|+ ");
  if (start == text.npos) return operand;
  RegisterToken token = read_register(text.substr(start));
  if (token.length) {
    operand.kind = token.kind;
    operand.start = start;
    operand.reg = token.reg;
    operand.negated = text[0] == '!';
    operand.scalar = text.find(".F32", start + token.length) != text.npos;
    operand.wide = text.find(".64", start + token.length) != text.npos;
  } else if (text.find('[') != text.npos) {
    operand.kind = OperandKind::address;
  } else if (text[start] == '`') {
    operand.kind = OperandKind::label;
  }
  return operand;
}

/// The comma that ends the first operand; commas in brackets and names do not.
size_t operand_end(std::string_view text) {
  int depth = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '(' || c == '[') ++depth;
    if (c == ')' || c == ']') --depth;
    if (c == ',' && depth <= 0) return i;
  }
  return text.size();
}

}  // namespace

SassOpcode::SassOpcode(std::string_view opcode) {
  size_t dot = opcode.find('.');
  base = opcode.substr(0, dot);
  while (dot != opcode.npos && modifier_count < modifiers.size()) {
    size_t next = opcode.find('.', dot + 1);
    modifiers[modifier_count++] = opcode.substr(dot + 1, next - dot - 1);
    dot = next;
  }
}

bool SassOpcode::has(std::string_view modifier) const {
  for (size_t i = 0; i < modifier_count; ++i)
    if (modifiers[i] == modifier) return true;
  return false;
}

RegisterToken read_register(std::string_view text) {
  RegisterToken token;
  size_t at = 0;
  const bool uniform = at < text.size() && text[at] == 'U';
  if (uniform) ++at;
  if (at >= text.size() || (text[at] != 'R' && text[at] != 'P')) return token;
  const bool predicate = text[at++] == 'P';
  const size_t digits = at;
  unsigned index = 0;
  while (at < text.size() && is_digit(text[at]) && index < 256)
    index = index * 10 + (text[at++] - '0');
  bool zero = false, all = false;
  if (at == digits && at < text.size()) {
    zero = text[at] == (predicate ? 'T' : 'Z');
    all = predicate && text[at] == 'R';
    if (zero || all) ++at;
  }
  if (at == digits || index > 255 || (at < text.size() && is_word(text[at]))) return token;
  token.length = at;
  token.kind = all         ? OperandKind::predicate_set
               : predicate ? OperandKind::predicate
                           : OperandKind::register_;
  if (zero || all) return token;
  RegisterFile file = predicate
                          ? (uniform ? RegisterFile::uniform_predicate : RegisterFile::predicate)
                          : (uniform ? RegisterFile::uniform : RegisterFile::general);
  token.reg = Register{file, static_cast<uint8_t>(index)};
  return token;
}

SassOperands::SassOperands(std::string_view text) {
  text = trim(text);
  while (!text.empty() && count < kMostOperands) {
    size_t end = operand_end(text);
    list[count++] = read_operand(trim(text.substr(0, end)));
    text.remove_prefix(end == text.size() ? end : end + 1);
  }
}

std::string_view label_in(std::string_view text) {
  size_t open = text.find("`(");
  if (open == text.npos) return {};
  text.remove_prefix(open + 2);
  size_t close = text.rfind(')');
  return close == text.npos ? std::string_view() : text.substr(0, close);
}

}  // namespace fathom
