#pragma once

#include <optional>

#include "app/machine_check.h"

namespace fathom {

/// `fathom cc`, `fathom c++` and `fathom fc`: becomes the compiler, whose arguments all belong to
/// it. Empty if another command is meant; an exit code if it cannot be done, and says why.
std::optional<int> run_as_compiler(int argc, char** argv);

/// Whether clang can load our pass.
Check check_clang_pass();

}  // namespace fathom
