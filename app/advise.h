#pragma once

#include <optional>
#include <string>

#include "app/open_profile.h"
#include "views/advice.h"

namespace fathom {

struct AdviseArguments {
  std::string file, format = "text", color = "auto";
  std::optional<size_t> top;
  AdviceOptions advice;
  AnalysisOptions analysis;
};

/// `fathom advise`: says what to change.
int run_advise(AdviseArguments& arguments);

}  // namespace fathom
