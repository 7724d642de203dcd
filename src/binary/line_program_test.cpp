#include "binary/line_program.h"

#include <gtest/gtest.h>

#include <list>

#include "binary/line_header.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

/// Bytes built up number by number.
class Writer {
 public:
  Writer& u8(unsigned value) { return number(value, 1); }
  Writer& u16(unsigned value) { return number(value, 2); }
  Writer& u32(uint64_t value) { return number(value, 4); }
  Writer& u64(uint64_t value) { return number(value, 8); }
  Writer& text(std::string_view value) {
    bytes.insert(bytes.end(), value.begin(), value.end());
    return u8(0);
  }
  Writer& append(const Writer& other) {
    bytes.insert(bytes.end(), other.bytes.begin(), other.bytes.end());
    return *this;
  }
  std::vector<uint8_t> bytes;

 private:
  Writer& number(uint64_t value, unsigned size) {
    for (unsigned i = 0; i < size; ++i) bytes.push_back(static_cast<uint8_t>(value >> 8 * i));
    return *this;
  }
};

Writer opcode_table() {
  Writer out;
  for (unsigned count : {0, 1, 1, 1, 1, 0, 0, 0, 1}) out.u8(count);
  return out;
}

/// What a header has between its length and its tables.
Writer parameters(uint16_t version) {
  Writer out;
  out.u8(1);
  if (version >= 4) out.u8(1);
  out.u8(1).u8(static_cast<uint8_t>(-5)).u8(14).u8(10);
  return out.append(opcode_table());
}

std::optional<LineHeader> read(uint16_t version, const Writer& tables, bool wide = false,
                               DebugStrings strings = {}) {
  Writer body = parameters(version).append(tables);
  static std::list<Writer> kept;  // the header's names are views of the bytes
  Writer& whole = kept.emplace_back();
  if (version >= 5) whole.u8(8).u8(0);
  wide ? whole.u64(body.bytes.size()) : whole.u32(body.bytes.size());
  whole.append(body).u8(0xaa);
  ByteReader reader(whole.bytes);
  std::optional<LineHeader> header = read_line_header(reader, version, wide, strings);
  if (header) {
    EXPECT_EQ(reader.u8(), 0xaa) << "stands at the program";
  }
  return header;
}

TEST(LineHeader, OldTablesCountFromOne) {
  Writer tables;
  tables.text("/src").text("").text("a.cu").u8(1).u8(0).u8(0);
  tables.text("b.cu").u8(0).u8(0).u8(0).text("/c.cu").u8(1).u8(0).u8(0).u8(0);
  for (uint16_t version : {2, 3, 4}) {
    std::optional<LineHeader> header = read(version, tables);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->line_base, -5);
    EXPECT_EQ(header->line_range, 14);
    EXPECT_EQ(header->path(1), "/src/a.cu");
    EXPECT_EQ(header->path(2), "b.cu");
    EXPECT_EQ(header->path(3), "/c.cu");
    EXPECT_EQ(header->path(0), "");
    EXPECT_EQ(header->path(4), "");
  }
}

TEST(LineHeader, Dwarf5TablesDescribeTheirColumns) {
  const std::string strings("/home\0a.cu\0", 11);
  DebugStrings sections;
  sections.line_str = Bytes(reinterpret_cast<const uint8_t*>(strings.data()), strings.size());
  for (bool wide : {false, true}) {
    Writer tables;
    auto offset = [&](uint64_t value) { wide ? tables.u64(value) : tables.u32(value); };
    tables.u8(1).u8(1).u8(0x1f).u8(2);  // directories: path as line_strp, two rows
    offset(0);
    offset(0);
    tables.u8(3).u8(1).u8(0x1f).u8(2).u8(0x0b).u8(5).u8(0x1e).u8(1);  // path, directory, MD5
    offset(6);
    tables.u8(1).u64(0).u64(0);
    std::optional<LineHeader> header = read(5, tables, wide, sections);
    ASSERT_TRUE(header);
    EXPECT_EQ(header->path(0), "/home/a.cu");
    EXPECT_EQ(header->path(1), "");
  }
}

