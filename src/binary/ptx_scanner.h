#pragma once
// Characters of PTX to names, numbers and signs. The first problem is kept; from then on the
// scanner is at its end.

#include <cstdint>
#include <string>
#include <string_view>

namespace fathom {

class PtxScanner {
 public:
  explicit PtxScanner(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {
    skip_blanks();
  }

  bool at_end() const { return at_ == end_; }
  uint32_t line() const { return line_; }
  /// The next character, 0 at the end.
  char peek() const { return at_ == end_ ? '\0' : *at_; }
  /// The one behind it.
  char peek_second() const { return end_ - at_ < 2 ? '\0' : at_[1]; }

  /// Takes a sign if it is next.
  bool accept(char sign) {
    if (peek() != sign || at_end()) return false;
    ++at_;
    skip_blanks();
    return true;
  }
  /// Takes a sign that must be next.
  bool expect(char sign, const char* where);
  /// Letters, digits, _, $ and %; a name must be next.
  std::string_view name(const char* what);
  /// The same with dots within: "ld.global.f32", "sm_90".
  std::string_view dotted_name(const char* what);
  /// The name behind a dot, if one is next; empty otherwise.
  std::string_view directive();
  /// Whether this directive is next (it is not taken).
  bool sees_directive(std::string_view name) const;
  bool sees_name() const;
  bool sees_number() const;
  /// The text between quotation marks.
  std::string_view quoted();

  /// A number with a sign, or an expression of numbers in parentheses with + - * / % << >> | & ^ ~.
  struct Number {
    bool is_real = false;
    int64_t integer = 0;
    double real = 0;
  };
  Number number(const char* what);
  /// A whole number from 0 to `most`.
  uint64_t count(const char* what, uint64_t most);

  /// Skips to the end of the line.
  void skip_line();
  /// Skips to behind the brace that closes the one that was just taken.
  void skip_braces();
  /// Skips to behind the next `sign`, whole strings and braces within.
  void skip_behind(char sign);

  bool failed() const { return failed_; }
  void fail(std::string what);
  /// "expected X, found Y"
  void fail_expected(const std::string& what);
  const std::string& problem() const { return problem_; }
  uint32_t problem_line() const { return problem_line_; }

  /// Where two places are, for texts of unusual directives.
  const char* position() const { return at_; }

 private:
  void skip_blanks();
  void skip_comment();
  std::string_view found() const;
  Number literal(const char* what);
  int64_t expression(int depth, const char* what);

  const char* at_;
  const char* end_;
  uint32_t line_ = 1;
  bool failed_ = false;
  std::string problem_;
  uint32_t problem_line_ = 0;
};

}  // namespace fathom
