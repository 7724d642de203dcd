#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom analyze`: makes one profile database of a measurement directory.
void add_analyze(CLI::App& app, int& exit_code);

}  // namespace fathom
