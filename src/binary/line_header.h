#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"

namespace fathom {

/// String sections that DWARF 5 headers and NVIDIA's inlining opcode refer to.
struct DebugStrings {
  Bytes str;       ///< .debug_str
  Bytes line_str;  ///< .debug_line_str
};

/// The header of one line program (DWARF 5, section 6.2.4; versions 2 to 5).
struct LineHeader {
  struct File {
    std::string_view name;
    uint64_t directory = 0;
  };
  uint16_t version = 0;
  uint8_t minimum_instruction_length = 1;
  int8_t line_base = 0;
  uint8_t line_range = 1;
  uint8_t opcode_base = 1;
  std::vector<uint8_t> operand_counts;  ///< of the standard opcodes, from 1 on
  std::vector<std::string_view> directories;
  std::vector<File> files;

  /// The full path of a file by its number in the program; empty if there is no such file.
  std::string path(uint64_t file) const;
};

/// Reads the header behind its length and version; the reader stands at the first opcode then.
/// Nothing if it is damaged.
std::optional<LineHeader> read_line_header(ByteReader& reader, uint16_t version, bool wide,
                                           const DebugStrings& strings);

}  // namespace fathom
