#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "binary/decoder.h"
#include "model/profile.h"
#include "numa/numa.h"

namespace fathom {

struct AnalysisOptions {
  std::vector<std::string>
      source_roots;               ///< where to look for sources besides their recorded paths
  bool keep_disassembly = false;  ///< store it in the measurement directory
  DecoderKind decoder = DecoderKind::native;
  NumaOptions numa;
  bool numa_changed = false;  ///< the user asked for another topology or thresholds
};

/// Reads, attributes and advises. Errors: no measurement, or nothing at all can be said about it.
Result<Profile> analyze_directory(const std::string& directory, const AnalysisOptions& options);

/// A profile database, or a measurement directory, which is analysed in memory. Errors (usage): a
/// topology or thresholds are asked for, but a database's findings are made.
Result<Profile> open_profile(const std::string& path, const AnalysisOptions& options);

}  // namespace fathom
