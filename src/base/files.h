#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace fathom {

/// The whole file. Errors name the path and the system's reason.
Result<std::vector<uint8_t>> read_file(const std::string& path);
Result<std::string> read_text_file(const std::string& path);
/// Writes beside the target and renames, so that a reader never sees half a file.
Result<Done> write_file(const std::string& path, std::string_view content);

bool is_directory(const std::string& path);
bool is_regular_file(const std::string& path);
/// Names (not paths) of a directory's entries, sorted, without "." and "..".
Result<std::vector<std::string>> list_directory(const std::string& path);

/// The path of the running program, with links resolved.
std::string executable_path();
/// The first match of `name` on PATH.
std::optional<std::string> find_on_path(const std::string& name);

/// Runs a program without a shell and returns what it printed on standard output.
/// Errors: it could not be started, was killed, or exited with another code than 0 (with the first
/// line that it printed on standard error).
Result<std::string> run_program(const std::vector<std::string>& arguments);

}  // namespace fathom
