#include "prediction/walk.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "prediction/testing.h"

namespace fathom {
namespace {

using test::Kernel;
using test::launch_of;

/// Executions of loads from global memory by an average warp.
double loads_of(const Kernel& kernel, const Walk& walk) {
  double loads = 0;
  for (const WarpTrace& warp : walk.warps)
    for (const Event& event : warp.events) {
      const Step& step = kernel.program.steps[event.step];
      if (step.op == Op::load && step.space == MemorySpace::global && event.lanes > 0)
        loads += event.weight;
    }
  return loads / static_cast<double>(walk.warps.size());
}

TEST(Walk, CountsRoundsFromArguments) {
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "sum_columns", launch_of(64, 128),
                        {{"rows", "100"}, {"columns", "8192"}});
    const Walk result = walk(kernel.program, kernel.launch, {});
    EXPECT_DOUBLE_EQ(loads_of(kernel, result), 100) << file;
    EXPECT_TRUE(result.assumed.empty()) << file << result.assumed.front();
    EXPECT_FALSE(result.cut_short);
  }
}

TEST(Walk, SkippingAheadCountsTheSame) {
  for (const std::string& file : test::both_files()) {
    for (const char* rows : {"1000", "1001", "4999", "100000"}) {
      const Kernel kernel(file, "sum_columns", launch_of(64, 128),
                          {{"rows", rows}, {"columns", "64"}});
      WalkLimits skipping;
      skipping.steps_before_skipping = 200;
      const Walk fast = walk(kernel.program, kernel.launch, skipping);
      EXPECT_NEAR(loads_of(kernel, fast), std::stod(rows), 1e-5 * std::stod(rows)) << file;
      EXPECT_LT(fast.executed, 100'000u);
    }
  }
}

TEST(Walk, SectorsFollowFromAddresses) {
  for (const std::string& file : test::both_files()) {
    const Kernel across(file, "sum_columns", launch_of(64, 128),
                        {{"rows", "10"}, {"columns", "8192"}});
    const Kernel along(file, "sum_rows", launch_of(64, 128), {{"columns", "10000"}});
    for (const Kernel* kernel : {&across, &along}) {
      const Walk result = walk(kernel->program, kernel->launch, {});
      for (const Event& event : result.warps.front().events) {
        if (kernel->program.steps[event.step].op != Op::load || event.access == kNoAccess) continue;
        EXPECT_EQ(result.accesses[event.access].sectors, kernel == &across ? 4u : 32u) << file;
      }
    }
  }
}

TEST(Walk, ThreadsBeyondTheEndLeave) {
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "saxpy", launch_of(2, 64), {{"n", "80"}});
    const Walk result = walk(kernel.program, kernel.launch, {});
    uint32_t lanes = 0;
    for (const WarpTrace& warp : result.warps)
      for (const Event& event : warp.events)
        if (kernel.program.steps[event.step].op == Op::store) lanes += event.lanes;
    EXPECT_EQ(lanes, 80u) << file;
  }
}

TEST(Walk, RowsOfUnknownLengthAreAskedFor) {
  for (const std::string& file : test::both_files()) {
    Launch launch = launch_of(64, 128);
    const Kernel unknown(file, "row_sums", launch, {{"rows", "8192"}});
    const Walk guessed = walk(unknown.program, launch, {});
    const bool told =
        std::any_of(guessed.assumed.begin(), guessed.assumed.end(), [](const std::string& each) {
          return each.find("kernels.cu:45 goes over rows whose lengths are data: 8") != each.npos;
        });
    EXPECT_TRUE(told) << file;
    launch.trips = {{45, 40}};
    const Kernel known(file, "row_sums", launch, {{"rows", "8192"}});
    const double difference =
        loads_of(known, walk(known.program, launch, {})) - loads_of(unknown, guessed);
    EXPECT_GE(difference, 32) << "40 rounds instead of 8, in " << file;
  }
}

TEST(Walk, ShareOfABranchIsAskedFor) {
  for (const std::string& file : test::both_files()) {
    double stores[2];
    for (int often : {0, 1}) {
      Launch launch = launch_of(64, 128);
      launch.trips = {{52, often ? 1.0 : 0.0}};
      const Kernel kernel(file, "clip_above", launch, {{"n", "8192"}});
      const Walk result = walk(kernel.program, launch, {});
      stores[often] = 0;
      for (const WarpTrace& warp : result.warps)
        for (const Event& event : warp.events)
          if (kernel.program.steps[event.step].op == Op::store) stores[often] += event.lanes;
      EXPECT_TRUE(result.assumed.empty()) << file << ": " << result.assumed.front();
    }
    EXPECT_EQ(stores[0], 0) << file;
    EXPECT_GT(stores[1], 0) << file;
  }
}

