#include "app/analyze.h"

#include "app/open_profile.h"
#include "app/terminal.h"
#include "base/text.h"
#include "database/database.h"

namespace fathom {
namespace {

std::string output_of(const AnalyzeArguments& arguments) {
  if (!arguments.output.empty()) return arguments.output;
  std::string path = arguments.directory;
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

}  // namespace

int run_analyze(const AnalyzeArguments& arguments) {
  Result<Profile> profile = analyze_directory(arguments.directory, arguments.analysis);
  if (!profile) return fail(profile.error());
  std::string output = output_of(arguments);
  Result<Done> written = write_profile(*profile, output);
  if (!written) return fail(written.error());
  return print(summary(*profile, output));
}

}  // namespace fathom
