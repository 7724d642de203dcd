#include <gtest/gtest.h>

#include <cstdlib>

#include "base/files.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

/// Compares with tests/golden/NAME.txt, or writes it where FATHOM_REGENERATE is set.
void check_golden(const std::string& name) {
  std::string path = std::string(FATHOM_SOURCE_DIR) + "/tests/golden/" + name + ".txt";
  GpuBinary binary = open_fixture(name + ".cubin");
  std::string text = describe(binary, *fixture_source(name + ".sass"));
  if (std::getenv("FATHOM_REGENERATE")) {
    ASSERT_TRUE(write_file(path, text).ok());
    return;
  }
  Result<std::string> golden = read_text_file(path);
  ASSERT_TRUE(golden.ok()) << golden.error().message();
  EXPECT_EQ(*golden, text);
}

TEST(Golden, InliningLinesAndInstructions) {
  check_golden("inlining.sm_90");
}
TEST(Golden, TinyLinesAndInstructions) {
  check_golden("tiny.sm_90");
}

}  // namespace
}  // namespace fathom