TEST(LineHeader, DamageIsNoticed) {
  Writer rows_without_columns;
  rows_without_columns.u8(0).u8(0xff).u8(0xff).u8(0x7f);
  EXPECT_FALSE(read(5, rows_without_columns));
  Writer unknown_form;
  unknown_form.u8(1).u8(1).u8(0x7e).u8(1).u32(0).u8(0).u8(0);
  EXPECT_FALSE(read(5, unknown_form));
  EXPECT_FALSE(read(2, Writer().text("/src")));
  Writer too_long;
  too_long.u32(1000);
  ByteReader reader(too_long.bytes);
  EXPECT_FALSE(read_line_header(reader, 2, false, {}));
}

/// The fixture's cubin with `program` as its only line program; the sequence's address is relocated
/// where the original one was.
Result<LineTables> run(const std::vector<uint8_t>& program) {
  std::vector<uint8_t> bytes = *fixture_bytes("tiny.sm_90.cubin");
  Result<ElfFile> elf = ElfFile::open(bytes, "changed");
  FATHOM_INVARIANT(elf.ok());
  for (uint32_t i = 0; i < elf->section_count(); ++i) {
    if (elf->section_name(i) != ".debug_line") continue;
    Bytes data = elf->section(i)->data;
    uint64_t place = elf->relocations(i)->at(0).offset;  // behind 00 09 02
    uint8_t* line = bytes.data() + (data.data() - bytes.data());
    FATHOM_INVARIANT(place + 8 + program.size() <= data.size());
    std::copy(program.begin(), program.end(), line + place + 8);
    // The rest: a sequence of its own that covers nothing.
    std::fill(line + place + 8 + program.size(), line + data.size(), 1);
  }
  return read_line_tables(*elf, *elf->symbols());
}

TEST(LineProgram, SpecialAndStandardOpcodesMoveTheRow) {
  // Line 1 + 9; const_add_pc (17) and advance_pc 15 make 32; special opcode 230 adds 15 to the
  // address and 5 to the line; fixed_advance_pc adds 16.
  Result<LineTables> lines = run({3, 9, 1, 8, 2, 15, 1, 230, 9, 16, 0, 1, 2, 16, 0, 1, 1});
  ASSERT_TRUE(lines.ok()) << lines.error().message();
  ASSERT_EQ(lines->rows.size(), 1u);
  const std::vector<LineRow>& rows = lines->rows.begin()->second;
  ASSERT_EQ(rows.size(), 5u);
  EXPECT_EQ(rows[0].offset, 0u);
  EXPECT_EQ(rows[0].line, 10u);
  EXPECT_EQ(rows[1].offset, 32u);
  EXPECT_EQ(rows[1].line, 10u);
  EXPECT_EQ(rows[2].offset, 47u);
  EXPECT_EQ(rows[2].line, 15u);
  EXPECT_EQ(rows[3].offset, 63u);
  EXPECT_TRUE(rows[4].end);
  EXPECT_EQ(rows[4].offset, 79u);
}

TEST(LineProgram, InlinedCallsReferToEarlierRowsOnly) {
  EXPECT_TRUE(run({1, 0, 3, 0x90, 1, 0, 2, 16, 1, 2, 16, 0, 1, 1}).ok());
  Result<LineTables> lines = run({1, 0, 3, 0x90, 7, 0, 2, 16, 1, 2, 16, 0, 1, 1});
  ASSERT_FALSE(lines.ok());
  EXPECT_NE(lines.error().what.find("line program at offset 0x0"), std::string::npos);
}

TEST(LineProgram, UnknownExtendedOpcodesArePassedOver) {
  Result<LineTables> lines = run({0, 3, 0x95, 1, 2, 3, 4, 1, 2, 16, 0, 1, 1});
  ASSERT_TRUE(lines.ok());
  EXPECT_EQ(lines->rows.begin()->second[0].line, 5u);
}

}  // namespace
}  // namespace fathom
