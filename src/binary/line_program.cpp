#include "binary/line_program.h"

#include <algorithm>
#include <unordered_map>

#include "base/text.h"
#include "binary/line_header.h"

namespace fathom {
namespace {

enum StandardOpcode : uint8_t {
  kExtended = 0,
  kCopy = 1,
  kAdvancePc = 2,
  kAdvanceLine = 3,
  kSetFile = 4,
  kConstAddPc = 8,
  kFixedAdvancePc = 9
};
enum ExtendedOpcode : uint8_t {
  kEndSequence = 1,
  kSetAddress = 2,
  kDefineFile = 3,
  kInlinedCall = 0x90  // NVIDIA
};

/// Paths and names are stored once in the file, but a hostile one can refer to a long one often.
constexpr size_t kMostNameBytes = size_t{512} << 20;

/// A row of the line-number matrix while its sequence is read.
struct MatrixRow {
  uint64_t address = 0;
  uint64_t file = 1;
  uint32_t line = 1;
  uint64_t context = 0;   ///< number (from 1) of the row where it was inlined; 0: it was not
  uint64_t function = 0;  ///< offset of the inlined function's name in .debug_str
  bool end = false;
};

class Reader {
 public:
  Reader(const ElfFile& elf, const std::vector<ElfSymbol>& symbols)
      : elf_(elf), symbols_(symbols) {}
  Result<LineTables> read();

 private:
  bool read_unit(ByteReader& section);
  bool run_program(ByteReader& program, LineHeader& header);
  bool run_extended(ByteReader& program, LineHeader& header);
  void set_address(ByteReader& program, uint64_t size);
  bool finish_sequence(const LineHeader& header);
  int32_t inlined_call(const MatrixRow& row, const std::vector<LineRow>& before);
  uint32_t file_index(const LineHeader& header, uint64_t file);
  void merge_sequences();

