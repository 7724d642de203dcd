#include "prediction/register_reads.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace fathom {
namespace {

constexpr std::string_view kReuse = ".reuse";

bool reads(const Instruction& instruction, unsigned index) {
  return std::any_of(instruction.uses.begin(), instruction.uses.end(), [&](const Register& each) {
    return each.file == RegisterFile::general && each.index == index;
  });
}

/// Whether the text has the register with ".reuse"; a pair is named by its first.
bool keeps(const Instruction& instruction, unsigned index) {
  const std::string_view text = instruction.text;
  for (size_t at = text.find(kReuse); at != text.npos; at = text.find(kReuse, at + 1)) {
    const size_t end = at >= 3 && text.substr(at - 3, 3) == ".64" ? at - 3 : at;
    size_t digits = end;
    while (digits > 0 && std::isdigit(static_cast<unsigned char>(text[digits - 1]))) --digits;
    if (digits == end || digits == 0 || text[digits - 1] != 'R') continue;
    unsigned kept = 0;
    std::from_chars(text.data() + digits, text.data() + end, kept);
    if (index == kept || (index == kept + 1 && reads(instruction, index))) return true;
  }
  return false;
}

/// The others read their operands on their way to a queue that all schedulers share.
bool reads_at_issue(OpClass op_class) {
  switch (op_class) {
    case OpClass::integer:
    case OpClass::integer_multiply:
    case OpClass::fp32:
    case OpClass::fp64:
    case OpClass::fp16:
    case OpClass::move:
    case OpClass::predicate:
      return true;
    default:
      return false;
  }
}

}  // namespace

unsigned register_read_cycles(const Instruction& instruction, const Instruction* before) {
  if (!reads_at_issue(instruction.op_class)) return 1;
  std::array<unsigned, 2> reads{};
  for (const Register& each : instruction.uses)
    if (each.file == RegisterFile::general && !(before && keeps(*before, each.index)))
      ++reads[each.index % 2];
  return std::max({1u, reads[0], reads[1]});
}

}  // namespace fathom
