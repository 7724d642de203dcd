#include "attribution/sources.h"

#include <set>

#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

constexpr uint32_t kLinesAround = 3;

std::string find_source(const std::string& path, const std::vector<std::string>& roots) {
  if (is_regular_file(path)) return path;
  for (const std::string& root : roots) {
    std::string_view end = path;
    while (!end.empty()) {
      while (starts_with(end, "/")) end.remove_prefix(1);
      std::string candidate = root + "/" + std::string(end);
      if (!end.empty() && is_regular_file(candidate)) return candidate;
      size_t slash = end.find('/');
      if (slash == std::string_view::npos) break;
      end.remove_prefix(slash + 1);
    }
  }
  return "";
}

std::map<std::string, std::set<uint32_t>> wanted_lines(const Profile& profile) {
  std::map<std::string, std::set<uint32_t>> wanted;
  auto want = [&](const SourceLocation& at) {
    if (at.file.empty() || at.line == 0) return;
    uint32_t first = at.line > kLinesAround ? at.line - kLinesAround : 1;
    for (uint32_t line = first; line <= at.line + kLinesAround; ++line)
      wanted[at.file].insert(line);
  };
  for (const InstructionFacts& instruction : profile.instructions) {
    want(instruction.at);
    for (const InlineFrame& frame : instruction.inlined) want(frame.call);
  }
  for (const Finding& finding : profile.findings) {
    want(finding.location);
    for (const RelatedLocation& related : finding.related) want(related.at);
  }
  return wanted;
}

}  // namespace

void quote_sources(Profile& profile, const std::vector<std::string>& roots) {
  profile.sources.clear();
  std::vector<std::string> places = roots;
  if (!profile.run.working_directory.empty()) places.push_back(profile.run.working_directory);
  places.push_back(".");
  for (const auto& [file, lines] : wanted_lines(profile)) {
    std::string path = find_source(file, places);
    if (path.empty()) continue;
    Result<std::string> text = read_text_file(path);
    if (!text.ok()) continue;
    SourceText source{file, {}};
    uint32_t number = 0;
    for (std::string_view line : split(*text, '\n'))
      if (lines.count(++number)) source.lines[number] = std::string(line);
    profile.sources.push_back(std::move(source));
  }
}

}  // namespace fathom
