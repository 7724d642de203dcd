#pragma once

namespace fathom {

/// Parses, runs the command and returns its exit code. Wrong usage: one line on standard error that
/// says what to do, and 2.
int run_command_line(int argc, char** argv);

}  // namespace fathom
