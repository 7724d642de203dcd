#pragma once

#include <string>

#include "app/open_profile.h"
#include "views/report.h"

namespace fathom {

struct ReportArguments {
  std::string file, format = "text", color = "auto";
  double threshold_percent = 1;
  ReportOptions report;
  AnalysisOptions analysis;
};

/// `fathom report`: shows where the time goes.
int run_report(ReportArguments& arguments);

}  // namespace fathom
