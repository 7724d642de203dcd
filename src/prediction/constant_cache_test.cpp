#include "prediction/constant_cache.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "binary/sass_semantics.h"
#include "prediction/testing.h"

namespace fathom {
namespace {

using test::Kernel;
using test::launch_of;

std::vector<std::string> both_files() {
  return {"constants.ptx", "constants.sm_90.cubin"};
}

Kernel walk_table(const std::string& file, uint32_t blocks, uint32_t threads, uint32_t entries) {
  return Kernel(file, "walk_table", launch_of(blocks, threads),
                {{"entries", std::to_string(entries)}});
}

/// First and last byte that all loads of constants with an index touch, in their bank or variable.
std::pair<uint64_t, uint64_t> range_of(const Walk& walk) {
  std::pair<uint64_t, uint64_t> range{~uint64_t{0}, 0};
  const uint64_t offset = (uint64_t{1} << kBufferShift) - 1;
  for (const auto& [at, use] : walk.constants) {
    range.first = std::min(range.first, use.range().first & offset);
    range.second = std::max(range.second, use.range().end & offset);
  }
  return range;
}

/// Cycles of all misses of one warp of an average block.
double cycles_of(const Kernel& kernel, uint32_t resident, const MachineModel& machine) {
  const Walk sample = walk(kernel.program, kernel.launch, {});
  const std::vector<ConstantMisses> misses = plan_constants(
      kernel.program, sample, kernel.launch, machine, resident, machine.multiprocessors);
  if (misses.empty()) return 0;
  double cycles = 0;
  for (const Event& event : sample.warps.front().events)
    cycles += misses[event.step].cycles * event.weight;
  return cycles;
}
double cycles_of(const Kernel& kernel, uint32_t resident) {
  return cycles_of(kernel, resident, test::h200());
}

/// Of constants with an index, by the first warp.
double loads_of(const Kernel& kernel) {
  const Walk sample = walk(kernel.program, kernel.launch, {});
  double loads = 0;
  for (const Event& event : sample.warps.front().events)
    if (sample.constants.count(event.step))
      loads += event.weight * std::max(1, kernel.program.steps[event.step].bytes / 8);
  return loads;
}

Step lowered(const std::string& text) {
  return lower_sass(read_sass(text), [](uint32_t, uint32_t, uint32_t) { return ConstantValue{}; });
}

TEST(ConstantLoads, KeepBankOffsetAndIndex) {
  const Step uniform = lowered("ULDC.64 UR6, c[0x3][UR5+0x20]");
  EXPECT_EQ(uniform.op, Op::load);
  EXPECT_EQ(uniform.space, MemorySpace::constant);
  EXPECT_EQ(uniform.bank, 3);
  EXPECT_EQ(uniform.offset, 0x20);
  EXPECT_EQ(uniform.bytes, 8);
  EXPECT_EQ(uniform.sources[0].slot, 256 + 5);
  const Step back = lowered("LDC R2, c[0x3][R4+-0x10]");
  EXPECT_EQ(back.offset, -16);
  EXPECT_EQ(back.sources[0].slot, 4);
  EXPECT_EQ(lowered("ULDC UR4, c[0x3][0x20]").op, Op::move) << "always the same place";
}

TEST(ConstantLoads, TheWalkNotesWhatTheyTouch) {
  for (const std::string& file : both_files()) {
    const Walk all = walk(walk_table(file, 132, 64, 512).program, launch_of(132, 64), {});
    EXPECT_EQ(range_of(all).first, 0u) << file;
    EXPECT_GE(range_of(all).second, 512u * 16 - 4) << file << ": nobody needs the last number";
    EXPECT_LE(range_of(all).second, 512u * 16) << file;
    for (const auto& [at, use] : all.constants) {
      EXPECT_TRUE(use.uniform) << file;
      EXPECT_FALSE(use.unknown) << file;
      EXPECT_LE(use.new_lines, use.loads) << file;
    }
  }
}

TEST(ConstantLoads, LoopsThatAreSkippedAheadTouchTheSame) {
  for (const std::string& file : both_files()) {
    const Kernel kernel = walk_table(file, 132, 64, 1024);
    WalkLimits skipping;
    skipping.steps_before_skipping = 200;
    const Walk fast = walk(kernel.program, kernel.launch, skipping);
    const Walk slow = walk(kernel.program, kernel.launch, {6'000'000, 1'000'000, 48});
    EXPECT_LT(fast.executed, slow.executed / 2) << file;
    EXPECT_EQ(range_of(fast), range_of(slow)) << file;
    for (const auto& [at, use] : fast.constants)
      EXPECT_EQ(use.range().end, slow.constants.at(at).range().end) << file;
  }
}

TEST(ConstantLoads, OfAnIndexFromDataReachTheWholeTable) {
  for (const std::string& file : both_files()) {
    const Kernel kernel(file, "look_up", launch_of(132 * 8, 256), {});
    const Walk sample = walk(kernel.program, kernel.launch, {});
    ASSERT_EQ(sample.constants.size(), 1u) << file;
    const ConstantUse& use = sample.constants.begin()->second;
    EXPECT_TRUE(use.unknown) << file;
    EXPECT_EQ(kernel.program.constants.at(use.place), 16u * 1024) << file;
    EXPECT_GT(cycles_of(kernel, 8), 0) << file;
  }
}

TEST(ConstantCache, FewBlocksKeepInStep) {
  for (const std::string& file : both_files()) {
    EXPECT_EQ(cycles_of(walk_table(file, 132 * 2, 1024, 512), 2), 0) << file;
    EXPECT_EQ(cycles_of(walk_table(file, 132, 32, 512), 1), 0) << file << ": one warp";
    EXPECT_EQ(cycles_of(walk_table(file, 132 * 8, 32, 512), 8), 0)
        << file << ": two for each scheduler";
  }
}

TEST(ConstantCache, ManyBlocksMissAtEachLoad) {
  const double each = test::h200().prediction->memory.constant_uniform_miss_cycles;
  for (const std::string& file : both_files()) {
    const Kernel many = walk_table(file, 132 * 8, 256, 512);
    const double all = loads_of(many) * each;
    EXPECT_GE(loads_of(many), 512 * 2) << file << ": of 16 bytes 12 are used";
    EXPECT_NEAR(cycles_of(many, 8), all, 0.02 * all) << file;
    const double some = cycles_of(walk_table(file, 132 * 4, 512, 512), 4);
    EXPECT_GT(some, 0) << file;
    EXPECT_LT(some, 0.5 * all) << file;
  }
}

TEST(ConstantCache, SmallTablesAndSmallPartsAreFree) {
  for (const std::string& file : both_files()) {
    EXPECT_EQ(cycles_of(walk_table(file, 132 * 8, 256, 16), 8), 0) << file << ": 256 bytes";
    EXPECT_GT(cycles_of(walk_table(file, 132 * 8, 256, 32), 8), 0) << file << ": 512 bytes";
    const Kernel part(file, "own_part", launch_of(132 * 8, 256), {{"rounds", "1000"}});
    EXPECT_EQ(cycles_of(part, 2), 0) << file << ": twice 128 bytes of 16 KiB";
  }
}

TEST(ConstantCache, CostsNothingWhereItWasNotMeasured) {
  MachineModel machine = test::h200();
  machine.prediction->memory.constant_bytes = 0;
  EXPECT_EQ(cycles_of(walk_table("constants.sm_90.cubin", 132 * 8, 256, 512), 8, machine), 0);
}

TEST(ConstantCache, BoundsTheKernelThatMisses) {
  const auto predicted = [](const std::string& file, uint32_t blocks, uint32_t threads) {
    return walk_table(file, 132 * blocks, threads, 512).predict();
  };
  for (const std::string& file : both_files()) {
    const KernelPrediction few = predicted(file, 2, 1024), many = predicted(file, 8, 256);
    EXPECT_GT(many.time_us, 3 * few.time_us) << file << ": the same number of threads";
    EXPECT_EQ(many.bound_by, "constant cache misses") << file;
    EXPECT_GT(many.waits[static_cast<size_t>(Wait::constant)], 0.5) << file;
    EXPECT_NE(few.bound_by, many.bound_by) << file;
    EXPECT_LT(few.waits[static_cast<size_t>(Wait::constant)], 0.3) << file;
    const auto found =
        std::find_if(many.resources.begin(), many.resources.end(),
                     [](const auto& r) { return r.name == "constant cache misses"; });
    ASSERT_NE(found, many.resources.end()) << file;
    EXPECT_GT(found->share, 0.9) << file;
  }
}

}  // namespace
}  // namespace fathom
