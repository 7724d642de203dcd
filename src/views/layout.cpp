#include "views/layout.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"

namespace fathom {
namespace {

const char* escape_of(Paint paint) {
  switch (paint) {
    case Paint::strong:
      return "\033[1m";
    case Paint::dim:
      return "\033[2m";
    case Paint::good:
      return "\033[32m";
    case Paint::bad:
      return "\033[31m";
    case Paint::accent:
      return "\033[36m";
  }
  return "";
}

bool starts_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
}

/// Where the character number `count` starts; the text's size if there are fewer.
size_t offset_of(std::string_view text, size_t count) {
  size_t at = 0;
  for (; at < text.size(); ++at)
    if (starts_character(text[at]) && count-- == 0) return at;
  return at;
}

}  // namespace

std::string paint(const Style& style, Paint paint, std::string_view text) {
  if (!style.color || text.empty()) return std::string(text);
  return std::string(escape_of(paint)).append(text).append("\033[0m");
}

std::string printable(std::string_view text) {
  std::string clean;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char c = text[i];
    // U+0080 to U+009F are control characters too; in UTF-8 they start with 0xc2.
    bool is_c1 = c == 0xc2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xa0;
    if (c == '\t')
      clean += "  ";
    else if (c == '\n')
      clean += ' ';
    else if (c < 0x20 || c == 0x7f)
      clean += '?';
    else if (is_c1)
      clean += '?', ++i;
    else
      clean += char(c);
  }
  return clean;
}

size_t columns(std::string_view text) {
  size_t count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\033') {
      while (i < text.size() && text[i] != 'm') ++i;
      continue;
    }
    count += starts_character(text[i]);
  }
  return count;
}

std::string pad_right(std::string text, size_t width) {
  size_t used = columns(text);
  return used < width ? text.append(width - used, ' ') : text;
}
std::string pad_left(std::string text, size_t width) {
  size_t used = columns(text);
  return used < width ? text.insert(0, width - used, ' ') : text;
}

std::string shorten_middle(std::string_view text, size_t width) {
  size_t length = columns(text);
  if (length <= width || width < 5) return std::string(text);
  size_t tail = (width - 1) / 3, head = width - 1 - tail;
  return std::string(text.substr(0, offset_of(text, head)))
      .append("…")
      .append(text.substr(offset_of(text, length - tail)));
}

std::string shorten_end(std::string_view text, size_t width) {
  if (columns(text) <= width || width < 2) return std::string(text);
  return std::string(text.substr(0, offset_of(text, width - 1))).append("…");
}

std::vector<std::string> wrap(std::string_view text, size_t width) {
  std::vector<std::string> lines;
  std::string line;
  for (std::string_view word : split(text, ' ')) {
    if (word.empty()) continue;
    if (!line.empty() && columns(line) + 1 + columns(word) > width) {
      lines.push_back(std::move(line));
      line.clear();
    }
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty() || lines.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width) {
  std::string result(lead);
  bool first = true;
  for (const std::string& line : wrap(text, width > indent + 20 ? width - indent : 20)) {
    if (!first) result.append(indent, ' ');
    result += line + "\n";
    first = false;
  }
  return result;
}

std::string bar(double fraction, size_t width) {
  constexpr const char* kParts[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
  if (!(fraction > 0)) return "";
  long eighths = std::lround(std::min(fraction, 1.0) * double(width) * 8);
  std::string text;
  for (long i = 0; i < eighths / 8; ++i) text += "█";
  text += kParts[eighths % 8];
  return text.empty() ? kParts[1] : text;
}

std::string heading(const Style& style, std::string_view title, std::string_view remark) {
  std::string line = "\n" + paint(style, Paint::strong, title);
  if (!remark.empty()) {
    size_t used = columns(title) + columns(remark);
    line.append(used + 2 < style.width ? style.width - used : 2, ' ');
    line += paint(style, Paint::dim, remark);
  }
  return line + "\n\n";
}

std::string without_trailing_spaces(std::string_view text) {
  std::string result;
  for (char c : text) {
    if (c == '\n') result.erase(result.find_last_not_of(' ') + 1);
    result += c;
  }
  return result;
}

std::string counted(uint64_t count, std::string_view singular, std::string_view plural) {
  return human_count(count) + " " + std::string(count == 1 ? singular : plural);
}

}  // namespace fathom