// The store is on line 8, the comparison that it is guarded by on line 7.
TEST(Walk, AGuardGoesByTheLineOfItsComparison) {
  for (const double share : {0.0, 0.25, 1.0}) {
    Launch launch = launch_of(64, 128);
    launch.trips = {{7, share}};
    const Kernel kernel("guards.sm_90.cubin", "raise_least", launch, {{"2", "8192"}});
    const Walk result = walk(kernel.program, launch, {});
    double lanes = 0, stores = 0;
    for (const WarpTrace& warp : result.warps)
      for (const Event& event : warp.events) {
        const Step& step = kernel.program.steps[event.step];
        if (step.op != Op::store || kernel.program.at(event.step).line != 8) continue;
        lanes += event.lanes;
        ++stores;
      }
    ASSERT_GT(stores, 0);
    EXPECT_NEAR(lanes / (32 * stores), share, 0.05);
  }
}

TEST(Walk, IsTheSameEachTime) {
  const Kernel kernel("kernels.ptx", "row_sums", launch_of(64, 128), {{"rows", "8192"}});
  const Walk a = walk(kernel.program, kernel.launch, {}),
             b = walk(kernel.program, kernel.launch, {});
  EXPECT_EQ(a.executed, b.executed);
  EXPECT_EQ(a.sectors, b.sectors);
}

/// Lines that the last loads of a search ask for, in the middle of the warps.
uint16_t lines_in_the_end(const std::string& name, const std::vector<ArgumentValue>& arguments) {
  const Kernel kernel("search.ptx", name, launch_of(1024, 128), arguments);
  const Walk result = walk(kernel.program, kernel.launch, {});
  std::vector<uint16_t> lines;
  for (const WarpTrace& warp : result.warps) {
    uint16_t last = 0;
    for (const Event& event : warp.events)
      if (kernel.program.steps[event.step].op == Op::load && event.access != kNoAccess)
        last = result.accesses[event.access].lines;
    lines.push_back(last);
  }
  std::sort(lines.begin(), lines.end());
  return lines[lines.size() / 2];
}

TEST(Walk, KeysOfAnotherBufferGoWaysOfTheirOwn) {
  const uint16_t elsewhere =
      lines_in_the_end("look_up", {{"keys", "@512K"}, {"table", "@16M"}, {"size", "4194304"}});
  const uint16_t within = lines_in_the_end("rank_within", {{"data", "@16M"}, {"size", "4194304"}});
  EXPECT_GT(elsewhere, 28u) << "of 32";
  EXPECT_LT(within, 24u) << "what is ranked within itself is taken to be sorted";
}

/// Bytes from the first to the last sector that a warp's accesses of the table are at, at most, and
/// how far the warps' first ones lie apart.
struct Spread {
  uint64_t within = 0, apart = 0;
};
Spread spread_of(const Kernel& kernel, const Walk& walk) {
  Spread spread;
  uint64_t least = ~uint64_t{0}, most = 0;
  for (const WarpTrace& warp : walk.warps)
    for (const Event& event : warp.events) {
      if (kernel.program.at(event.step).line != 7 || event.access == kNoAccess) continue;
      const Access& access = walk.accesses[event.access];
      if (access.sectors < 2) continue;  // where all begin the same search
      const uint64_t first = walk.sectors[access.first_sector],
                     last = walk.sectors[access.first_sector + access.sectors - 1u];
      spread.within = std::max(spread.within, (last - first) * 32);
      least = std::min(least, first * 32);
      most = std::max(most, first * 32);
    }
  spread.apart = most - least;
  return spread;
}

TEST(Walk, DataThatLieNearEachOtherAreTold) {
  const auto told = [](const Walk& walk) {
    return std::any_of(walk.assumed.begin(), walk.assumed.end(), [](const std::string& each) {
      return each.find(
                 "search.cu:7 depends on data: spread at random over the whole buffer (--near "
                 "LINE=BYTES") != each.npos;
    });
  };
  const Kernel anywhere("search.ptx", "look_up", launch_of(1024, 128),
                        {{"keys", "@512K"}, {"table", "@16M"}, {"size", "4194304"}});
  Launch launch = anywhere.launch;
  const Walk random = walk(anywhere.program, launch, {});
  EXPECT_GT(spread_of(anywhere, random).within, 8u << 20);
  EXPECT_TRUE(told(random));
  launch.nearby = {{7, 8192}};
  const Walk near = walk(anywhere.program, launch, {});
  const Spread spread = spread_of(anywhere, near);
  EXPECT_GT(spread.within, 4096u);
  EXPECT_LE(spread.within, 8192u);
  EXPECT_GT(spread.apart, 8u << 20) << "each warp has its own part of the buffer";
  EXPECT_FALSE(told(near));
}

TEST(Walk, TheFirstWarpStandsForItselfAlone) {
  const Kernel kernel("kernels.ptx", "sum_columns", launch_of(64, 512),
                      {{"rows", "10"}, {"columns", "8192"}});
  const Walk result = walk(kernel.program, kernel.launch, {});
  double shares = 0, first = 0, traces = 0;
  for (const WarpTrace& warp : result.warps) {
    if (warp.block != 0) continue;
    ++traces;
    shares += warp.share;
    if (warp.warp == 0) first += warp.share;
  }
  EXPECT_NEAR(shares, traces, 1e-4);
  EXPECT_NEAR(first, traces / 16, 1e-4) << "one of 16 warps";
}

}  // namespace
}  // namespace fathom
