#include "binary/life_ranges.h"

#include <algorithm>
#include <cstdlib>

#include "base/text.h"

namespace fathom {
namespace {

/// A group of columns ("GPR", "UPRED"...) and where its first register stands in the line.
struct Columns {
  RegisterFile file;
  size_t first, count;
};

std::vector<size_t> bars(std::string_view line) {
  std::vector<size_t> places;
  for (size_t at = line.find("// |"); at < line.size(); ++at)
    if (line[at] == '|') places.push_back(at);
  return places;
}

bool is_titles(std::string_view line) {
  return line.find("// |") != line.npos && line.find(" GPR ") != line.npos;
}

std::vector<RegisterFile> read_titles(std::string_view line) {
  std::vector<RegisterFile> files;
  std::vector<size_t> places = bars(line);
  for (size_t i = 0; i + 1 < places.size(); ++i) {
    std::string_view title = trim(line.substr(places[i] + 1, places[i + 1] - places[i] - 1));
    files.push_back(title == "GPR"    ? RegisterFile::general
                    : title == "UGPR" ? RegisterFile::uniform
                    : title == "PRED" ? RegisterFile::predicate
                                      : RegisterFile::uniform_predicate);
  }
  return files;
}

/// The last line of the heading: "// |  # 012345678901  | # 0123  |".
std::vector<Columns> read_columns(std::string_view line, const std::vector<RegisterFile>& files) {
  std::vector<Columns> columns;
  size_t at = line.find("// |");
  for (RegisterFile file : files) {
    at = line.find("# ", at);
    if (at == line.npos) break;
    at += 2;
    size_t end = line.find_first_not_of("0123456789", at);
    columns.push_back({file, at, end - at});
  }
  return columns;
}

RegisterMarks read_marks(std::string_view line, const std::vector<Columns>& columns) {
  RegisterMarks marks;
  for (const Columns& group : columns) {
    for (size_t i = 0; i < group.count && group.first + i < line.size(); ++i) {
      char mark = line[group.first + i];
      Register reg{group.file, static_cast<uint8_t>(i)};
      if (mark == '^' || mark == 'x') marks.defs.push_back(reg);
      if (mark == 'v' || mark == 'x') marks.uses.push_back(reg);
    }
  }
  std::sort(marks.defs.begin(), marks.defs.end());
  std::sort(marks.uses.begin(), marks.uses.end());
  return marks;
}

}  // namespace

LifeRanges read_life_ranges(std::string_view text) {
  LifeRanges ranges;
  std::string section;
  std::vector<RegisterFile> files;
  std::vector<Columns> columns;
  for (std::string_view line : split(text, '\n')) {
    if (starts_with(line, "\t.section\t")) {
      section = line.substr(10, line.find(',') - 10);
      columns.clear();
    } else if (is_titles(line)) {
      files = read_titles(line);
    } else if (line.find("// |") != line.npos && line.find("# 0") != line.npos) {
      columns = read_columns(line, files);
    } else if (size_t open = line.find("/*"); open != line.npos && !columns.empty()) {
      if (trim(line.substr(0, open)).size()) continue;
      uint64_t offset = std::strtoull(std::string(line.substr(open + 2, 12)).c_str(), nullptr, 16);
      RegisterMarks marks = read_marks(line, columns);
      marks.text = trim(line.substr(line.find("*/") + 2, line.find(';') - line.find("*/") - 2));
      ranges[section][offset] = std::move(marks);
    }
  }
  return ranges;
}

}  // namespace fathom
