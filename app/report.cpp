#include "views/report.h"

#include "app/open_profile.h"
#include "app/report.h"
#include "app/terminal.h"

namespace fathom {

int run_report(ReportArguments& arguments) {
  Result<Profile> profile = open_profile(arguments.file, arguments.analysis);
  if (!profile) return fail(profile.error());
  arguments.report.style = style_for(arguments.color);
  arguments.report.threshold = arguments.threshold_percent / 100;
  bool as_json = arguments.format == "json";
  Result<std::string> text =
      as_json ? report_json(*profile, arguments.report) : report_text(*profile, arguments.report);
  return text ? print(*text) : fail(text.error());
}

}  // namespace fathom
