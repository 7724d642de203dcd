#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom inspect`: what is in a GPU binary.
void add_inspect(CLI::App& app, int& exit_code);

}  // namespace fathom
