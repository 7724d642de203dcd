#include "app/advise.h"

#include <optional>

#include "app/command_line.h"
#include "app/open_profile.h"
#include "views/advice.h"

namespace fathom {
namespace {

struct Arguments {
  std::string file, format = "text", color;
  std::optional<size_t> top;
  AdviceOptions advice;
  AnalysisOptions analysis;
};

/// People get the best few findings, programs get all, unless asked otherwise.
constexpr size_t kTopForPeople = 5;

int run(Arguments& arguments) {
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

}  // namespace

void add_advise(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  auto* command =
      app.add_subcommand("advise", "Says what to change, why, and how much faster it would get");
  command->add_option("file", arguments->file, "A profile database, or a measurement directory")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--top", arguments->top, "Findings for each kernel; 0: all (default: 5 as text)")
      ->type_name("N");
  command->add_option("--kernel", arguments->advice.kernel, "Only kernels with NAME in their name")
      ->type_name("NAME");
  command
      ->add_option("--min-speedup", arguments->advice.min_speedup,
                   "Leave out what brings less, e.g. 1.05")
      ->check(CLI::Range(1.0, 1000.0))
      ->type_name("X");
  command
      ->add_option("--source", arguments->analysis.source_roots,
                   "A folder with sources, for a directory")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command->add_option("--format", arguments->format, "text, json or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->type_name("FORMAT");
  add_color_option(*command, arguments->color);
  add_numa_options(*command, arguments->analysis);
  command->footer(
      "Example: fathom advise run.fdb --kernel transpose --format sarif > advice.sarif");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace fathom
