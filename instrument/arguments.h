#pragma once
// What a command line of gcc or clang asks for.

#include <string>
#include <vector>

namespace fathom::instrument {

enum class Language { c, cxx, fortran };

/// The part of a compiler's command line that decides what we add to it.
struct Request {
  bool compiles =
      false;           ///< source code becomes machine code, in an object file or on the way to it
  bool links = false;  ///< a program or a shared library is made
  bool is_static = false;
  bool is_32_bit = false;
  bool has_lto = false;
  bool has_debug_option = false;  ///< -g in one of its forms; -g0 too
};

/// Reads the arguments after the compiler's name. Those in @files count as well.
Request read_request(const std::vector<std::string>& arguments);

/// The arguments with each readable @file replaced by the words in it, as gcc does it: separated by
/// white space, with quotes and backslashes.
std::vector<std::string> with_response_files(const std::vector<std::string>& arguments);

}  // namespace fathom::instrument
