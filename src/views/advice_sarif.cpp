// Findings in the Static Analysis Results Interchange Format, version 2.1.0 (OASIS, 2020).

#include <map>

#include "base/sha256.h"
#include "base/text.h"
#include "views/advice.h"
#include "views/finding_kinds.h"
#include "views/json_parts.h"

namespace fathom {
namespace {

constexpr double kWorthAWarning = 1.05;  ///< program speedup from which a finding is a warning
constexpr const char* kBase = "SRCROOT";

/// RFC 3986: everything but unreserved characters and '/' is escaped.
std::string escape_uri(std::string_view path) {
  std::string uri;
  for (unsigned char c : path) {
    bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 std::string_view("-._~/").find(char(c)) != std::string_view::npos;
    uri += plain ? std::string(1, char(c)) : format("%%%02X", c);
  }
  return uri;
}

class SarifWriter {
 public:
  explicit SarifWriter(const Profile& profile) : profile_(profile) {
    folder_ = profile.run.working_directory;
    if (!ends_with(folder_, "/")) folder_ += '/';
  }

  std::string write(const Advice& advice) {
    for (const AdviceGroup& group : advice.groups)
      for (const Finding* finding : group.findings) add_result(*finding);
    Json driver = {{"name", "fathom"}, {"rules", rules_}};
    if (!profile_.run.fathom_version.empty()) driver["version"] = profile_.run.fathom_version;
    Json run = {{"tool", {{"driver", driver}}},
                {"originalUriBaseIds", {{kBase, base_folder()}}},
                {"columnKind", "unicodeCodePoints"},
                {"results", results_}};
    return text_of({{"$schema", "https://json.schemastore.org/sarif-2.1.0.json"},
                    {"version", "2.1.0"},
                    {"runs", Json::array({run})}});
  }

 private:
  Json base_folder() const {
    Json base = {
        {"description", {{"text", "The folder in which the measured program was started."}}}};
    if (starts_with(folder_, "/")) base["uri"] = "file://" + escape_uri(folder_);
    return base;
  }

  size_t rule_index(const std::string& kind) {
    auto [entry, is_new] = rule_ids_.try_emplace(kind, rules_.size());
    if (!is_new) return entry->second;
    FindingKind meaning = explain_kind(kind);
    rules_.push_back({{"id", kind},
                      {"shortDescription", {{"text", std::string(meaning.title)}}},
                      {"fullDescription", {{"text", std::string(meaning.help)}}},
                      {"help", {{"text", std::string(meaning.help)}}},
                      {"defaultConfiguration", {{"level", "note"}}}});
    return entry->second;
  }

  Json artifact(const std::string& file) const {
    if (starts_with(file, folder_))
      return {{"uri", escape_uri(std::string_view(file).substr(folder_.size()))},
              {"uriBaseId", kBase}};
    if (starts_with(file, "/")) return {{"uri", "file://" + escape_uri(file)}};
    return {{"uri", escape_uri(file)}, {"uriBaseId", kBase}};
  }

  Json physical(const SourceLocation& at) const {
    Json place = {{"artifactLocation", artifact(at.file)}};
    if (at.line) place["region"] = {{"startLine", at.line}};
    return place;
  }

  static std::string message(const Finding& finding) {
    std::string text = finding.title + ".";
    if (finding.speedup)
      text += format(" Estimated speedup of this part: %.2fx (%.2fx to %.2fx).",
                     finding.speedup->mid, finding.speedup->low, finding.speedup->high);
    if (finding.program_speedup)
      text += format(" Of the program: %.2fx.", finding.program_speedup->mid);
    text += " " + finding.text;
    for (const std::string& suggestion : finding.suggestions) text += "\n- " + suggestion;
    return text;
  }

  /// The same finding in a later run, even when the estimate or the words changed.
  static std::string fingerprint(const Finding& f) {
    std::string key = f.kind + '\n' + f.fix + '\n' + f.subject + '\n' + f.location.file + '\n' +
                      std::to_string(f.location.line);
    return sha256_hex({reinterpret_cast<const uint8_t*>(key.data()), key.size()});
  }

  Json related(const Finding& finding) const {
    Json list = Json::array();
    for (const RelatedLocation& r : finding.related) {
      if (r.at.file.empty()) continue;
      std::string text = r.what.empty() ? r.role : r.role + ": " + r.what;
      list.push_back({{"id", list.size() + 1},
                      {"physicalLocation", physical(r.at)},
                      {"message", {{"text", text}}}});
    }
    return list;
  }

  void add_result(const Finding& finding) {
    bool is_large = finding.program_speedup && finding.program_speedup->mid >= kWorthAWarning;
    Json place = {{"logicalLocations", Json::array({{{"fullyQualifiedName", finding.subject}}})}};
    if (!finding.location.file.empty()) place["physicalLocation"] = physical(finding.location);
    Json evidence = Json::array();
    for (const Evidence& e : finding.evidence)
      evidence.push_back({{"name", e.name}, {"value", e.value}, {"unit", e.unit}});
    Json result = {{"ruleId", finding.kind},
                   {"ruleIndex", rule_index(finding.kind)},
                   {"level", is_large ? "warning" : "note"},
                   {"message", {{"text", message(finding)}}},
                   {"locations", Json::array({place})}};
    Json places = related(finding);
    if (!places.empty()) result["relatedLocations"] = places;
    result["partialFingerprints"] = {{"fathomFinding/v1", fingerprint(finding)}};
    result["properties"] = {{"subject", finding.subject},
                            {"fix", finding.fix},
                            {"speedup", json_of(finding.speedup)},
                            {"programSpeedup", json_of(finding.program_speedup)},
                            {"evidence", evidence},
                            {"assumptions", finding.assumptions}};
    results_.push_back(std::move(result));
  }

  const Profile& profile_;
  std::string folder_;
  std::map<std::string, size_t> rule_ids_;
  Json rules_ = Json::array(), results_ = Json::array();
};

}  // namespace

Result<std::string> advice_sarif(const Profile& profile, const AdviceOptions& options) {
  Result<Advice> advice = choose_advice(profile, options);
  if (!advice) return advice.error();
  return SarifWriter(profile).write(*advice);
}

}  // namespace fathom
