// The native decoder against the disassembly that the recorded measurement carries: no nvdisasm is
// needed.

#include <gtest/gtest.h>

#include <filesystem>

#include "base/files.h"
#include "binary/compare_sources.h"
#include "measurement/disassembly_store.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;

std::vector<uint8_t> read(const fs::path& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path.string());
  EXPECT_TRUE(bytes.ok());
  return bytes ? std::move(*bytes) : std::vector<uint8_t>();
}

TEST(NativeDecoder, AgreesWithTheDisassemblyOfEveryRecordedBinary) {
  SourceDifferences differences;
  size_t binaries = 0;
  for (const auto& entry :
       fs::directory_iterator(FATHOM_SOURCE_DIR "/tests/fixtures/h200-samples/gpubins")) {
    if (entry.path().extension() != ".cubin") continue;
    const std::string sha256 = entry.path().stem().string();
    std::vector<Warning> warnings;
    fs::path stored = entry.path();
    stored.replace_extension(".fathom");
    std::optional<StoredDisassembly> text =
        read_disassembly(stored.string(), sha256, read(stored), warnings);
    ASSERT_TRUE(text.has_value()) << stored;
    Result<GpuBinary> binary = open_gpu_binary(
        std::make_shared<const std::vector<uint8_t>>(read(entry.path())), entry.path().string());
    ASSERT_TRUE(binary.ok());
    auto theirs = nvdisasm_text(std::move(text->text), text->tool);
    auto ours = native_decoder();
    Result<Done> done = compare_sources(*binary, **theirs, *ours, differences);
    ASSERT_TRUE(done.ok()) << done.error().message();
    ++binaries;
  }
  EXPECT_EQ(binaries, 27u);
  EXPECT_GT(differences.instructions, 2000u);
  EXPECT_EQ(differences.different, 0u) << differences.report();
  EXPECT_GE(differences.text_alike * 100, differences.instructions * 99) << differences.report();
}

}  // namespace
}  // namespace fathom
