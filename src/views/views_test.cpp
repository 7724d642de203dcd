// Golden texts: FATHOM_REGENERATE_GOLDEN=1 ./views_test writes them anew; look at the difference.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "model/sample_profile.h"
#include "views/advice.h"
#include "views/finding_kinds.h"
#include "views/lookups.h"
#include "views/report.h"

namespace fathom {
namespace {

const std::string kGolden = FATHOM_SOURCE_DIR "/tests/golden/";

std::string text_of_result(const Result<std::string>& result) {
  EXPECT_TRUE(result.ok()) << result.error().message();
  return result.ok() ? *result : std::string();
}

void expect_golden(const std::string& name, const std::string& text) {
  if (std::getenv("FATHOM_REGENERATE_GOLDEN")) {
    ASSERT_TRUE(write_file(kGolden + name, text).ok());
    return;
  }
  Result<std::string> golden = read_text_file(kGolden + name);
  ASSERT_TRUE(golden.ok()) << golden.error().message();
  EXPECT_EQ(text, *golden) << "FATHOM_REGENERATE_GOLDEN=1 ./views_test writes " << name << " anew";
}

std::string report(const ReportOptions& options, const Profile& p = testing::sample_profile()) {
  return text_of_result(report_text(p, options));
}
std::string advice(const AdviceOptions& options, const Profile& p = testing::sample_profile()) {
  return text_of_result(advice_text(p, options));
}
ReportOptions for_kernel(const std::string& name) {
  ReportOptions options;
  options.kernel = name;
  return options;
}
bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(Report, OfTheWholeProgram) {
  expect_golden("report.txt", report({}));
}
TEST(Report, OfOneKernelWithItsInstructions) {
  ReportOptions options = for_kernel("transpose");
  options.instructions = true;
  expect_golden("report_kernel.txt", report(options));
}
TEST(Report, OfALoop) {
  ReportOptions options;
  options.loop = "kernels.cu:17";
  expect_golden("report_loop.txt", report(options));
}
TEST(Report, InColour) {
  ReportOptions options = for_kernel("row_sums");
  options.style.color = true;
  expect_golden("report_color.txt", report(options));
}
TEST(Report, AsJson) {
  expect_golden("report.json", text_of_result(report_json(testing::sample_profile(), {})));
}
TEST(Advice, OfTheWholeProgram) {
  expect_golden("advice.txt", advice({}));
}
TEST(Advice, InColour) {
  AdviceOptions options;
  options.style.color = true;
  options.top = 1;
  expect_golden("advice_color.txt", advice(options));
}
TEST(Advice, AsJson) {
  expect_golden("advice.json", text_of_result(advice_json(testing::sample_profile(), {})));
}
TEST(Advice, AsSarif) {
  expect_golden("advice.sarif", text_of_result(advice_sarif(testing::sample_profile(), {})));
}

TEST(Report, FitsIntoItsWidth) {
  for (size_t width : {100, 110, 120}) {
    ReportOptions options = for_kernel("transpose");
    options.style.width = width;
    options.instructions = true;
    std::string text = report(options);
    options.kernel.clear();
    text += report(options);
    for (std::string_view line : split(text, '\n')) EXPECT_LE(columns(line), width) << line;
  }
}
TEST(Advice, FitsIntoItsWidth) {
  for (size_t width : {100, 110, 120}) {
    AdviceOptions options;
    options.style.width = width;
    std::string text = advice(options);
    for (std::string_view line : split(text, '\n')) EXPECT_LE(columns(line), width) << line;
  }
}

TEST(Report, LineCountsWhatIsInlinedThere) {
  ReportOptions options;
  options.line = "kernels.cu:19";
  std::string text = report(options);
  // 490 samples on the load of line 19, and 1,648 of numeric.h:3, inlined there.
  EXPECT_TRUE(contains(text, "2,138 samples")) << text;
  EXPECT_TRUE(contains(text, "numeric.h:3"));
}

TEST(Report, LoopIncludesTheLoopsInIt) {
  Profile p = testing::sample_profile();
  Result<Scope> outer = find_scope(p, "", "kernels.cu:14", ""),
                inner = find_scope(p, "", "kernels.cu:17", "");
  ASSERT_TRUE(outer.ok() && inner.ok());
  EXPECT_EQ(outer->samples - inner->samples, 71u);
  // A line in the middle of a loop means the innermost one around it.
  Result<Scope> around = find_scope(p, "", "layers/kernels.cu:18", "");
  ASSERT_TRUE(around.ok());
  EXPECT_EQ(around->samples, inner->samples);
}

TEST(Report, SaysWhatThereIsWhenNothingMatches) {
  Profile p = testing::sample_profile();
  Result<std::string> kernel = report_text(p, for_kernel("absent"));
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.error().kind, ErrorKind::cannot_answer);
  EXPECT_TRUE(contains(kernel.error().message(), "transpose<double>, row_sums"));
  for (const char* place : {"kernels.cu:999", "other.cu:17", "nels.cu:17"}) {
    Result<Scope> loop = find_scope(p, "", place, "");
    ASSERT_FALSE(loop.ok()) << place;
    EXPECT_EQ(loop.error().kind, ErrorKind::cannot_answer);
  }
  for (const char* place :
       {"kernels.cu", "kernels.cu:", ":17", "a:b", "a:99999999999999999999", ""}) {
    Result<Scope> line = find_scope(p, "", "", place);
    if (!*place) continue;
    ASSERT_FALSE(line.ok()) << place;
    EXPECT_EQ(line.error().kind, ErrorKind::usage) << place;
  }
}

TEST(Report, CutsTheContextTreeWhereAsked) {
  ReportOptions options;
  options.max_depth = 4;
  EXPECT_FALSE(contains(report(options), "<gpu kernel>"));
  options = {};
  options.threshold = 0;
  EXPECT_TRUE(contains(report(options), "<gpu sync>"));
  options.threshold = 0.01;
  EXPECT_FALSE(contains(report(options), "<gpu sync>"));
}

TEST(Report, HidesStartUpCodeUnlessEverythingIsAskedFor) {
  Profile p = testing::sample_profile();
  p.contexts[2].name = "__libc_start_main";
  p.contexts[1].name = "libcudart_static_0123";  // a process, not a function: stays
  p.contexts[3].name = "_start";                 // has several paths below it: stays
  p.contexts[14].parent = 3;
  p.contexts[17].parent = 3;
  p.contexts[20].parent = 3;
  std::string text = report({}, p);
  EXPECT_FALSE(contains(text, "__libc_start_main"));
  EXPECT_TRUE(contains(text, "libcudart_static_0123"));
  EXPECT_TRUE(contains(text, "_start"));
  ReportOptions everything;
  everything.threshold = 0;
  EXPECT_TRUE(contains(report(everything, p), "__libc_start_main"));
}

TEST(Places, LeaveOutFoldersOnlyWhereNoOtherFileHasTheName) {
  Profile p = testing::sample_profile();
  EXPECT_EQ(Places(p).show({"/src/layers/kernels.cu", 7}), "kernels.cu:7");
  p.run.working_directory = "/src";
  p.sources.insert(p.sources.begin(), {"/other/kernels.cu", {}});
  EXPECT_EQ(Places(p).show({"/src/layers/kernels.cu", 7}), "layers/kernels.cu:7");
  EXPECT_EQ(Places(p).show({"/other/kernels.cu", 0}), "/other/kernels.cu");
  EXPECT_EQ(Places(p).show({"", 7}), "");
  EXPECT_EQ(Places(p).show_full({"/src/layers/main.cpp", 1}), "layers/main.cpp:1");
}

TEST(ShowFunction, KeepsNamesThatCannotBeShortened) {
  EXPECT_EQ(show_function("void transpose<double>(double*, int)"), "transpose<double>");
  EXPECT_EQ(show_function("main(int, char**)::<lambda()>"), "main(int, char**)::<lambda()>");
  EXPECT_EQ(show_function("operator()"), "operator()");
}

TEST(Report, SurvivesAnEmptyProfileAndOneWithoutSamples) {
  EXPECT_TRUE(contains(report({}, Profile{}), "No operation of a GPU was recorded"));
  Profile p = testing::sample_profile();
  p.instructions.clear();
  p.blame.clear();
  p.run.sampling_period_log2 = 0;
  for (KernelSummary& kernel : p.kernels) kernel.topdown = {};
  EXPECT_TRUE(contains(report({}, p), "No instructions were sampled"));
}

TEST(Report, TopDownChildrenAddUpToTheirParents) {
  Profile p = testing::sample_profile();
  Result<Scope> scope = find_scope(p, "", "", "");
  ASSERT_TRUE(scope.ok());
  TopDownCounts sums = scope->topdown.inclusive();
  EXPECT_EQ(sums[TopDown::cycles], double(p.run.samples_attributed));
  EXPECT_EQ(sums[TopDown::cycles],
            sums[TopDown::issues] + sums[TopDown::exposed] + sums[TopDown::hidden]);
}

TEST(Report, TellsOnceThatSamplesAreSharedInContinuousMode) {
  Profile p = testing::sample_profile();
  std::string text = report({}, p);
  EXPECT_NE(text.find("by kernel time"), std::string::npos);
  EXPECT_EQ(text.find("by kernel time"), text.rfind("by kernel time"));
  p.run.sampling_serialized = true;
  EXPECT_FALSE(contains(report({}, p), "by kernel time"));
}

TEST(Report, GivesNoBandwidthWhereDirectionsShareTheirTime) {
  Profile p = testing::sample_profile();
  for (MetricValue& v : p.values)  // 13: the copy back; now it copies both ways
    if (v.context == 13 && p.metrics[v.metric].name == "GXCOPY:COUNT")
      v.metric = 8, v.exclusive = 5e7;
  std::erase_if(p.values, [](const MetricValue& v) {
    return v.context == 13 && v.metric == 8 && v.exclusive > 1e8;
  });
  p.values.insert(
      std::find_if(p.values.begin(), p.values.end(),
                   [](const MetricValue& v) { return v.context == 13 && v.metric == 8; }),
      {13, 7, 5e7, 5e7});
  std::string text = report({}, p);
  EXPECT_TRUE(contains(text, "copies in several directions")) << text;
  EXPECT_FALSE(contains(text, "iB at ")) << text;
}

TEST(Advice, TopCountsForEachSubject) {
  AdviceOptions options;
  options.top = 1;
  std::string text = advice(options);
  EXPECT_TRUE(contains(text, "An integer division"));
  EXPECT_FALSE(contains(text, "Each turn of the loop"));
  EXPECT_TRUE(contains(text, "68 of the 132"));
  EXPECT_TRUE(contains(text, "1 more for it"));
}

TEST(Advice, LeavesOutWhatIsTooSmallAndSaysSo) {
  AdviceOptions options;
  options.min_speedup = 1.25;
  std::string text = advice(options);
  EXPECT_TRUE(contains(text, "An integer division"));
  EXPECT_FALSE(contains(text, "Each turn of the loop"));  // 1.20
  EXPECT_FALSE(contains(text, "slowest one"));            // without a number
  EXPECT_TRUE(contains(text, "3 findings below --min-speedup"));
}

TEST(Advice, IsAboutOneKernelIfAsked) {
  AdviceOptions options;
  options.kernel = "row_sums";
  std::string text = advice(options);
  EXPECT_FALSE(contains(text, "An integer division"));
  EXPECT_TRUE(contains(text, "68 of the 132"));
  options.kernel = "gemm";
  EXPECT_TRUE(contains(advice(options), "Nothing to advise here"));
  options.kernel = "absent";
  EXPECT_EQ(advice_text(testing::sample_profile(), options).error().kind, ErrorKind::cannot_answer);
}

TEST(Advice, SaysWhyThereIsNoNumber) {
  EXPECT_TRUE(contains(advice({}), "not estimated: the measurement shows the waiting"));
}

TEST(Advice, ShowsASlowdownAsWhatItIs) {
  Profile p = testing::sample_profile();
  p.findings[0].speedup = {0.8, 0.92, 1.1};
  EXPECT_TRUE(contains(advice({}, p), "0.92x (0.80x to 1.10x)"));
}

/// Writes the text to a file and has Python's jsonschema judge it.
void expect_valid(const std::string& schema, const std::string& text) {
  char path[] = "/tmp/fathom-json-XXXXXX";
  int file = mkstemp(path);
  ASSERT_GE(file, 0);
  close(file);
  ASSERT_TRUE(write_file(path, text).ok());
  std::string command =
      "python3 " FATHOM_SOURCE_DIR "/tests/validate_json.py " + schema + " " + path;
  int status = std::system(command.c_str());
  unlink(path);
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  if (code == 77 || code == 127) GTEST_SKIP() << "python3 with jsonschema is not installed";
  EXPECT_EQ(code, 0);
}

TEST(AdviceJson, IsValidByItsSchema) {
  expect_valid(FATHOM_SOURCE_DIR "/docs/schemas/advice.schema.json",
               text_of_result(advice_json(testing::sample_profile(), {})));
}
TEST(AdviceJson, IsValidForAnEmptyProfile) {
  expect_valid(FATHOM_SOURCE_DIR "/docs/schemas/advice.schema.json",
               text_of_result(advice_json(Profile{}, {})));
}

TEST(AdviceJson, KeepsEachFieldOfAFinding) {
  Profile p = testing::sample_profile();
  auto json = nlohmann::json::parse(text_of_result(advice_json(p, {})));
  EXPECT_EQ(json["schema_version"], 1);
  ASSERT_EQ(json["findings"].size(), p.findings.size());
  const auto& first = json["findings"][0];
  EXPECT_EQ(first["location"]["line"], 18);
  EXPECT_EQ(first["speedup"]["mid"], 1.31);
  EXPECT_EQ(first["related"][1]["role"], "value comes from");
  EXPECT_EQ(first["evidence"][0]["value"], 1747);
  EXPECT_TRUE(json["findings"][3]["speedup"].is_null());
}

TEST(AdviceJson, TakesBytesThatAreNoUtf8) {
  Profile p = testing::sample_profile();
  p.run.command = "./\xff\xfe";
  p.findings[0].title = "\xc3";
  EXPECT_TRUE(nlohmann::json::accept(text_of_result(advice_json(p, {}))));
  EXPECT_TRUE(nlohmann::json::accept(text_of_result(advice_sarif(p, {}))));
  EXPECT_TRUE(nlohmann::json::accept(text_of_result(report_json(p, {}))));
}

TEST(Sarif, HasWhatTheStandardRequires) {
  Profile p = testing::sample_profile();
  p.findings[0].location.file = "/src/layers/a b#1.cu";
  p.findings[1].related[0].at.file = "/usr/include/x.h";
  p.findings[2].location = {};
  auto sarif = nlohmann::json::parse(text_of_result(advice_sarif(p, {})));
  EXPECT_EQ(sarif["version"], "2.1.0");
  ASSERT_EQ(sarif["runs"].size(), 1u);
  const auto& run = sarif["runs"][0];
  const auto& rules = run["tool"]["driver"]["rules"];
  EXPECT_EQ(run["tool"]["driver"]["name"], "fathom");
  EXPECT_EQ(run["originalUriBaseIds"]["SRCROOT"]["uri"], "file:///src/layers/");
  std::set<std::string> ids;
  for (const auto& rule : rules) {
    EXPECT_TRUE(ids.insert(rule["id"]).second) << "a rule twice";
    EXPECT_FALSE(rule["shortDescription"]["text"].get<std::string>().empty());
    EXPECT_FALSE(rule["help"]["text"].get<std::string>().empty());
  }
  ASSERT_EQ(run["results"].size(), p.findings.size());
  for (const auto& result : run["results"]) {
    EXPECT_EQ(rules.at(result["ruleIndex"].get<size_t>())["id"], result["ruleId"]);
    EXPECT_FALSE(result["message"]["text"].get<std::string>().empty());
    EXPECT_TRUE(result["level"] == "warning" || result["level"] == "note");
    for (const auto& place : result["locations"])
      if (place.contains("physicalLocation") && place["physicalLocation"].contains("region")) {
        EXPECT_GE(place["physicalLocation"]["region"]["startLine"], 1);
      }
  }
  const auto& artifact = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"];
  EXPECT_EQ(artifact["uri"], "a%20b%231.cu");
  EXPECT_EQ(artifact["uriBaseId"], "SRCROOT");
  EXPECT_EQ(run["results"][1]["relatedLocations"][0]["physicalLocation"]["artifactLocation"]["uri"],
            "file:///usr/include/x.h");
  EXPECT_FALSE(run["results"][2]["locations"][0].contains("physicalLocation"));
}

TEST(FindingKinds, AnUnknownKindExplainsItself) {
  EXPECT_EQ(explain_kind("fast-math").title, "Fast math functions");
  EXPECT_EQ(explain_kind("brand-new").title, "brand-new");
  EXPECT_FALSE(explain_kind("brand-new").help.empty());
}

}  // namespace
}  // namespace fathom