  const ElfFile& elf_;
  const std::vector<ElfSymbol>& symbols_;
  DebugStrings strings_;
  Bytes bytes_;  ///< of .debug_line
  std::unordered_map<uint64_t, ElfRelocation> relocations_;
  LineTables tables_;
  std::unordered_map<std::string, uint32_t> file_numbers_;
  std::unordered_map<uint64_t, uint32_t> unit_files_;
  size_t name_bytes_ = 0;
  // The sequence that is being read.
  MatrixRow state_;
  std::vector<MatrixRow> matrix_;
  uint32_t section_ = 0;
};

Result<LineTables> Reader::read() {
  uint32_t line_section = 0;
  for (uint32_t i = 1; i < elf_.section_count(); ++i) {
    std::string_view name = elf_.section_name(i);
    if (name != ".debug_line" && name != ".debug_str" && name != ".debug_line_str") continue;
    Result<ElfSection> section = elf_.section(i);
    if (!section) return section.error();
    if (name == ".debug_line") {
      line_section = i;
      bytes_ = section->data;
    }
    (name == ".debug_str" ? strings_.str : strings_.line_str) = section->data;
  }
  if (!line_section) return std::move(tables_);
  Result<std::vector<ElfRelocation>> relocations = elf_.relocations(line_section);
  if (!relocations) return relocations.error();
  for (const ElfRelocation& relocation : *relocations)
    relocations_.emplace(relocation.offset, relocation);
  ByteReader reader(bytes_);
  while (reader.remaining() >= 4) {
    size_t start = reader.position();
    if (!read_unit(reader))
      return elf_.damaged(
          format("the line program at offset 0x%zx of .debug_line is damaged", start));
  }
  merge_sequences();
  return std::move(tables_);
}

bool Reader::read_unit(ByteReader& section) {
  uint64_t length = section.u32();
  const bool wide = length == 0xffffffff;
  if (wide) length = section.u64();
  if (length > section.remaining()) return false;
  const size_t end = section.position() + length;
  // Bytes before the unit stay in view: relocations count from the section's start.
  ByteReader unit(bytes_.subspan(0, end), section.position());
  section.seek(end);
  uint16_t version = unit.u16();
  if (version < 2 || version > 5) return !unit.failed();
  std::optional<LineHeader> header = read_line_header(unit, version, wide, strings_);
  if (!header) return false;
  unit_files_.clear();
  state_ = {};
  matrix_.clear();
  section_ = 0;
  return run_program(unit, *header);
}

bool Reader::run_program(ByteReader& program, LineHeader& header) {
  const uint64_t step = header.minimum_instruction_length;
  while (!program.at_end()) {
    uint8_t opcode = program.u8();
    if (opcode >= header.opcode_base) {
      unsigned advance = opcode - header.opcode_base;
      state_.address += advance / header.line_range * step;
      state_.line += header.line_base + int(advance % header.line_range);
      matrix_.push_back(state_);
      continue;
    }
    switch (opcode) {
      case kExtended:
        if (!run_extended(program, header)) return false;
        break;
      case kCopy:
        matrix_.push_back(state_);
        break;
      case kAdvancePc:
        state_.address += program.uleb128() * step;
        break;
      case kAdvanceLine:
        state_.line += static_cast<uint32_t>(program.sleb128());
        break;
      case kSetFile:
        state_.file = program.uleb128();
        break;
      case kConstAddPc:
        state_.address += (255 - header.opcode_base) / header.line_range * step;
        break;
      case kFixedAdvancePc:
        state_.address += program.u16();
        break;
      default:  // what does not change where we are: statements, columns, prologues
        for (unsigned i = header.operand_counts[opcode - 1]; i; --i) program.uleb128();
    }
    if (program.failed()) return false;
  }
  return true;
}

bool Reader::run_extended(ByteReader& program, LineHeader& header) {
  uint64_t size = program.uleb128();
  if (size == 0) return !program.failed();
  const size_t first = program.position();
  uint8_t opcode = program.u8();
  switch (opcode) {
    case kEndSequence:
      state_.end = true;
      matrix_.push_back(state_);
      if (!finish_sequence(header)) return false;
      break;
    case kSetAddress:
      set_address(program, size - 1);
      break;
    case kDefineFile: {
      std::string_view name = program.c_string();
      header.files.push_back({name, program.uleb128()});
      break;
    }
    case kInlinedCall:
      state_.context = program.uleb128();
      state_.function = program.uleb128();
      break;
    default:
      break;
  }
  if (program.failed() || size > program.remaining() + (program.position() - first)) return false;
  program.seek(first + size);
  return true;
}

void Reader::set_address(ByteReader& program, uint64_t size) {
  const size_t place = program.position();
  uint64_t written = size >= 8 ? program.u64() : program.u32();
  auto relocation = relocations_.find(place);
  section_ = 0;
  state_.address = written;
  if (relocation == relocations_.end() || relocation->second.symbol >= symbols_.size()) return;
  const ElfSymbol& symbol = symbols_[relocation->second.symbol];
  section_ = symbol.section;
  state_.address =
      symbol.value + static_cast<uint64_t>(relocation->second.addend.value_or(written));
}

uint32_t Reader::file_index(const LineHeader& header, uint64_t file) {
  auto [known, fresh] = unit_files_.try_emplace(file, 0);
  if (fresh) {
    std::string path = header.path(file);
    auto number = file_numbers_.try_emplace(path, tables_.files.size());
    if (number.second) {
      name_bytes_ += path.size();
      tables_.files.push_back(std::move(path));
    }
    known->second = number.first->second;
  }
  return known->second;
}

/// The chain of calls that `row` was inlined through, whose innermost call is row.context.
int32_t Reader::inlined_call(const MatrixRow& row, const std::vector<LineRow>& before) {
  const LineRow& site = before[row.context - 1];
  InlinedCall call;
  if (row.function < strings_.str.size())
    call.function = ByteReader(strings_.str, row.function).c_string();
  name_bytes_ += call.function.size();
  call.file = site.file;
  call.line = site.line;
  call.parent = site.context;
  tables_.inlines.push_back(std::move(call));
  return static_cast<int32_t>(tables_.inlines.size()) - 1;
}

/// Turns the matrix into rows. Of several rows at one address the last counts; the others only say
/// where inlined calls stand.
bool Reader::finish_sequence(const LineHeader& header) {
  std::vector<LineRow> rows;
  std::unordered_map<uint64_t, int32_t> calls;  // by calling row, then function
  for (const MatrixRow& row : matrix_) {
    if (row.context > rows.size() || name_bytes_ > kMostNameBytes) return false;
    LineRow out;
    out.offset = row.address;
    out.file = file_index(header, row.file);
    out.line = row.line;
    out.end = row.end;
    if (row.context) {
      auto [call, fresh] = calls.try_emplace(row.context << 32 ^ row.function, -1);
      if (fresh) call->second = inlined_call(row, rows);
      out.context = call->second;
    }
    rows.push_back(out);
  }
  matrix_.clear();
  state_ = {};
  if (section_ == 0 || rows.front().offset == rows.back().offset) return true;
  std::vector<LineRow>& table = tables_.rows[section_];
  for (size_t i = 0; i < rows.size(); ++i)
    if (i + 1 == rows.size() || rows[i + 1].offset != rows[i].offset) table.push_back(rows[i]);
  section_ = 0;
  return true;
}

/// Sorts each section's rows; where a sequence ends and another starts, the start counts.
void Reader::merge_sequences() {
  for (auto& [section, rows] : tables_.rows) {
    std::stable_sort(rows.begin(), rows.end(), [](const LineRow& a, const LineRow& b) {
      return a.offset != b.offset ? a.offset < b.offset : a.end > b.end;
    });
    size_t kept = 0;
    for (size_t i = 0; i < rows.size(); ++i)
      if (i + 1 == rows.size() || rows[i + 1].offset != rows[i].offset) rows[kept++] = rows[i];
    rows.resize(kept);
  }
}

}  // namespace

Result<LineTables> read_line_tables(const ElfFile& elf, const std::vector<ElfSymbol>& symbols) {
  return Reader(elf, symbols).read();
}

}  // namespace fathom
