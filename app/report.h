#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom report`: shows where the time goes.
void add_report(CLI::App& app, int& exit_code);

}  // namespace fathom
