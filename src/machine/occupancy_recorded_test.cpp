// Compares with what the CUDA runtime said on an H200; tests/fixtures/h200-occupancy.

#include <gtest/gtest.h>

#include <cstdio>

#include "base/files.h"
#include "base/text.h"
#include "machine/machine.h"

namespace fathom {
namespace {

TEST(OccupancyRecorded, EqualsWhatTheRuntimeSaidOnAnH200) {
  const std::string file =
      std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/h200-occupancy/cases.tsv";
  const Result<std::string> text = read_text_file(file);
  ASSERT_TRUE(text.ok()) << file;
  const OccupancyLimits& limits = machine_for("NVIDIA H200", 90).model->occupancy;
  int cases = 0, none = 0;
  for (std::string_view line : split(*text, '\n')) {
    uint32_t registers, fixed, dynamic, threads, blocks;
    if (std::sscanf(std::string(line).c_str(), "%u %u %u %u %u", &registers, &fixed, &dynamic,
                    &threads, &blocks) != 5)
      continue;
    LaunchShape shape;
    shape.grid = {1, 1, 1};
    shape.block = {threads, 1, 1};
    shape.registers_per_thread = registers;
    shape.static_shared_memory = fixed;
    shape.dynamic_shared_memory = dynamic;
    EXPECT_EQ(occupancy_of(limits, shape).active_blocks, blocks) << line;
    ++cases;
    none += blocks == 0;
  }
  EXPECT_EQ(cases, 1520);
  EXPECT_GT(none, 0) << "launches that do not fit are among them";
}

}  // namespace
}  // namespace fathom
