// The program itself on the recording: same bytes each time, golden advice.

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "fixture.h"
#include "measurement/testing.h"

namespace fathom {
namespace {

using fathom::testing::fixture_path;
using fathom::testing::source_path;
using fathom::testing::TemporaryDirectory;

std::string run(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), FATHOM_PROGRAM);
  Result<std::string> output = run_program(arguments);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().message());
  return output.ok() ? *output : "";
}

TEST(Commands, AnalyzingTwiceGivesTheSameBytes) {
  TemporaryDirectory directory;
  std::string first = directory.path() + "/first.fdb", second = directory.path() + "/second.fdb";
  run({"analyze", fixture_path(), "-o", first});
  run({"analyze", fixture_path(), "-o", second});
  EXPECT_TRUE(read_file(first).value() == read_file(second).value());
  for (const char* command : {"report", "advise"}) {
    EXPECT_EQ(run({command, first}), run({command, second})) << command;
    EXPECT_EQ(run({command, first}), run({command, fixture_path()}))
        << command << " on the directory itself";
  }
}

/// FATHOM_REGENERATE_GOLDEN=1 build/release/tests/end_to_end/commands_test rewrites the file.
TEST(Commands, AdviceOnTheRecordingIsTheReviewedOne) {
  ::setenv("COLUMNS", "100", 1);
  std::string advice = run(
      {"advise", fixture_path(), "--source", FATHOM_SOURCE_DIR, "--top", "2", "--color", "never"});
  std::string golden = source_path("tests/golden/h200_samples_advice.txt");
  if (std::getenv("FATHOM_REGENERATE_GOLDEN")) {
    ASSERT_TRUE(write_file(golden, advice).ok());
  }
  EXPECT_EQ(advice, read_text_file(golden).value());
}

/// The argument is that of the sample's source: the recording is from before arguments were kept.
TEST(Commands, PredictionBesideTheRecordingIsTheReviewedOne) {
  ::setenv("COLUMNS", "100", 1);
  const std::string text = run({"predict", fixture_path(), "--kernel", "cheapest_candidate",
                                "--arg", "0=4096", "--color", "never"});
  const std::string golden = source_path("tests/golden/h200_samples_predict.txt");
  if (std::getenv("FATHOM_REGENERATE_GOLDEN")) {
    ASSERT_TRUE(write_file(golden, text).ok());
  }
  EXPECT_EQ(text, read_text_file(golden).value())
      << "if the model of time changed, review and FATHOM_REGENERATE_GOLDEN=1 " << FATHOM_PROGRAM
      << "'s commands_test";
}

}  // namespace
}  // namespace fathom
