// What the program promises on its command line: exit codes, one line for each error, its outputs.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "database/database.h"
#include "model/sample_profile.h"

namespace fathom {
namespace {

class Program : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fathom-app-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    ASSERT_TRUE(write_profile(testing::sample_profile(), folder_ + "/run.fdb").ok());
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome run(const std::string& arguments) const {
    std::string command =
        "cd " + folder_ + " && " FATHOM_PROGRAM " " + arguments + " >out 2>err </dev/null";
    int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_text_file(folder_ + "/out"),
            *read_text_file(folder_ + "/err")};
  }
  /// Nothing on standard output, and one line that starts with "fathom: ".
  void expect_error(const std::string& arguments, int code, const std::string& part) const {
    Outcome outcome = run(arguments);
    EXPECT_EQ(outcome.code, code) << arguments;
    EXPECT_EQ(outcome.out, "") << arguments;
    EXPECT_TRUE(starts_with(outcome.err, "fathom: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
    EXPECT_NE(outcome.err.find(part), std::string::npos) << outcome.err;
  }

  std::string folder_;
};

TEST_F(Program, SaysWhatIsWrongWithItsUsage) {
  expect_error("", 2, "see fathom --help");
  expect_error("bogus", 2, "no command \"bogus\"");
  expect_error("report", 2, "see fathom report --help");
  expect_error("advise run.fdb --format xml", 2, "see fathom advise --help");
  expect_error("report run.fdb --top many", 2, "--top");
  expect_error("report run.fdb --threshold 101", 2, "--threshold");
  expect_error("report run.fdb --line 18", 2, "FILE:LINE");
}

TEST_F(Program, TellsBadInputFromWhatItCannotAnswer) {
  expect_error("report absent.fdb", 3, "absent.fdb");
  expect_error("advise " + folder_, 3, folder_);
  expect_error("analyze absent", 3, "absent");
  expect_error("report run.fdb --kernel absent", 1, "transpose<double>");
  expect_error("advise run.fdb --kernel absent", 1, "transpose<double>");
}

TEST_F(Program, PrintsItsVersionAndItsHelp) {
  EXPECT_EQ(run("--version").out, "fathom " FATHOM_VERSION "\n");
  Outcome help = run("--help");
  EXPECT_EQ(help.code, 0);
  for (const char* command :
       {"record", "analyze", "report", "advise", "inspect", "calibrate", "doctor", "Examples:"})
    EXPECT_NE(help.out.find(command), std::string::npos) << command;
}

TEST_F(Program, ReportsAndAdvisesOnADatabase) {
  Outcome report = run("report run.fdb"), advice = run("advise run.fdb");
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_NE(report.out.find("GPU cycles of the whole program"), std::string::npos);
  EXPECT_EQ(advice.code, 0) << advice.err;
  EXPECT_NE(advice.out.find("An integer division"), std::string::npos);
  EXPECT_EQ(report.err + advice.err, "");
}

TEST_F(Program, UsesColourOnlyWhereItIsWanted) {
  EXPECT_EQ(run("report run.fdb").out.find('\033'), std::string::npos);  // no terminal
  EXPECT_NE(run("report run.fdb --color always").out.find('\033'), std::string::npos);
  EXPECT_EQ(run("advise run.fdb --color never").out.find('\033'), std::string::npos);
}

TEST_F(Program, GivesProgramsAllFindingsAndPeopleTheBest) {
  Profile profile = testing::sample_profile();
  for (int i = 0; i < 7; ++i) profile.findings.push_back(profile.findings[1]);
  ASSERT_TRUE(write_profile(profile, folder_ + "/many.fdb").ok());
  auto count = [](const std::string& text) {
    size_t found = 0;
    for (size_t at = 0; (at = text.find("Each turn of the loop waits", at)) != std::string::npos;
         ++at)
      ++found;
    return found;
  };
  EXPECT_EQ(count(run("advise many.fdb --format json").out), 8u);
  EXPECT_EQ(count(run("advise many.fdb --format json --top 3").out), 2u);
  EXPECT_NE(run("advise many.fdb").out.find("4 more for it"), std::string::npos);
}

}  // namespace
}  // namespace fathom
