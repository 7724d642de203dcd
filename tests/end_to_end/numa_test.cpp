// From a recording of memory accesses to what a person reads.
// Golden texts: FATHOM_REGENERATE_GOLDEN=1 ./numa_advice_test writes them anew.

#include <gtest/gtest.h>

#include <cstdlib>

#include "attribution/attribution.h"
#include "base/files.h"
#include "database/database.h"
#include "numa/numa.h"
#include "numa/testing.h"
#include "views/advice.h"
#include "views/report.h"

namespace fathom {
namespace {

using testing::NumaProgram;

void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = FATHOM_SOURCE_DIR "/tests/golden/" + name;
  if (std::getenv("FATHOM_REGENERATE_GOLDEN")) {
    ASSERT_TRUE(write_file(path, text).ok());
    return;
  }
  Result<std::string> golden = read_text_file(path);
  ASSERT_TRUE(golden.ok()) << golden.error().message();
  EXPECT_EQ(text, *golden) << "FATHOM_REGENERATE_GOLDEN=1 ./numa_advice_test writes " << name
                           << " anew";
}

/// One issue of each kind, with each fix, in a program with four workers.
Profile analyzed() {
  NumaProgram program(4);
  program.blocks();
  program.interleaved();
  program.table();
  program.local_blocks();
  program.counters();
  program.global_struct();
  program.shared_counter();
  program.waits(true);
  program.stages(3);
  Measurement measurement = program.read();
  Result<Attribution> attribution = attribute(measurement, {});
  EXPECT_TRUE(attribution.ok());
  Profile profile = std::move(attribution->profile);
  find_numa_issues(measurement, {}, profile);
  return profile;
}

TEST(NumaAdvice, NamesEachIssueItsObjectAndItsFix) {
  Profile profile = analyzed();
  EXPECT_EQ(profile.findings.size(), 8u);
  expect_golden("numa_advice.txt", advice_text(profile, {}).value());
}

TEST(NumaAdvice, HasAReportOfThreadsAndObjects) {
  expect_golden("numa_report.txt", report_text(analyzed(), {}).value());
}

TEST(NumaAdvice, SurvivesTheDatabase) {
  Profile profile = analyzed();
  testing::TemporaryDirectory directory;
  std::string file = directory.path() + "/run.fdb";
  ASSERT_TRUE(write_profile(profile, file).ok());
  Result<Profile> read = read_profile(file);
  ASSERT_TRUE(read.ok()) << read.error().message();
  for (auto view : {advice_text, advice_json, advice_sarif})
    EXPECT_EQ(view(*read, {}).value(), view(profile, {}).value());
  EXPECT_EQ(report_text(*read, {}).value(), report_text(profile, {}).value());
  EXPECT_EQ(report_json(*read, {}).value(), report_json(profile, {}).value());
}

TEST(NumaAdvice, SaysWhenThereIsNothingToAdvise) {
  NumaProgram program(4);
  program.local_blocks();
  Measurement measurement = program.read();
  Profile profile;
  find_numa_issues(measurement, {}, profile);
  std::string text = advice_text(profile, {}).value();
  EXPECT_NE(text.find("no score of remote accesses"), std::string::npos) << text;
  EXPECT_EQ(text.find("gpu"), std::string::npos) << text;
}

}  // namespace
}  // namespace fathom
