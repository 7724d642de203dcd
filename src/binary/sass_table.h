#pragma once
// The encodings of NVIDIA's instructions: data/sass.table as structures. README.md has its format.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom {

/// One machine instruction: bits 0 to 63, and 64 to 127.
struct SassWord {
  uint64_t low = 0;
  uint64_t high = 0;

  /// Up to 64 bits; those behind bit 127 are zeros.
  uint64_t bits(unsigned start, unsigned width) const {
    uint64_t value = start >= 64 ? high >> (start - 64) : low >> start;
    if (start < 64 && start + width > 64) value |= high << (64 - start);
    return width < 64 ? value & ((uint64_t{1} << width) - 1) : value;
  }
  void set(unsigned bit) { (bit < 64 ? low : high) |= uint64_t{1} << (bit & 63); }
  bool operator==(const SassWord&) const = default;
};

/// A register or predicate number; all ones are RZ, URZ, PT, UPT.
struct SassField {
  uint8_t start = 0;
  uint8_t width = 0;

  uint64_t in(const SassWord& word) const { return word.bits(start, width); }
  bool is_default(const SassWord& word) const { return in(word) == (uint64_t{1} << width) - 1; }
};

/// A number in the text: the sum of its bits' weights, or the bits of a floating-point number.
struct SassLiteral {
  enum class Kind : uint8_t { hexadecimal, decimal, floating };
  struct Run {
    uint8_t start = 0, count = 0;
    int64_t weight = 0;  ///< of the first bit; each next one weighs twice as much
  };
  Kind kind = Kind::hexadecimal;
  std::vector<Run> runs;

  int64_t value(const SassWord& word) const;
};

/// A fact that modifiers and operands depend on.
struct SassAtom {
  enum class Kind : uint8_t { bit, default_register, zero, one, power, half_word };
  Kind kind = Kind::bit;
  uint8_t at = 0;  ///< bit, field's start, or literal's number
};

/// Facts that matter together: each combination that exists has a piece of text for each place.
struct SassGroup {
  std::vector<SassAtom> atoms;
  size_t places = 0;
  std::vector<std::pair<uint64_t, uint32_t>> rows;  ///< by combination: the first of its pieces
  std::vector<std::string> pieces;                  ///< "" where there is nothing
};

/// A part of the name or the operands: text that is always there, or a place of a group.
struct SassPart {
  int group = -1;
  uint32_t place = 0;
  std::string text;
};

struct SassEntry {
  uint16_t opcode = 0;  ///< bits 0 to 11
  bool uniform_guard = false;
  SassWord fixed_mask, fixed_value;
  std::vector<SassField> fields;
  std::vector<SassLiteral> literals;
  std::vector<SassPart> name, operands;
  std::vector<SassGroup> groups;

  const SassField* field(unsigned start) const;
  bool holds(const SassAtom& atom, const SassWord& word) const;
  /// For each group where its pieces start; nothing if the entry does not describe the word.
  std::optional<std::vector<uint32_t>> match(const SassWord& word) const;
};

/// What one architecture has, entries of one opcode in the order in which they are to be tried.
struct SassTable {
  std::vector<SassEntry> entries;
  std::array<std::pair<uint32_t, uint32_t>, 4096> by_opcode{};  ///< first entry, count
  unsigned compute = 0;
};

/// The entries for an architecture ("compute" 90 for sm_90 and sm_90a).
/// Errors: a line that is not as the format says, with its number.
Result<SassTable> parse_sass_table(std::string_view text, unsigned compute);

/// The table that is part of the program; nothing for an architecture that it does not have.
const SassTable* native_table(unsigned compute);

}  // namespace fathom
