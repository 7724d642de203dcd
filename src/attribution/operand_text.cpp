#include "attribution/operand_text.h"

#include <charconv>
#include <cstdlib>

#include "base/text.h"

namespace fathom {
namespace {

bool read_number(std::string_view text, int64_t& value) {
  bool negative = starts_with(text, "-");
  if (negative || starts_with(text, "+")) text.remove_prefix(1);
  int base = starts_with(text, "0x") ? 16 : 10;
  if (base == 16) text.remove_prefix(2);
  uint64_t magnitude = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), magnitude, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return false;
  value = int64_t(negative ? 0 - magnitude : magnitude);
  return true;
}

bool read_decimal(std::string_view text, double& value) {
  if (text.empty() || text.find_first_of("0123456789") == std::string_view::npos) return false;
  std::string copy(text);
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return *end == 0;
}

/// R4, UR4, P0, UP0, RZ, URZ, PT, UPT.
bool read_register(std::string_view name, Operand& operand) {
  bool uniform = starts_with(name, "U");
  if (uniform) name.remove_prefix(1);
  if (name.size() < 2 || (name[0] != 'R' && name[0] != 'P')) return false;
  bool is_predicate = name[0] == 'P';
  name.remove_prefix(1);
  if (name != "Z" && name != "T") {
    auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), operand.number);
    if (error != std::errc() || end != name.data() + name.size()) return false;
  }
  operand.kind = is_predicate ? Operand::Kind::predicate
                 : uniform    ? Operand::Kind::uniform
                              : Operand::Kind::general;
  return true;
}

/// c[0x0][0x210]
bool read_constant(std::string_view text, Operand& operand) {
  if (!starts_with(text, "c[")) return false;
  size_t middle = text.find("][");
  if (middle == std::string_view::npos || text.back() != ']') return false;
  int64_t bank = 0;
  if (!read_number(text.substr(2, middle - 2), bank)) return false;
  std::string_view offset = text.substr(middle + 2, text.size() - middle - 3);
  if (offset != "RZ" && offset != "URZ" && !read_number(offset, operand.value)) return false;
  operand.bank = uint32_t(bank);
  operand.kind = Operand::Kind::constant;
  return true;
}

Operand read_operand(std::string_view text);

/// What stands between the brackets: parts with a + between them ("R4+-0x8").
Operand read_memory(std::string_view inside) {
  Operand memory;
  memory.kind = Operand::Kind::memory;
  for (std::string_view part : split(inside, '+'))
    if (!part.empty()) memory.parts.push_back(read_operand(part));
  return memory;
}

/// c[0x3][R8+0x10]: what is no number behind the bank.
bool read_indexed_constant(std::string_view text, Operand& operand) {
  if (!starts_with(text, "c[") || text.back() != ']') return false;
  size_t middle = text.find("][");
  int64_t bank = 0;
  if (middle == std::string_view::npos || !read_number(text.substr(2, middle - 2), bank))
    return false;
  operand.parts = read_memory(text.substr(middle + 2, text.size() - middle - 3)).parts;
  operand.bank = uint32_t(bank);
  operand.kind = Operand::Kind::indexed;
  return true;
}

void read_suffixes(std::string_view suffixes, Operand& operand) {
  for (std::string_view suffix : split(suffixes, '.')) {
    int64_t scale = 0;
    if (starts_with(suffix, "X") && read_number(suffix.substr(1), scale) && scale > 0)
      operand.scale = uint32_t(scale);
  }
}

Operand read_operand(std::string_view text) {
  Operand operand;
  text = trim(text);
  if (starts_with(text, "desc[")) {
    size_t memory = text.find("][");
    if (memory != std::string_view::npos) text.remove_prefix(memory + 1);
  }
  if (starts_with(text, "[") && ends_with(text, "]"))
    return read_memory(text.substr(1, text.size() - 2));
  operand.text = text;
  if (read_number(text, operand.value)) {
    operand.kind = Operand::Kind::immediate;
    return operand;
  }
  if (read_decimal(text, operand.decimal)) {
    operand.kind = Operand::Kind::decimal;
    return operand;
  }
  while (!text.empty() && (text[0] == '-' || text[0] == '~' || text[0] == '!')) {
    (text[0] == '~' ? operand.inverted : operand.negated) = true;
    text.remove_prefix(1);
  }
  operand.text = text;
  if (starts_with(text, "SR_") || text == "SRZ") operand.kind = Operand::Kind::special;
  if (operand.kind == Operand::Kind::special || read_constant(text, operand)) return operand;
  if (read_indexed_constant(text, operand)) return operand;
  size_t dot = text.find('.');
  std::string_view name = text.substr(0, dot);
  if (!read_register(name, operand)) return operand;
  operand.text = name;
  if (dot != std::string_view::npos) read_suffixes(text.substr(dot + 1), operand);
  return operand;
}

}  // namespace

std::vector<Operand> parse_operands(std::string_view text) {
  std::vector<Operand> operands;
  text = trim(text);
  for (int word = starts_with(text, "@") ? 2 : 1; word > 0; --word) {
    size_t space = text.find(' ');
    if (space == std::string_view::npos) return operands;
    text = trim(text.substr(space));
  }
  for (std::string_view operand : split(text, ','))
    if (!trim(operand).empty()) operands.push_back(read_operand(operand));
  return operands;
}

bool has_modifier(std::string_view opcode, std::string_view modifier) {
  std::vector<std::string_view> parts = split(opcode, '.');
  for (size_t i = 1; i < parts.size(); ++i)
    if (parts[i] == modifier) return true;
  return false;
}

}  // namespace fathom
