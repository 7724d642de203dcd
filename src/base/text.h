#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fathom {

/// printf into a string.
std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
bool starts_with(std::string_view text, std::string_view prefix);
bool ends_with(std::string_view text, std::string_view suffix);
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// For people: "1.23 ms", "4.5 GiB", "12.3%", "1,234,567". Seconds, bytes, a fraction of 1, a
/// count.
std::string human_seconds(double seconds);
std::string human_bytes(double bytes);
std::string human_percent(double fraction);
std::string human_count(uint64_t count);

/// The C++ name behind a mangled one; other names come back as they are.
std::string demangle(const std::string& name);
/// The demangled name without its parameter list and return type: "void f<int>(float*)" ->
/// "f<int>".
std::string short_name(const std::string& demangled);

/// Lower-case hexadecimal.
std::string hex(const uint8_t* bytes, size_t size);

}  // namespace fathom
