#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom doctor`: tells what works on this machine, what the rest costs, and what to do.
void add_doctor(CLI::App& app, int& exit_code);

}  // namespace fathom
