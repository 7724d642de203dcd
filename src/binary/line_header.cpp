#include "binary/line_header.h"

#include "base/text.h"

namespace fathom {
namespace {

enum Content : uint64_t { kPath = 1, kDirectoryIndex = 2 };
enum Form : uint64_t {
  kBlock2 = 0x03,
  kBlock4 = 0x04,
  kData2 = 0x05,
  kData4 = 0x06,
  kData8 = 0x07,
  kString = 0x08,
  kBlock = 0x09,
  kBlock1 = 0x0a,
  kData1 = 0x0b,
  kStrp = 0x0e,
  kUdata = 0x0f,
  kData16 = 0x1e,
  kLineStrp = 0x1f
};

struct Value {
  std::string_view text;
  uint64_t number = 0;
};

std::string_view string_at(Bytes section, uint64_t offset) {
  return offset <= section.size() ? ByteReader(section, offset).c_string() : std::string_view();
}

Value read_value(ByteReader& reader, uint64_t form, bool wide, const DebugStrings& strings) {
  auto offset = [&] { return wide ? reader.u64() : reader.u32(); };
  Value value;
  switch (form) {
    case kString:
      value.text = reader.c_string();
      break;
    case kStrp:
      value.text = string_at(strings.str, offset());
      break;
    case kLineStrp:
      value.text = string_at(strings.line_str, offset());
      break;
    case kData1:
      value.number = reader.u8();
      break;
    case kData2:
      value.number = reader.u16();
      break;
    case kData4:
      value.number = reader.u32();
      break;
    case kData8:
      value.number = reader.u64();
      break;
    case kUdata:
      value.number = reader.uleb128();
      break;
    case kData16:
      reader.skip(16);
      break;
    case kBlock:
      reader.skip(reader.uleb128());
      break;
    case kBlock1:
      reader.skip(reader.u8());
      break;
    case kBlock2:
      reader.skip(reader.u16());
      break;
    case kBlock4:
      reader.skip(reader.u32());
      break;
    default:
      reader.fail();
  }
  return value;
}

/// A table of directories or files as DWARF 5 has it: a description of the columns, then the rows.
std::vector<LineHeader::File> read_table(ByteReader& reader, bool wide,
                                         const DebugStrings& strings) {
  struct Column {
    uint64_t content, form;
  };
  std::vector<Column> columns;
  for (unsigned left = reader.u8(); left && !reader.failed(); --left) {
    uint64_t content = reader.uleb128();
    columns.push_back({content, reader.uleb128()});
  }
  std::vector<LineHeader::File> rows;
  uint64_t count = reader.uleb128();
  if (columns.empty() && count) reader.fail();
  for (; count && !reader.failed(); --count) {
    LineHeader::File row;
    for (const Column& column : columns) {
      Value value = read_value(reader, column.form, wide, strings);
      if (column.content == kPath) row.name = value.text;
      if (column.content == kDirectoryIndex) row.directory = value.number;
    }
    rows.push_back(row);
  }
  return rows;
}

void read_old_tables(ByteReader& reader, LineHeader& header) {
  header.directories.emplace_back();  // 0: where the compiler ran, which the line table lacks
  for (;;) {
    std::string_view directory = reader.c_string();
    if (directory.empty()) break;
    header.directories.push_back(directory);
  }
  header.files.emplace_back();  // files count from 1
  for (;;) {
    std::string_view name = reader.c_string();
    if (name.empty()) break;
    header.files.push_back({name, reader.uleb128()});
    reader.uleb128();  // time
    reader.uleb128();  // size
  }
}

}  // namespace

std::string LineHeader::path(uint64_t file) const {
  if (file >= files.size()) return {};
  std::string_view name = files[file].name;
  uint64_t directory = files[file].directory;
  if (starts_with(name, "/") || directory >= directories.size() || directories[directory].empty())
    return std::string(name);
  std::string path(directories[directory]);
  // A relative directory is one below the first (DWARF 5); older tables do not name that.
  if (version >= 5 && directory != 0 && !starts_with(path, "/") && !directories[0].empty())
    path = std::string(directories[0]) + "/" + path;
  return path + "/" + std::string(name);
}

std::optional<LineHeader> read_line_header(ByteReader& reader, uint16_t version, bool wide,
                                           const DebugStrings& strings) {
  LineHeader header;
  header.version = version;
  if (version >= 5) reader.skip(2);  // sizes of addresses and segment selectors
  uint64_t length = wide ? reader.u64() : reader.u32();
  if (length > reader.remaining()) return std::nullopt;
  const size_t program = reader.position() + length;
  header.minimum_instruction_length = reader.u8();
  if (version >= 4) reader.u8();  // operations for each instruction: for VLIW machines only
  reader.u8();                    // default of is_stmt
  header.line_base = reader.read<int8_t>();
  header.line_range = reader.u8();
  header.opcode_base = reader.u8();
  for (unsigned i = 1; i < header.opcode_base; ++i) header.operand_counts.push_back(reader.u8());
  if (version >= 5) {
    for (const LineHeader::File& row : read_table(reader, wide, strings))
      header.directories.push_back(row.name);
    header.files = read_table(reader, wide, strings);
  } else {
    read_old_tables(reader, header);
  }
  if (reader.failed() || header.line_range == 0 || header.opcode_base == 0) return std::nullopt;
  reader.seek(program);
  return header;
}

}  // namespace fathom
