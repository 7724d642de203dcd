#include "views/report.h"

#include "app/command_line.h"
#include "app/open_profile.h"
#include "app/report.h"

namespace fathom {
namespace {

struct Arguments {
  std::string file, format = "text", color;
  double threshold_percent = 1;
  ReportOptions report;
  AnalysisOptions analysis;
};

int run(Arguments& arguments) {
  Result<Profile> profile = open_profile(arguments.file, arguments.analysis);
  if (!profile) return fail(profile.error());
  arguments.report.style = style_for(arguments.color);
  arguments.report.threshold = arguments.threshold_percent / 100;
  bool as_json = arguments.format == "json";
  Result<std::string> text =
      as_json ? report_json(*profile, arguments.report) : report_text(*profile, arguments.report);
  return text ? print(*text) : fail(text.error());
}

void add_selection(CLI::App& command, ReportOptions& report) {
  command.add_option("--kernel", report.kernel, "Only kernels with NAME in their name")
      ->type_name("NAME");
  command.add_option("--loop", report.loop, "Only the loop at, or around, a line")
      ->type_name("FILE:LINE");
  command.add_option("--line", report.line, "Only a source line and what is inlined there")
      ->type_name("FILE:LINE");
  command.add_flag("--instructions", report.instructions, "List the hottest machine instructions");
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<Arguments>();
  auto* command = app.add_subcommand(
      "report", "Shows where the time goes: kernels, contexts, lines and why they wait");
  command->add_option("file", arguments->file, "A profile database, or a measurement directory")
      ->required()
      ->type_name("FILE");
  add_selection(*command, arguments->report);
  command->add_option("--top", arguments->report.top, "Entries in a list; 0: all (default: 10)")
      ->type_name("N");
  command
      ->add_option("--threshold", arguments->threshold_percent,
                   "Leave out what has less PERCENT (default: 1)")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  command
      ->add_option("--max-depth", arguments->report.max_depth,
                   "Levels of the context tree; 0: all (default)")
      ->type_name("N");
  command
      ->add_option("--source", arguments->analysis.source_roots,
                   "A folder with sources, for a directory")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command->add_option("--format", arguments->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  add_color_option(*command, arguments->color);
  add_numa_options(*command, arguments->analysis);
  command->footer("Example: fathom report run.fdb --kernel transpose --instructions");
  command->callback([arguments, &exit_code] { exit_code = run(*arguments); });
}

}  // namespace fathom
