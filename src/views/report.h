#pragma once

#include <string>

#include "base/result.h"
#include "model/profile.h"
#include "views/layout.h"

namespace fathom {

struct ReportOptions {
  Style style;
  size_t top = 10;          ///< kernels, lines and instructions in a list; 0: all
  double threshold = 0.01;  ///< contexts with less of every total are left out (a fraction)
  uint32_t max_depth = 0;   ///< levels of the context tree; 0: all
  std::string kernel;       ///< part of a demangled name; empty: all
  std::string loop, line;   ///< FILE:LINE; empty: all
  bool instructions = false;
};

/// What was measured, as text. Errors: no kernel, loop or line matches (cannot_answer), or a
/// FILE:LINE is none (usage).
Result<std::string> report_text(const Profile& profile, const ReportOptions& options);

/// The run, its kernels, the top-down tree and the hottest lines as JSON. Errors: as above.
Result<std::string> report_json(const Profile& profile, const ReportOptions& options);

}  // namespace fathom
