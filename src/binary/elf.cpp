#include "binary/elf.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {
namespace {

constexpr uint64_t kSectionHeaderSize = 64;
constexpr uint64_t kSymbolSize = 24;
constexpr uint32_t kElfWideSectionIndexes = 18;

/// What a file is that is not ELF, as far as its first bytes tell.
std::string describe(Bytes bytes) {
  if (bytes.empty()) return "the file is empty";
  std::string_view text = as_text(bytes.subspan(0, std::min<size_t>(bytes.size(), 64)));
  if (starts_with(text, "\x50\xed\x55\xba")) return "a fat binary, not a cubin";
  if (starts_with(text, "//") || text.find(".version") != text.npos) return "PTX text, not a cubin";
  if (starts_with(text, "BC\xc0\xde")) return "LLVM bitcode, not a cubin";
  if (starts_with(text, "!<arch>")) return "an archive, not a cubin";
  if (starts_with("\x7f"
                  "ELF",
                  text.substr(0, 4)))
    return "an ELF file that is cut off";
  return "not an ELF file: it starts with " + hex(bytes.data(), std::min<size_t>(bytes.size(), 4));
}

const char* hint_for(std::string_view what) {
  if (what.find("fat binary") != what.npos) return "extract the cubins with cuobjdump -xelf all";
  if (what.find("PTX") != what.npos) return "assemble it with ptxas";
  return "give a cubin, as nvcc -cubin or cuobjdump -xelf all makes them";
}

}  // namespace

struct ElfFile::Header {
  uint32_t name, type;
  uint64_t flags, offset, size;
  uint32_t link, info;
};

Error ElfFile::damaged(std::string what) const {
  return {ErrorKind::bad_input, std::move(what), where_, "the file is damaged or cut off"};
}

Result<ElfFile> ElfFile::open(Bytes bytes, std::string where) {
  ElfFile file;
  file.bytes_ = bytes;
  file.where_ = std::move(where);
  if (bytes.size() < 4 || as_text(bytes.subspan(0, 4)) != std::string_view("\x7f"
                                                                           "ELF",
                                                                           4)) {
    std::string what = describe(bytes);
    return Error{ErrorKind::bad_input, what, file.where_, hint_for(what)};
  }
  if (bytes.size() < 64) return file.damaged("the ELF header is cut off");
  if (bytes[4] == 1)
    return Error{ErrorKind::bad_input, "a 32-bit ELF file", file.where_,
                 "compile the code for 64 bits (-m64)"};
  if (bytes[4] != 2 || bytes[5] != 1)
    return Error{ErrorKind::bad_input, "not a little-endian 64-bit ELF file", file.where_, ""};
  file.abi_version_ = bytes[8];
  ByteReader reader(bytes, 18);
  file.machine_ = reader.u16();
  reader.seek(40);
  file.section_table_ = reader.u64();
  file.flags_ = reader.u32();
  reader.seek(58);
  uint16_t entry_size = reader.u16();
  file.section_count_ = reader.u16();
  file.names_ = reader.u16();
  if (file.section_table_ == 0) {
    file.section_count_ = 0;
    return file;
  }
  if (entry_size != kSectionHeaderSize)
    return file.damaged(format("section headers of %u bytes instead of 64", entry_size));
  // More sections than 16 bits can count: the numbers stand in the first header.
  if (file.section_count_ == 0 || file.names_ == 0xffff) {
    file.section_count_ = std::max<uint32_t>(file.section_count_, 1);
    std::optional<Header> first = file.header(0);
    if (!first) return file.damaged("the section table lies outside the file");
    if (first->size > bytes.size() / kSectionHeaderSize)
      return file.damaged("the section table lies outside the file");
    if (first->size) file.section_count_ = static_cast<uint32_t>(first->size);
    if (file.names_ == 0xffff) file.names_ = first->link;
  }
  if (!slice(bytes, file.section_table_, file.section_count_ * kSectionHeaderSize))
    return file.damaged("the section table lies outside the file");
  return file;
}

