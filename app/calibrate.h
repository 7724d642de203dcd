#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom calibrate`: measures a GPU and writes its machine model.
void add_calibrate(CLI::App& app, int& exit_code);

}  // namespace fathom
