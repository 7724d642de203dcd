#pragma once
// Columns, bars, colours and line breaks of the text views.

#include <string>
#include <string_view>
#include <vector>

namespace fathom {

struct Style {
  bool color = false;
  size_t width = 110;  ///< columns
};

enum class Paint { strong, dim, good, bad, accent };
std::string paint(const Style& style, Paint paint, std::string_view text);

/// Text from outside, fit for a terminal: no control characters (tabs become two spaces).
std::string printable(std::string_view text);

/// Columns that UTF-8 text takes; each character counts as one, escape sequences as none.
size_t columns(std::string_view text);
std::string pad_right(std::string text, size_t width);  ///< text first, then spaces
std::string pad_left(std::string text, size_t width);   ///< spaces first
/// Cut in the middle with "…", because the ends of names tell most.
std::string shorten_middle(std::string_view text, size_t width);
/// Cut at the end with "…".
std::string shorten_end(std::string_view text, size_t width);

/// Breaks at spaces into lines of at most `width` columns; longer words stay whole.
std::vector<std::string> wrap(std::string_view text, size_t width);
/// Wrapped text of which each line but the first starts with `indent` spaces; `lead` (which takes
/// `indent` columns) stands before the first.
std::string paragraph(std::string_view lead, std::string_view text, size_t indent, size_t width);

/// A horizontal bar of `fraction` (0 to 1) of `width` columns, without padding.
std::string bar(double fraction, size_t width);

/// A section's title, with a remark at the right end of the line, and an empty line around.
std::string heading(const Style& style, std::string_view title, std::string_view remark = "");

/// Lines without spaces at their ends.
std::string without_trailing_spaces(std::string_view text);

/// "1 launch", "1,200 launches"
std::string counted(uint64_t count, std::string_view singular, std::string_view plural);

}  // namespace fathom
