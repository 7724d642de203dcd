#pragma once
// Just enough of 64-bit little-endian ELF for GPU binaries. Headers are read on demand, so that
// asking for one section of a large file costs nothing.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace fathom {

struct ElfSection {
  std::string_view name;
  uint32_t type = 0;
  uint64_t flags = 0;
  uint64_t size = 0;  ///< also of sections without bytes (.nv.shared)
  uint32_t link = 0;
  uint32_t info = 0;
  Bytes data;  ///< empty for sections without bytes
};
struct ElfSymbol {
  std::string_view name;
  uint64_t value = 0;
  uint64_t size = 0;
  uint8_t type = 0;
  uint8_t other = 0;
  uint32_t section = 0;  ///< 0: undefined, or no section at all
};
struct ElfRelocation {
  uint64_t offset = 0;
  uint32_t symbol = 0;
  std::optional<int64_t> addend;  ///< nothing: it stands in the relocated bytes (SHT_REL)
};

inline constexpr uint32_t kElfSymbolTable = 2, kElfRela = 4, kElfNoBits = 8, kElfRel = 9;
inline constexpr uint8_t kElfSectionSymbol = 3, kElfFunctionSymbol = 2;
inline constexpr uint16_t kElfMachineCuda = 190;

class ElfFile {
 public:
  /// Errors: not ELF (says what it is), 32-bit, big-endian, or a section table outside the file.
  static Result<ElfFile> open(Bytes bytes, std::string where);

  uint16_t machine() const { return machine_; }
  uint32_t flags() const { return flags_; }
  uint8_t abi_version() const { return abi_version_; }
  uint32_t section_count() const { return section_count_; }
  /// Errors: no such section, or one that reaches beyond the file.
  Result<ElfSection> section(uint32_t index) const;
  /// The name only; empty if it cannot be read.
  std::string_view section_name(uint32_t index) const;
  /// All of the symbol table; empty if the file has none.
  Result<std::vector<ElfSymbol>> symbols() const;
  /// Relocations of section `target`, sorted by offset.
  Result<std::vector<ElfRelocation>> relocations(uint32_t target) const;
  Error damaged(std::string what) const;

 private:
  struct Header;
  std::optional<Header> header(uint32_t index) const;
  /// Section numbers of symbols that do not fit into 16 bits (SHT_SYMTAB_SHNDX).
  Bytes wide_section_indexes(uint32_t symbol_table) const;
  std::string_view string_at(uint32_t table, uint64_t offset) const;

  Bytes bytes_;
  std::string where_;
  uint16_t machine_ = 0;
  uint8_t abi_version_ = 0;
  uint32_t flags_ = 0;
  uint64_t section_table_ = 0;
  uint32_t section_count_ = 0;
  uint32_t names_ = 0;  ///< index of the section with the sections' names
};

}  // namespace fathom
