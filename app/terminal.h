#pragma once
// What all commands need of the terminal.

#include <string>

#include "base/result.h"
#include "views/layout.h"

namespace fathom {

/// Prints "fathom: ..." on standard error; the exit code that the error's kind asks for.
int fail(const Error& error);

/// Prints a view on standard output. The exit code: 3 if it cannot be written.
int print(const std::string& text);

/// Colour and width for standard output. `color` is auto, always or never: "auto" is colour on a
/// terminal, unless NO_COLOR is set (no-color.org) or TERM is "dumb". Text fills the terminal, from
/// 80 to 120 columns.
Style style_for(const std::string& color);

/// A line on standard error that says what takes so long; only on a terminal, and gone afterwards.
class Progress {
 public:
  void show(const std::string& what);
  ~Progress();

 private:
  bool shown_ = false;
};

}  // namespace fathom
