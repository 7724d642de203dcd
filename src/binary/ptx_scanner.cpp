#include "binary/ptx_scanner.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include "base/text.h"

namespace fathom {
namespace {

enum : uint8_t { kName = 1, kDigit = 2, kBlank = 4 };

constexpr std::array<uint8_t, 256> classes() {
  std::array<uint8_t, 256> table{};
  for (int c = 'a'; c <= 'z'; ++c) table[c] = table[c - 32] = kName;
  for (int c = '0'; c <= '9'; ++c) table[c] = kName | kDigit;
  for (char c : {'_', '$', '%'}) table[static_cast<uint8_t>(c)] = kName;
  for (char c : {' ', '\t', '\r', '\n', '\v', '\f'}) table[static_cast<uint8_t>(c)] = kBlank;
  return table;
}
constexpr std::array<uint8_t, 256> kClasses = classes();

uint8_t class_of(char c) {
  return kClasses[static_cast<uint8_t>(c)];
}

/// Nested deeper than this, an expression is not one that a compiler wrote.
constexpr int kMaxNesting = 32;

}  // namespace

void PtxScanner::skip_blanks() {
  for (;;) {
    while (at_ != end_ && (class_of(*at_) & kBlank)) {
      line_ += *at_ == '\n';
      ++at_;
    }
    if (end_ - at_ < 2 || *at_ != '/' || (at_[1] != '/' && at_[1] != '*')) return;
    skip_comment();
  }
}

void PtxScanner::skip_comment() {
  const auto rest = static_cast<size_t>(end_ - at_);
  if (at_[1] == '/') {
    const void* end_of_line = std::memchr(at_, '\n', rest);
    at_ = end_of_line ? static_cast<const char*>(end_of_line) : end_;
    return;
  }
  const size_t close = std::string_view(at_, rest).find("*/", 2);
  const char* behind = close == std::string_view::npos ? end_ : at_ + close + 2;
  for (; at_ != behind; ++at_) line_ += *at_ == '\n';
}

std::string_view PtxScanner::found() const {
  if (at_end()) return "the end of the file";
  const char* last = at_;
  while (last != end_ && last - at_ < 40 && ((class_of(*last) & kName) || *last == '.')) ++last;
  if (last == at_) ++last;
  return {at_, static_cast<size_t>(last - at_)};
}

void PtxScanner::fail(std::string what) {
  if (failed_) return;
  failed_ = true;
  problem_ = std::move(what);
  problem_line_ = line_;
  at_ = end_;
}

void PtxScanner::fail_expected(const std::string& what) {
  const std::string_view next = found();
  const bool quotes = !at_end();
  fail("expected " + what + ", found " + (quotes ? "\"" : "") + std::string(next) +
       (quotes ? "\"" : ""));
}

bool PtxScanner::expect(char sign, const char* where) {
  if (accept(sign)) return true;
  fail_expected(format("'%c' %s", sign, where));
  return false;
}

std::string_view PtxScanner::name(const char* what) {
  const char* first = at_;
  const char* last = at_;
  while (last != end_ && (class_of(*last) & kName)) ++last;
  if (last == first || (class_of(*first) & kDigit)) {
    fail_expected(what);
    return {};
  }
  at_ = last;
  skip_blanks();
  return {first, static_cast<size_t>(last - first)};
}

std::string_view PtxScanner::dotted_name(const char* what) {
  const char* first = at_;
  const char* last = at_;
  while (last != end_ && ((class_of(*last) & kName) || *last == '.' || *last == ':')) {
    // "mma.block_scale::..." has two colons; one alone ends a label.
    if (*last == ':') {
      if (end_ - last < 2 || last[1] != ':') break;
      ++last;
    }
    ++last;
  }
  if (last == first || (class_of(*first) & kDigit) || *first == '.') {
    fail_expected(what);
    return {};
  }
  at_ = last;
  skip_blanks();
  return {first, static_cast<size_t>(last - first)};
}

std::string_view PtxScanner::directive() {
  if (peek() != '.' || !(class_of(peek_second()) & kName)) return {};
  const char* first = at_ + 1;
  const char* last = first;
  while (last != end_ && ((class_of(*last) & kName) || *last == ':')) ++last;
  at_ = last;
  skip_blanks();
  return {first, static_cast<size_t>(last - first)};
}

bool PtxScanner::sees_directive(std::string_view name) const {
  const auto rest = static_cast<size_t>(end_ - at_);
  if (rest < name.size() + 1 || *at_ != '.' || std::memcmp(at_ + 1, name.data(), name.size()) != 0)
    return false;
  return rest == name.size() + 1 || !(class_of(at_[name.size() + 1]) & kName);
}

bool PtxScanner::sees_name() const {
  return !at_end() && (class_of(*at_) & kName) && !(class_of(*at_) & kDigit);
}

bool PtxScanner::sees_number() const {
  const char c = peek();
  return (class_of(c) & kDigit) || c == '-' || c == '+' || c == '(' || c == '~' ||
         (c == '.' && (class_of(peek_second()) & kDigit));
}

std::string_view PtxScanner::quoted() {
  if (peek() != '"' || at_end()) {
    fail_expected("a text in quotation marks");
    return {};
  }
  const char* first = at_ + 1;
  const char* last = first;
  while (last != end_ && *last != '"' && *last != '\n')
    last += *last == '\\' && end_ - last > 1 ? 2 : 1;
  if (last >= end_ || *last != '"') {
    fail("expected '\"' at the end of a text");
    return {};
  }
  at_ = last + 1;
  skip_blanks();
  return {first, static_cast<size_t>(last - first)};
}

namespace {

double bits_to_double(uint64_t bits, size_t digits) {
  if (digits == 16) return std::bit_cast<double>(bits);
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

}  // namespace

PtxScanner::Number PtxScanner::literal(const char* what) {
  Number number;
  const char* first = at_;
  const auto is_prefix = [&](char small, char large) {
    return end_ - at_ > 2 && *at_ == '0' && (at_[1] == small || at_[1] == large);
  };
  uint64_t bits = 0;
  std::from_chars_result result{first, std::errc::invalid_argument};
  if (is_prefix('f', 'F') || is_prefix('d', 'D')) {
    const size_t digits = is_prefix('f', 'F') ? 8 : 16;
    result = std::from_chars(at_ + 2, std::min(end_, at_ + 2 + digits), bits, 16);
    if (result.ec == std::errc() && result.ptr != at_ + 2 + digits)
      result.ec = std::errc::invalid_argument;
    number.is_real = true;
    number.real = bits_to_double(bits, digits);
  } else if (is_prefix('x', 'X')) {
    result = std::from_chars(at_ + 2, end_, bits, 16);
  } else if (is_prefix('b', 'B')) {
    result = std::from_chars(at_ + 2, end_, bits, 2);
  } else if (class_of(peek()) & kDigit || peek() == '.') {
    result = std::from_chars(at_, end_, bits, *at_ == '0' ? 8 : 10);
    const bool point =
        result.ptr != end_ && (*result.ptr == '.' || *result.ptr == 'e' || *result.ptr == 'E' ||
                               *result.ptr == '8' || *result.ptr == '9');
    if (point || peek() == '.') {
      result = std::from_chars(at_, end_, number.real);
      number.is_real = true;
    }
  }
  if (result.ec != std::errc()) {
    fail_expected(what);
    return number;
  }
  at_ = result.ptr;
  if (!number.is_real && (peek() == 'U' || peek() == 'u')) ++at_;
  skip_blanks();
  number.integer = static_cast<int64_t>(bits);
  return number;
}

PtxScanner::Number PtxScanner::number(const char* what) {
  const bool negative = accept('-');
  if (!negative) accept('+');
  Number number;
  if (peek() == '(' || peek() == '~' || peek() == '-') {
    number.integer = expression(0, what);
  } else {
    number = literal(what);
  }
  if (negative) {
    number.integer = static_cast<int64_t>(-static_cast<uint64_t>(number.integer));
    number.real = -number.real;
  }
  return number;
}

/// Operators of one level only, from left to right: compilers write parentheses.
int64_t PtxScanner::expression(int depth, const char* what) {
  if (depth > kMaxNesting) {
    fail("expected an expression with fewer parentheses");
    return 0;
  }
  const auto operand = [&]() -> uint64_t {
    if (accept('~')) return ~static_cast<uint64_t>(expression(depth + 1, what));
    if (accept('-')) return -static_cast<uint64_t>(expression(depth + 1, what));
    if (!accept('(')) return static_cast<uint64_t>(literal(what).integer);
    const int64_t inner = expression(depth + 1, what);
    expect(')', "at the end of an expression");
    return static_cast<uint64_t>(inner);
  };
  uint64_t value = operand();
  while (!failed_ && !at_end()) {
    const char sign = peek();
    if ((sign == '<' || sign == '>') && peek_second() == sign) {
      accept(sign);
      accept(sign);
      const uint64_t by = operand() & 63;
      value = sign == '<' ? value << by : value >> by;
    } else if (std::strchr("+-*|&^", sign)) {
      accept(sign);
      const uint64_t other = operand();
      value = sign == '+'   ? value + other
              : sign == '-' ? value - other
              : sign == '*' ? value * other
              : sign == '|' ? value | other
              : sign == '&' ? value & other
                            : value ^ other;
    } else {
      break;
    }
  }
  return static_cast<int64_t>(value);
}

uint64_t PtxScanner::count(const char* what, uint64_t most) {
  if (!(class_of(peek()) & kDigit)) {
    fail_expected(what);
    return 0;
  }
  const Number value = literal(what);
  if (!failed_ && (value.is_real || static_cast<uint64_t>(value.integer) > most)) {
    fail(format("expected %s of at most %llu", what, static_cast<unsigned long long>(most)));
    return 0;
  }
  return static_cast<uint64_t>(value.integer);
}

void PtxScanner::skip_line() {
  const void* end_of_line = std::memchr(at_, '\n', static_cast<size_t>(end_ - at_));
  at_ = end_of_line ? static_cast<const char*>(end_of_line) : end_;
  skip_blanks();
}

void PtxScanner::skip_braces() {
  for (size_t depth = 1; depth > 0 && !failed_;) {
    if (at_end()) {
      fail("expected '}' before the end of the file");
    } else if (peek() == '"') {
      quoted();
    } else {
      depth += peek() == '{';
      depth -= peek() == '}';
      accept(*at_);
    }
  }
}

void PtxScanner::skip_behind(char sign) {
  while (!failed_ && peek() != sign) {
    if (at_end()) {
      fail_expected(format("'%c'", sign));
    } else if (peek() == '"') {
      quoted();
    } else if (accept('{')) {
      skip_braces();
    } else {
      accept(*at_);
    }
  }
  accept(sign);
}

}  // namespace fathom
