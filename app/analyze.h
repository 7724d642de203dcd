#pragma once

#include <string>

#include "app/open_profile.h"

namespace fathom {

struct AnalyzeArguments {
  std::string directory, output;
  AnalysisOptions analysis;
};

/// `fathom analyze`: makes one database of a measurement.
int run_analyze(const AnalyzeArguments& arguments);

}  // namespace fathom
