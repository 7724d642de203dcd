#include "app/advise.h"

#include <optional>

#include "app/open_profile.h"
#include "app/terminal.h"
#include "views/advice.h"

namespace fathom {
namespace {

/// People get the best few findings, programs get all, unless asked otherwise.
constexpr size_t kTopForPeople = 5;

}  // namespace

int run_advise(AdviseArguments& arguments) {
  Result<Profile> profile = open_profile(arguments.file, arguments.analysis);
  if (!profile) return fail(profile.error());
  AdviceOptions& options = arguments.advice;
  options.style = style_for(arguments.color);
  options.top = arguments.top.value_or(arguments.format == "text" ? kTopForPeople : 0);
  Result<std::string> text = arguments.format == "json"    ? advice_json(*profile, options)
                             : arguments.format == "sarif" ? advice_sarif(*profile, options)
                                                           : advice_text(*profile, options);
  return text ? print(*text) : fail(text.error());
}

}  // namespace fathom
