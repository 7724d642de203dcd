#include "app/analyze.h"

#include "app/command_line.h"
#include "app/open_profile.h"
#include "base/text.h"
#include "database/database.h"

namespace fathom {
namespace {

struct AnalyzeOptions {
  std::string directory, output;
  AnalysisOptions analysis;
};

std::string output_of(const AnalyzeOptions& options) {
  if (!options.output.empty()) return options.output;
  std::string path = options.directory;
  while (path.size() > 1 && ends_with(path, "/")) path.pop_back();
  return path + ".fdb";
}

/// A path as a shell takes it.
std::string quoted(const std::string& path) {
  constexpr const char* kPlain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-/+=:@%";
  if (!path.empty() && path.find_first_not_of(kPlain) == std::string::npos) return path;
  std::string text = "'";
  for (char c : path) text += c == '\'' ? "'\\''" : std::string(1, c);
  return text + "'";
}

std::string summary(const Profile& profile, const std::string& output) {
  uint64_t samples = profile.run.samples_attributed;
  std::string warnings;
  if (!profile.warnings.empty())
    warnings = ", " + counted(profile.warnings.size(), "warning", "warnings");
  return output + ": " + counted(profile.kernels.size(), "kernel", "kernels") + ", " +
         counted(samples, "sample", "samples") + ", " +
         counted(profile.findings.size(), "piece of advice", "pieces of advice") + warnings + "\n" +
         "Next: fathom report " + quoted(output) + "\n      fathom advise " + quoted(output) + "\n";
}

int run(const AnalyzeOptions& options) {
  Result<Profile> profile = analyze_directory(options.directory, options.analysis);
  if (!profile) return fail(profile.error());
  std::string output = output_of(options);
  Result<Done> written = write_profile(*profile, output);
  if (!written) return fail(written.error());
  return print(summary(*profile, output));
}

}  // namespace

void add_analyze(CLI::App& app, int& exit_code) {
  auto options = std::make_shared<AnalyzeOptions>();
  auto* command =
      app.add_subcommand("analyze", "Makes one profile database of a measurement directory");
  command->add_option("directory", options->directory, "What `fathom record` wrote")
      ->required()
      ->type_name("DIR");
  command->add_option("-o,--output", options->output, "The database (default: DIR.fdb)")
      ->type_name("FILE");
  command
      ->add_option("--source", options->analysis.source_roots,
                   "A folder to look for sources in, besides their recorded paths; may be repeated")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command->add_flag("--keep-disassembly", options->analysis.keep_disassembly,
                    "Keep nvdisasm's text in DIR, for machines without nvdisasm");
  command
      ->add_option("--decoder", options->analysis.decoder,
                   "What reads machine code: native or nvdisasm (default: native)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, DecoderKind>{
          {"native", DecoderKind::native}, {"nvdisasm", DecoderKind::nvdisasm}}))
      ->type_name("NAME");
  add_numa_options(*command, options->analysis);
  command->footer("Example: fathom analyze run --source ~/project && fathom report run.fdb");
  command->callback([options, &exit_code] { exit_code = run(*options); });
}

}  // namespace fathom
