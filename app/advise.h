#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom advise`: says what to change.
void add_advise(CLI::App& app, int& exit_code);

}  // namespace fathom
