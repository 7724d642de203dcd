#include "binary/sass_text.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace fathom {
namespace {

constexpr std::string_view kSectionDirective = "\t.section\t";

std::string_view next_line(std::string_view& text) {
  size_t end = text.find('\n');
  std::string_view line = text.substr(0, end);
  text.remove_prefix(end == text.npos ? text.size() : end + 1);
  return line;
}

/// "        /*0120*/                   LDS R7, [R0+UR4] ;"
bool read_instruction(std::string_view line, SassLine& out) {
  size_t open = line.find_first_not_of(" \t");
  if (open == line.npos || !starts_with(line.substr(open), "/*")) return false;
  const char* first = line.data() + open + 2;
  const char* last = line.data() + line.size();
  auto [stop, error] = std::from_chars(first, last, out.offset, 16);
  if (error != std::errc() || last - stop < 2 || stop[0] != '*' || stop[1] != '/') return false;
  std::string_view rest(stop + 2, last - stop - 2);
  rest = rest.substr(0, rest.find(';'));
  size_t annotation = rest.find("(*");
  out.annotation = annotation == rest.npos ? std::string_view() : rest.substr(annotation);
  out.text = trim(rest.substr(0, annotation));
  return !out.text.empty();
}

bool is_label(std::string_view line) {
  return line.size() > 1 && line.back() == ':' && line[0] != ' ' && line[0] != '\t' &&
         line[0] != '/';
}

SassSection read_section(std::string_view text) {
  SassSection section;
  std::vector<std::string_view> waiting;  // labels of the next instruction
  uint64_t end = 0;
  while (!text.empty()) {
    std::string_view line = next_line(text);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (is_label(line)) {
      waiting.push_back(line.substr(0, line.size() - 1));
      continue;
    }
    SassLine instruction;
    if (!read_instruction(line, instruction)) continue;
    for (std::string_view label : waiting) section.labels.emplace(label, instruction.offset);
    waiting.clear();
    end = instruction.offset + 16;
    section.lines.push_back(instruction);
  }
  for (std::string_view label : waiting) section.labels.emplace(label, end);
  std::stable_sort(section.lines.begin(), section.lines.end(),
                   [](const SassLine& a, const SassLine& b) { return a.offset < b.offset; });
  return section;
}

}  // namespace

SassText::SassText(std::string text) : text_(std::move(text)) {
  std::string_view all = text_;
  std::string_view name;
  size_t start = 0;
  auto finish = [&](size_t end) {
    if (!name.empty()) extents_.emplace(name, all.substr(start, end - start));
  };
  for (size_t at = all.find(kSectionDirective); at != all.npos;) {
    finish(at);
    start = at + kSectionDirective.size();
    name = all.substr(start, all.find_first_of(",\n", start) - start);
    if (name.size() > 1 && name.front() == '"' && name.back() == '"')
      name = name.substr(1, name.size() - 2);
    at = all.find(kSectionDirective, start);
  }
  finish(all.size());
}

const SassSection* SassText::section(std::string_view name) {
  auto known = sections_.find(name);
  if (known != sections_.end()) return &known->second;
  auto extent = extents_.find(name);
  if (extent == extents_.end()) return nullptr;
  return &sections_.emplace(extent->first, read_section(extent->second)).first->second;
}

std::vector<std::string_view> SassText::section_names() const {
  std::vector<std::string_view> names;
  for (const auto& [name, extent] : extents_) names.push_back(name);
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace fathom
