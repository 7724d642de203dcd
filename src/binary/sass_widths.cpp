#include "binary/sass_widths.h"

#include <charconv>

#include "base/text.h"

namespace fathom {
namespace {

unsigned number(std::string_view text) {
  unsigned value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

bool is_64_bit(std::string_view type) {
  return type == "F64" || type == "S64" || type == "U64";
}

void convert(const SassOpcode& opcode, OperandWidths& widths) {
  // F2F names both types, destination first; the others name integer and floating type, one of
  // which may be left out, or for FRND the one type of both.
  const bool both_named = opcode.base == "F2F" || opcode.base == "UF2F";
  unsigned seen = 0;
  for (size_t i = 0; i < opcode.modifier_count; ++i) {
    std::string_view type = opcode.modifiers[i];
    const bool integer = type == "S64" || type == "U64";
    if (both_named) {
      const bool is_type = type[0] == 'F' || type[0] == 'B' || type == "TF32";
      if (!is_type || type == "FTZ" || type == "FLOOR") continue;
      if (seen == 0 && type == "F64") widths.destination[0] = 2;
      if (seen == 1 && type == "F64") widths.source[0] = 2;
      ++seen;
    } else if (type == "U4TO8") {
      widths.destination[0] = 2;
    } else if (is_64_bit(type)) {
      const bool to_float = opcode.base.find("I2F") != opcode.base.npos;
      const bool round = opcode.base.find("FRND") != opcode.base.npos;
      if (round || integer != to_float) widths.destination[0] = 2;
      if (round || integer == to_float) widths.source[0] = 2;
    }
  }
}

/// Bits of a matrix element by the name of its type; 0 for what is not a type.
unsigned element_bits(std::string_view type) {
  if (type == "F64") return 64;
  if (type == "F32" || type == "TF32" || type == "S32") return 32;
  if (type == "F16" || type == "BF16") return 16;
  if (type == "S8" || type == "U8" || type == "E4M3" || type == "E5M2" || type == "E2M3" ||
      type == "E3M2" || type == "E2M1")
    return 8;
  if (type == "S4" || type == "U4") return 4;
  return 0;
}

struct MatrixShape {
  unsigned m = 0, n = 0, k = 0;
};

/// "64x128x16", or "16816" for 16x8x16: N is 8 there, and M 8 or 16.
MatrixShape matrix_shape(std::string_view text) {
  std::vector<std::string_view> parts = split(text, 'x');
  if (parts.size() == 3) return {number(parts[0]), number(parts[1]), number(parts[2])};
  if (text.find_first_not_of("0123456789") != text.npos) return {};
  if (starts_with(text, "168")) return {16, 8, number(text.substr(3))};
  if (starts_with(text, "88")) return {8, 8, number(text.substr(2))};
  return {};
}

void matrix(const SassOpcode& opcode, const SassOperand* sources, size_t count,
            OperandWidths& widths) {
  MatrixShape shape;
  unsigned result_bits = 0, input_bits = 0;
  bool sparse = false;
  for (size_t i = 0; i < opcode.modifier_count; ++i) {
    std::string_view modifier = opcode.modifiers[i];
    if (modifier == "SP") sparse = true;
    if (shape.m == 0) shape = matrix_shape(modifier);
    unsigned bits = element_bits(modifier);
    if (!bits) continue;
    (result_bits ? input_bits : result_bits) = bits;
  }
  char kind = opcode.base[0];
  const bool integers = kind == 'I' || kind == 'B';
  if (integers) input_bits = kind == 'B' ? 1 : result_bits;  // the types named are the inputs'
  if (integers) result_bits = 32;
  if (kind == 'D') result_bits = input_bits = 64;
  if (kind == 'H' && !input_bits) input_bits = 16;
  if (kind == 'O') input_bits = 4;
  const unsigned threads = opcode.base.size() == 5 ? 128 : 32;  // ?GMMA: by a warp group
  auto registers = [&](unsigned rows, unsigned columns, unsigned bits) {
    uint64_t width = uint64_t{rows} * columns * bits / (32 * threads);
    return static_cast<uint16_t>(std::min<uint64_t>(std::max<uint64_t>(width, 1), 255));
  };
  const uint16_t a = registers(shape.m, sparse ? shape.k / 2 : shape.k, input_bits);
  const uint16_t b = registers(shape.k, shape.n, input_bits);
  const uint16_t c = registers(shape.m, shape.n, result_bits);
  widths.destination[0] = c;
  if (threads == 32) {
    widths.source[0] = a;
    widths.source[1] = b;
    widths.source[2] = c;
    return;
  }
  // A from registers and B by descriptor, or both by one pair of descriptors.
  const bool a_in_registers = count && sources[0].kind == OperandKind::register_;
  widths.source[0] = a;
  widths.source_address[a_in_registers ? 1 : 0] = 4;
  widths.source[a_in_registers ? 2 : 1] = c;
}

/// "2D" and the like among an opcode's modifiers: how many coordinates.
unsigned tensor_dimensions(const SassOpcode& opcode) {
  for (size_t i = 0; i < opcode.modifier_count; ++i) {
    std::string_view modifier = opcode.modifiers[i];
    if (modifier.size() == 2 && modifier[1] == 'D') return number(modifier.substr(0, 1));
  }
  return 0;
}

/// Copies and commands of the asynchronous units: which uniform registers an address takes.
void bulk(const SassOpcode& opcode, OperandWidths& widths) {
  const unsigned dimensions = tensor_dimensions(opcode);
  widths.source_address[0] = 2;  // global; or shared with the barrier that is told of the end
  if (opcode.base == "UTMALDG") widths.source_address[0] = static_cast<uint8_t>(2 + dimensions);
  if (opcode.base == "UTMASTG" || opcode.base == "UTMAREDG")
    widths.source_address[0] = static_cast<uint8_t>(1 + dimensions);
  if (opcode.base == "UTMAPF") widths.source_address[0] = static_cast<uint8_t>(dimensions);
  widths.source_address[1] = 2;
  const bool from_shared = opcode.has("G") && opcode.has("S") && opcode.modifiers[0] == "G";
  if (from_shared) widths.source_address[1] = 1;
}

/// Bytes of data of a memory operation, for each thread.
unsigned memory_bytes(const SassOpcode& opcode) {
  unsigned bytes = 4;
  for (size_t i = 0; i < opcode.modifier_count; ++i) {
    std::string_view modifier = opcode.modifiers[i];
    if (modifier == "U8" || modifier == "S8") bytes = 1;
    if (modifier == "U16" || modifier == "S16") bytes = 2;
    if (modifier == "64" || modifier == "F64" || modifier == "F32x2" || modifier == "S64" ||
        modifier == "U64")
      bytes = 8;
    if (modifier == "128" || modifier == "F32x4") bytes = 16;
    if (modifier == "256") bytes = 32;
  }
  return bytes;
}

/// LDSM, STSM .M88.4: as many 8x8 matrices; LDTM, STTM .x4: as many times the shape's registers.
unsigned repeated_bytes(const SassOpcode& opcode) {
  unsigned registers = 1, times = 1;
  for (size_t i = 0; i < opcode.modifier_count; ++i) {
    std::string_view modifier = opcode.modifiers[i];
    if (modifier == "2" || modifier == "4") times = number(modifier);
    if (modifier[0] == 'x') times = number(modifier.substr(1));
    if (modifier == "16dp128bit") registers = 2;
    if (modifier == "16dp256bit") registers = 4;
  }
  return std::min(registers * times, 255u) * 4;
}

void memory(const OpcodeFacts& facts, const SassOpcode& opcode, OperandWidths& widths) {
  const bool repeated = opcode.base == "LDSM" || opcode.base == "STSM" || opcode.base == "LDTM" ||
                        opcode.base == "STTM";
  unsigned bytes = repeated ? repeated_bytes(opcode) : memory_bytes(opcode);
  if (opcode.base != "LDTM" && opcode.base != "STTM")
    widths.access_bytes = static_cast<uint8_t>(std::min(bytes, 255u));
  unsigned registers = std::max(1u, bytes / 4);
  if (opcode.has("ENL2")) registers /= 2;  // the data stand in two operands
  widths.destination.fill(registers);
  if (facts.op_class == OpClass::store || facts.op_class == OpClass::atomic ||
      facts.op_class == OpClass::tensor)
    widths.source.fill(registers);
}

void texture(const SassOpcode& opcode, const SassOperand* sources, size_t count,
             OperandWidths& widths) {
  unsigned dimensions = 1;
  auto look = [&](std::string_view text) {
    if (text.find("2D") != text.npos) dimensions = 2;
    if (text.find("3D") != text.npos || text.find("CUBE") != text.npos) dimensions = 3;
    if (starts_with(text, "ARRAY_")) ++dimensions;
  };
  for (size_t i = 0; i < opcode.modifier_count; ++i) look(opcode.modifiers[i]);
  for (size_t i = 0; i < count; ++i) look(sources[i].text);
  if (starts_with(opcode.base, "SU")) {
    widths.access_bytes = static_cast<uint8_t>(memory_bytes(opcode));
    widths.destination.fill(std::max(1, widths.access_bytes / 4));
    for (size_t i = 0; i < count; ++i)
      if (!sources[i].reg || sources[i].reg->file == RegisterFile::general)
        widths.source[i] = static_cast<uint16_t>(std::max(1, widths.access_bytes / 4));
    widths.address = dimensions;
    return;
  }
  // The mask of wanted components comes last; the first two go to the second destination.
  unsigned mask = 0, components = 0;
  std::string_view last = count ? sources[count - 1].text : std::string_view();
  if (starts_with(last, "0x"))
    std::from_chars(last.data() + 2, last.data() + last.size(), mask, 16);
  for (unsigned bit = 0; bit < 4; ++bit) components += mask >> bit & 1;
  widths.destination[0] = components > 2 ? components - 2 : 1;
  widths.destination[1] = components > 1 ? 2 : 1;
  widths.source[0] = dimensions;
  // Split coordinates: two here, the rest and what else is wanted in the second operand.
  if (opcode.has("SCR")) {
    widths.source[0] = std::min(dimensions, 2u);
    widths.source[1] = std::max(dimensions, 2u) - 2 + (opcode.has("LL") ? 1 : 0);
    widths.source[1] = std::max<uint16_t>(widths.source[1], 1);
  }
  if (opcode.base == "TXD") widths.source[1] = 2 * dimensions;
  for (size_t i = 0; i < count; ++i)  // the handle
    if (sources[i].reg && sources[i].reg->file == RegisterFile::uniform) widths.source[i] = 2;
}

/// Shared-memory barriers: states and values of 64 bits.
void synchronize(const SassOpcode& opcode, OperandWidths& widths) {
  widths.destination[0] = 2;
  if (opcode.has("64")) widths.source.fill(2);
}

/// Blackwell's matrix unit: scales, the tmem[] behind idesc[], are two columns.
void tensor_unit(const SassOperand* sources, size_t count, OperandWidths& widths) {
  for (size_t i = 1; i < count; ++i)
    if (starts_with(sources[i].text, "tmem[") && starts_with(sources[i - 1].text, "idesc["))
      widths.source_address[i] = 2;
}

}  // namespace

OperandWidths operand_widths(const OpcodeFacts& facts, const SassOpcode& opcode,
                             const SassOperand* sources, size_t source_count) {
  OperandWidths widths;
  const bool global = facts.space == MemorySpace::global || facts.space == MemorySpace::generic;
  if (global || opcode.has("E")) widths.address = 2;
  if (opcode.base == "LDGSTS") widths.source_address[0] = 1;  // where it goes: shared memory
  switch (facts.widths) {
    case Widths::one:
      break;
    case Widths::pair:
      widths.destination.fill(2);
      widths.source.fill(2);
      break;
    case Widths::pair_result:
      widths.destination[0] = opcode.has("32") ? 1 : 2;
      break;
    case Widths::pair_source:
      widths.source.fill(2);
      break;
    case Widths::sized:
      if (opcode.has("64") || opcode.has("S64") || opcode.has("U64")) {
        widths.destination.fill(2);
        widths.source.fill(2);
      }
      break;
    case Widths::multiply:
      if (opcode.has("WIDE")) widths.destination[0] = 2;
      if (opcode.has("WIDE") || opcode.has("HI")) widths.source[2] = 2;
      break;
    case Widths::convert:
      convert(opcode, widths);
      break;
    case Widths::memory:
      memory(facts, opcode, widths);
      break;
    case Widths::matrix:
      matrix(opcode, sources, source_count, widths);
      break;
    case Widths::sized_source:
      if (opcode.has("U64")) widths.source.fill(2);
      break;
    case Widths::bulk:
      bulk(opcode, widths);
      break;
    case Widths::synchronize:
      synchronize(opcode, widths);
      break;
    case Widths::tensor_unit:
      tensor_unit(sources, source_count, widths);
      break;
    case Widths::texture:
      texture(opcode, sources, source_count, widths);
      break;
  }
  return widths;
}

}  // namespace fathom
