#pragma once
// The compiler drivers behind `fathom cc`, `fathom c++` and `fathom fc`: which compiler to call,
// and what to add to its arguments.

#include <string>
#include <vector>

#include "base/result.h"
#include "instrument/arguments.h"

namespace fathom::instrument {

/// What we add, by its path; empty: it is not there.
struct Toolbox {
  std::string pass;       ///< libfathom_pass.so
  int pass_llvm = 0;      ///< the version of LLVM that it is for
  std::string runtime;    ///< libfathom_numa.so
  std::string callbacks;  ///< libfathom_numa_callbacks.a: what the compilers' own callbacks call
  std::string specs;      ///< fathom_gcc.specs: switches gcc's callbacks on
};

/// What lies in `folder`, or in its sibling lib/fathom.
Toolbox toolbox_beside(const std::string& folder);

struct Compiler {
  enum class Kind { clang, gcc, flang };
  std::vector<std::string> command;  ///< its path, and what is always said to it
  Kind kind = Kind::gcc;
  int version = 0;  ///< major
};

/// What a compiler says of itself with --version. Errors: neither gcc nor clang nor flang (usage).
Result<Compiler> identify(const std::vector<std::string>& command, const std::string& version_text);

/// The compiler in FATHOM_CC, FATHOM_CXX or FATHOM_FC; else clang if we have the pass for it, else
/// gcc, else any clang. Fortran: gfortran. Errors: there is none (usage).
Result<Compiler> find_compiler(Language language, const Toolbox& tools);

/// The compiler's whole command line. Questions to the compiler pass untouched.
/// Errors: a part of the toolbox is missing, or what is asked for cannot be instrumented (usage).
Result<std::vector<std::string>> command_line(const Compiler& compiler, Language language,
                                              const Toolbox& tools,
                                              const std::vector<std::string>& arguments);

}  // namespace fathom::instrument
