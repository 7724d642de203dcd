#pragma once

#include <CLI/CLI.hpp>

namespace fathom {

/// Adds `fathom predict`.
void add_predict(CLI::App& app, int& exit_code);

}  // namespace fathom
