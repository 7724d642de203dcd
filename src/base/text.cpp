#include "base/text.h"

#include <cxxabi.h>

#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace fathom {

std::string format(const char* pattern, ...) {
  va_list arguments, again;
  va_start(arguments, pattern);
  va_copy(again, arguments);
  int size = std::vsnprintf(nullptr, 0, pattern, arguments);
  std::string text(size > 0 ? size : 0, '\0');
  if (size > 0) std::vsnprintf(text.data(), size + 1, pattern, again);
  va_end(again);
  va_end(arguments);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

bool starts_with(std::string_view text, std::string_view prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

bool ends_with(std::string_view text, std::string_view suffix) {
  return text.size() >= suffix.size() && text.substr(text.size() - suffix.size()) == suffix;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string text;
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i) text += separator;
    text += parts[i];
  }
  return text;
}

std::string human_seconds(double seconds) {
  double size = std::fabs(seconds);
  if (size >= 1 || size == 0) return format("%.3g s", seconds);
  if (size >= 1e-3) return format("%.3g ms", seconds * 1e3);
  if (size >= 1e-6) return format("%.3g us", seconds * 1e6);
  return format("%.3g ns", seconds * 1e9);
}

std::string human_bytes(double bytes) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (std::fabs(bytes) >= 1024 && unit < 4) {
    bytes /= 1024;
    ++unit;
  }
  return unit == 0 ? format("%.0f B", bytes)
                   : format("%.*f %s", bytes < 10 ? 1 : 0, bytes, kUnits[unit]);
}

std::string human_percent(double fraction) {
  return format("%.1f%%", fraction * 100);
}

std::string human_count(uint64_t count) {
  std::string digits = std::to_string(count);
  for (size_t at = digits.size(); at > 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

std::string demangle(const std::string& name) {
  int status = 0;
  char* text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
  std::string result = status == 0 && text ? text : name;
  std::free(text);
  return result;
}

namespace {

/// Where the parameter list opens: the last '(' at depth 0, before trailing qualifiers.
size_t parameter_list(std::string_view name) {
  int depth = 0;
  size_t close = name.rfind(')');
  if (close == std::string_view::npos) return std::string_view::npos;
  for (size_t i = close + 1; i-- > 0;) {
    if (name[i] == ')') ++depth;
    if (name[i] == '(' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

/// Where the return type ends: the last space outside brackets.
size_t return_type(std::string_view name) {
  int depth = 0;
  for (size_t i = name.size(); i-- > 0;) {
    char c = name[i];
    if (c == '>' || c == ')') ++depth;
    if (c == '<' || c == '(') --depth;
    if (c == ' ' && depth == 0) return i;
  }
  return std::string_view::npos;
}

}  // namespace

std::string short_name(const std::string& demangled) {
  std::string_view name = demangled;
  size_t open = parameter_list(name);
  if (open == std::string_view::npos || open == 0) return demangled;
  name = trim(name.substr(0, open));
  if (name.find("operator") != std::string_view::npos) return std::string(name);
  size_t space = return_type(name);
  if (space != std::string_view::npos) name.remove_prefix(space + 1);
  return std::string(name);
}

std::string hex(const uint8_t* bytes, size_t size) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  text.reserve(size * 2);
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

}  // namespace fathom
