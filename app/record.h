#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom record`: runs a program and measures it into a directory.
void add_record(CLI::App& app, int& exit_code);

}  // namespace fathom
