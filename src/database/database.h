#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"

namespace fathom {

/// Writes a profile as one SQLite file (schema.h), beside the target first and then renamed. The
/// same profile gives the same bytes. Errors: the file cannot be written (bad_input), or the
/// profile contradicts itself (cannot_answer).
Result<Done> write_profile(const Profile& profile, const std::string& path);

/// Reads what write_profile() wrote. Every id, enum and order is checked. Errors (bad_input): no
/// such file, no SQLite file, another program's or another version's, or a damaged one.
Result<Profile> read_profile(const std::string& path);

}  // namespace fathom
