// A damaged recording gives a partial result and a warning, or an error with the file; never a
// crash. Run under AddressSanitizer too.

#include <gtest/gtest.h>

#include <filesystem>
#include <random>

#include "advice/advice.h"
#include "base/files.h"
#include "fixture.h"
#include "measurement/testing.h"
#include "views/advice.h"
#include "views/report.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;

#ifdef FATHOM_SANITIZED
constexpr int kMutations = 600;  // each takes ten times as long
#else
constexpr int kMutations = 2400;
#endif

/// One process of the recording, with its GPU binary: small enough for thousands of analyses.
std::string copy_one_process(const std::string& target) {
  const Measurement& whole = fathom::testing::fixture_measurement();
  for (const Process& process : whole.processes) {
    if (!process.executable.ends_with("/few_blocks")) continue;
    std::string folder = fs::path(process.folder).filename();
    fs::create_directories(target + "/gpubins");
    fs::copy(fathom::testing::fixture_path() + "/" + folder, target + "/" + folder);
    for (const LoadedGpuBinary& binary : process.binaries)
      for (const char* ending : {".cubin", ".fathom"}) {
        std::string name = "/gpubins/" + binary.sha256 + ending;
        if (fs::exists(fathom::testing::fixture_path() + name))
          fs::copy_file(fathom::testing::fixture_path() + name, target + name,
                        fs::copy_options::skip_existing);
      }
    return folder;
  }
  return "";
}

/// Everything that a user can see of a measurement. Empty: it could not be read, and `complaint`
/// says why.
std::string analyze(const std::string& directory, std::string& complaint) {
  Result<Measurement> measurement = read_measurement(directory);
  if (!measurement.ok()) return complaint = measurement.error().message(), "";
  Result<Attribution> attribution = attribute(*measurement, {});
  if (!attribution.ok()) return complaint = attribution.error().message(), "";
  advise(*attribution);
  Profile& profile = attribution->profile;
  for (const Warning& warning : profile.warnings)
    complaint += warning.where + ": " + warning.what + "\n";
  profile.warnings.clear();
  std::string text = report_json(profile, {}).value();
  Result<std::string> advice = advice_json(profile, {});
  return text + (advice.ok() ? *advice : advice.error().message());
}

struct Target {
  std::string path;
  std::string content;
};

std::vector<Target> files_of(const std::string& directory) {
  std::vector<Target> files;
  for (const auto& entry : fs::recursive_directory_iterator(directory))
    if (entry.is_regular_file())
      files.push_back({entry.path(), read_text_file(entry.path()).value()});
  std::sort(files.begin(), files.end(),
            [](const Target& a, const Target& b) { return a.path < b.path; });
  return files;
}

TEST(Mutation, ADamagedRecordingIsToldAndNeverCrashes) {
  ::setenv("FATHOM_NVDISASM", "/nonexistent", 1);  // only what the recording carries
  fathom::testing::TemporaryDirectory directory;
  ASSERT_FALSE(copy_one_process(directory.path()).empty());
  std::vector<Target> files = files_of(directory.path());
  ASSERT_GE(files.size(), 4u);
  std::string whole_complaint;
  const std::string whole = analyze(directory.path(), whole_complaint);
  ASSERT_NE(whole.find("count_hits"), std::string::npos);

  std::mt19937 random(20);
  int silent = 0, partial = 0, errors = 0;
  for (int i = 0; i < kMutations; ++i) {
    const Target& target = files[random() % files.size()];
    std::string damaged = target.content;
    size_t at = random() % damaged.size();
    if (i % 2) {
      damaged.resize(at);
    } else {
      damaged[at] = char(damaged[at] ^ (1 + random() % 255));
    }
    ASSERT_TRUE(write_file(target.path, damaged).ok());
    std::string complaint;
    std::string result = analyze(directory.path(), complaint);
    ASSERT_TRUE(write_file(target.path, target.content).ok());
    std::string name = fs::path(target.path).filename();
    bool told = complaint != whole_complaint && !complaint.empty();
    if (result.empty()) {
      ++errors;
    } else {
      ++partial;
    }
    // A cut between two chunks of a file looks like a program that was killed there: the only
    // damage that cannot be told.
    if (!told) ++silent;
    EXPECT_TRUE(told || (i % 2 && name.ends_with(".fathom"))) << name << " byte " << at;
  }
  EXPECT_GT(partial, kMutations / 2) << "most of a damaged recording is still readable";
  EXPECT_LT(silent, kMutations / 100);
  RecordProperty("partial", partial);
  RecordProperty("errors", errors);
  std::string again;
  EXPECT_EQ(analyze(directory.path(), again), whole);
}

}  // namespace
}  // namespace fathom
