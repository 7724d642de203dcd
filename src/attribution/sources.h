#pragma once

#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom {

/// Reads the source lines that the sampled instructions and the findings refer to, with a few lines
/// around them, into Profile::sources. A file is looked for at its recorded path, then below each
/// root (and below the current directory) under ever shorter ends of that path. Missing files are
/// left out.
void quote_sources(Profile& profile, const std::vector<std::string>& roots);

}  // namespace fathom
