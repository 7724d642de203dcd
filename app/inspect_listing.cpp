#include "app/inspect_views.h"
#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

constexpr size_t kMaxSourceFile = size_t{64} << 20;

constexpr size_t kSetsWidth = 15, kWaitsWidth = 8, kTextWidth = 56;

/// "done:B0 read:B1": the barriers that are set when the result is there and the operands are read.
std::string sets_text(const Control& control) {
  std::string text;
  if (control.write_barrier != 7) text += format("done:B%u", control.write_barrier);
  if (control.read_barrier != 7)
    text += format("%sread:B%u", text.empty() ? "" : " ", control.read_barrier);
  return text;
}

std::string waits_text(const Control& control) {
  std::string text;
  for (unsigned i = 0; i < 6; ++i)
    if (control.wait_mask >> i & 1) text += format("%sB%u", text.empty() ? "" : " ", i);
  return text;
}

std::string reuse_text(const Control& control) {
  std::string text;
  for (unsigned i = 0; i < 4; ++i)
    if (control.reuse >> i & 1) text += format("%s%c", text.empty() ? "reuse " : ",", "ABCD"[i]);
  return text;
}

std::string target_text(const Instruction& instruction) {
  std::string text;
  auto add = [&](const std::string& target) { text += (text.empty() ? "-> " : ", ") + target; };
  if (instruction.target) add(format("%04llx", (unsigned long long)*instruction.target));
  if (!instruction.target_symbol.empty()) add(printable(demangle(instruction.target_symbol)));
  if (instruction.convergence)
    text = format("threads meet at %04llx", (unsigned long long)*instruction.convergence);
  for (uint64_t target : instruction.table) add(format("%04llx", (unsigned long long)target));
  return text;
}

std::string instruction_line(const Instruction& instruction) {
  const Control& control = instruction.control;
  std::string line = format("    %04llx  %5u  %-5s  ", (unsigned long long)instruction.offset,
                            control.stall, yields(control) ? "yield" : "");
  line += pad_right(sets_text(control), kSetsWidth) + "  ";
  line += pad_right(waits_text(control), kWaitsWidth) + "  ";
  line += pad_right(printable(instruction.text), kTextWidth);
  for (const std::string& remark : {reuse_text(control), target_text(instruction)})
    if (!remark.empty()) line += "  " + remark;
  if (!instruction.known) line += "  (unknown)";
  return line + "\n";
}

std::string header_line(const Style& style) {
  return paint(style, Paint::dim,
               "  offset  stall         " + pad_right("sets", kSetsWidth) + "  " +
                   pad_right("waits", kWaitsWidth) + "  instruction") +
         "\n";
}

std::string place_text(const LineTables& lines, uint32_t file, uint32_t line) {
  std::string path = file < lines.files.size() ? lines.files[file] : "?";
  return printable(path.substr(path.rfind('/') + 1)) + format(":%u", line);
}

/// The line's text, and through which calls it was inlined.
std::string source_lines(const LineTables& lines, const LineRow& row, SourceLines& sources,
                         const Style& style) {
  std::string text = place_text(lines, row.file, row.line);
  if (row.file < lines.files.size()) {
    std::string_view quoted = trim(sources.line(lines.files[row.file], row.line));
    if (!quoted.empty()) text += "  " + printable(quoted);
  }
  std::string result = "  " + paint(style, Paint::accent, text) + "\n";
  for (int32_t at = row.context; at >= 0; at = lines.inlines[at].parent) {
    const InlinedCall& call = lines.inlines[at];
    result += paint(style, Paint::dim,
                    "    " + printable(short_name(demangle(call.function))) + " inlined at " +
                        place_text(lines, call.file, call.line)) +
              "\n";
  }
  return result;
}

/// By block: what starts there.
std::map<uint32_t, std::string> loop_lines(const FunctionCode& code, const Style& style) {
  std::map<uint32_t, std::string> lines;
  for (size_t i = 0; i < code.loops.loops.size(); ++i) {
    const Loop& loop = code.loops.loops[i];
    std::string text = format("  loop %zu, depth %u, ", i + 1, loop.depth) +
                       counted(loop.blocks.size(), "block", "blocks");
    if (loop.irreducible) text += ", with several entries";
    lines[loop.header] += paint(style, Paint::strong, text) + "\n";
  }
  return lines;
}

}  // namespace

std::string_view SourceLines::line(const std::string& path, uint32_t number) {
  auto [found, is_new] = files_.try_emplace(path);
  File& file = found->second;
  if (is_new && is_regular_file(path)) {
    if (Result<std::string> text = read_text_file(path); text && text->size() < kMaxSourceFile) {
      file.text = std::move(*text);
      file.lines = split(file.text, '\n');
    }
  }
  return number >= 1 && number <= file.lines.size() ? file.lines[number - 1] : std::string_view();
}

std::string listing_text(const FunctionCode& code, SourceLines& sources, const Style& style) {
  std::string text = "\n" + function_text(code, style) + header_line(style);
  const std::map<uint32_t, std::string> loops = loop_lines(code, style);
  const LineTables& lines = code.binary->lines;
  const LineRow* last = nullptr;
  for (size_t i = 0; i < code.instructions.size(); ++i) {
    const Instruction& instruction = code.instructions[i];
    const uint32_t block = code.graph.block_of[i];
    auto loop = loops.find(block);
    if (loop != loops.end() && code.graph.blocks[block].first == i) text += loop->second;
    const LineRow* row = lines.find(code.symbol->section, code.symbol->offset + instruction.offset);
    const bool is_same = row && last && row->file == last->file && row->line == last->line &&
                         row->context == last->context;
    if (row && row->line && !is_same) text += source_lines(lines, *row, sources, style);
    last = row;
    text += instruction_line(instruction);
  }
  return without_trailing_spaces(text);
}

}  // namespace fathom