std::optional<ElfFile::Header> ElfFile::header(uint32_t index) const {
  if (index >= section_count_) return std::nullopt;
  if (!slice(bytes_, section_table_, (index + uint64_t{1}) * kSectionHeaderSize))
    return std::nullopt;
  ByteReader reader(bytes_, section_table_ + index * kSectionHeaderSize);
  Header header;
  header.name = reader.u32();
  header.type = reader.u32();
  header.flags = reader.u64();
  reader.u64();  // address
  header.offset = reader.u64();
  header.size = reader.u64();
  header.link = reader.u32();
  header.info = reader.u32();
  return header;
}

Result<ElfSection> ElfFile::section(uint32_t index) const {
  std::optional<Header> found = header(index);
  if (!found) return damaged(format("there is no section %u", index));
  ElfSection section;
  section.name = section_name(index);
  section.type = found->type;
  section.flags = found->flags;
  section.size = found->size;
  section.link = found->link;
  section.info = found->info;
  if (found->type != kElfNoBits && found->type != 0) {
    std::optional<Bytes> data = slice(bytes_, found->offset, found->size);
    if (!data)
      return damaged(format("section %u (%.*s) reaches beyond the file", index,
                            int(section.name.size()), section.name.data()));
    section.data = *data;
  }
  return section;
}

std::string_view ElfFile::string_at(uint32_t table, uint64_t offset) const {
  std::optional<Header> strings = header(table);
  if (!strings || strings->type == kElfNoBits) return {};
  std::optional<Bytes> data = slice(bytes_, strings->offset, strings->size);
  if (!data || offset > data->size()) return {};
  return ByteReader(*data, offset).c_string();
}

std::string_view ElfFile::section_name(uint32_t index) const {
  std::optional<Header> found = header(index);
  return found ? string_at(names_, found->name) : std::string_view();
}

Bytes ElfFile::wide_section_indexes(uint32_t symbol_table) const {
  for (uint32_t i = 0; i < section_count_; ++i) {
    std::optional<Header> table = header(i);
    if (table && table->type == kElfWideSectionIndexes && table->link == symbol_table)
      return slice(bytes_, table->offset, table->size).value_or(Bytes());
  }
  return {};
}

Result<std::vector<ElfSymbol>> ElfFile::symbols() const {
  std::vector<ElfSymbol> symbols;
  for (uint32_t i = 0; i < section_count_; ++i) {
    std::optional<Header> table = header(i);
    if (!table || table->type != kElfSymbolTable) continue;
    std::optional<Bytes> data = slice(bytes_, table->offset, table->size);
    if (!data) return damaged("the symbol table reaches beyond the file");
    ByteReader reader(*data);
    ByteReader wide(wide_section_indexes(i));
    symbols.reserve(data->size() / kSymbolSize);
    while (reader.remaining() >= kSymbolSize) {
      ElfSymbol symbol;
      symbol.name = string_at(table->link, reader.u32());
      symbol.type = reader.u8() & 15;
      symbol.other = reader.u8();
      uint16_t section = reader.u16();
      uint32_t wide_section = wide.u32();
      symbol.section = section == 0xffff ? wide_section : section < 0xff00 ? section : 0;
      symbol.value = reader.u64();
      symbol.size = reader.u64();
      symbols.push_back(symbol);
    }
    break;
  }
  return symbols;
}

Result<std::vector<ElfRelocation>> ElfFile::relocations(uint32_t target) const {
  std::vector<ElfRelocation> relocations;
  for (uint32_t i = 0; i < section_count_; ++i) {
    std::optional<Header> table = header(i);
    if (!table || table->info != target) continue;
    if (table->type != kElfRel && table->type != kElfRela) continue;
    std::optional<Bytes> data = slice(bytes_, table->offset, table->size);
    if (!data)
      return damaged(format("the relocations of section %u reach beyond the file", target));
    ByteReader reader(*data);
    const bool explicit_addend = table->type == kElfRela;
    while (reader.remaining() >= (explicit_addend ? 24u : 16u)) {
      ElfRelocation relocation;
      relocation.offset = reader.u64();
      relocation.symbol = static_cast<uint32_t>(reader.u64() >> 32);
      if (explicit_addend) relocation.addend = static_cast<int64_t>(reader.u64());
      relocations.push_back(relocation);
    }
  }
  std::stable_sort(relocations.begin(), relocations.end(),
                   [](const auto& a, const auto& b) { return a.offset < b.offset; });
  return relocations;
}

}  // namespace fathom
