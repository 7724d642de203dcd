#include "prediction/predict.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <random>

#include "prediction/memory_plan.h"
#include "prediction/testing.h"

namespace fathom {
namespace {

#ifdef FATHOM_SANITIZED
constexpr bool kIsSanitized = true;
#else
constexpr bool kIsSanitized = false;
#endif

using test::Kernel;
using test::launch_of;

const PredictionFigures& figures() {
  return *test::h200().prediction;
}

TEST(Predict, StreamingTakesTheTimeOfItsBytes) {
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "saxpy", launch_of(1u << 18, 256), {{"n", "67108864"}});
    const KernelPrediction prediction = kernel.predict();
    const double bytes = 3.0 * 4 * (1u << 26);
    EXPECT_NEAR(prediction.l2_bytes, bytes, bytes * 0.01) << file;
    EXPECT_NEAR(prediction.dram_bytes, bytes, bytes * 0.01) << file;
    EXPECT_EQ(prediction.bound_by, "device memory bandwidth") << file;
    const double least = bytes / figures().memory.dram_read_bytes_per_second * 1e6;
    EXPECT_GT(prediction.time_us, least) << file;
    EXPECT_NEAR(prediction.time_us, 234.1, 0.2 * 234.1) << file << ": axpy's, on an H200";
  }
}

TEST(Predict, AChainTakesTheTimeOfItsLatency) {
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "long_chain", launch_of(132, 32), {{"steps", "100000"}});
    const KernelPrediction prediction = kernel.predict();
    const double cycles = (prediction.time_us - prediction.launch_us) * figures().clock_mhz / 1e5;
    EXPECT_GE(cycles, 4) << "a multiplication and addition takes 4 cycles: " << file;
    EXPECT_LE(cycles, 40) << file;
    EXPECT_EQ(prediction.bound_by.rfind("latency", 0), 0u) << prediction.bound_by;
    ASSERT_FALSE(prediction.lines.empty());
    EXPECT_EQ(prediction.lines.front().at.line, 36u) << file;
  }
}

TEST(Predict, TwiceTheWorkTakesTwiceTheTime) {
  for (const std::string& file : test::both_files()) {
    double times[2];
    for (int i : {0, 1}) {
      const Kernel kernel(file, "long_chain", launch_of(132 * 64, 256),
                          {{"steps", i ? "4000" : "2000"}});
      const KernelPrediction prediction = kernel.predict();
      times[i] = prediction.time_us - prediction.launch_us;
    }
    EXPECT_NEAR(times[1] / times[0], 2, 0.1) << file;
  }
}

TEST(Predict, ConflictsAndScatteredAccessesAreFoundOut) {
  for (const std::string& file : test::both_files()) {
    Launch launch;
    launch.grid = {128, 128, 1};
    launch.block = {32, 32, 1};
    const KernelPrediction conflicts =
        Kernel(file, "transpose_conflicts", launch, {{"n", "4096"}}).predict();
    const auto has = [](const KernelPrediction& prediction, const char* kind) {
      return std::any_of(
          prediction.findings.begin(), prediction.findings.end(),
          [&](const Finding& each) { return each.kind == kind && each.location.line != 0; });
    };
    EXPECT_TRUE(has(conflicts, "bank-conflicts")) << file;
    EXPECT_FALSE(has(conflicts, "memory-transaction-reduction")) << file;
    const KernelPrediction scattered =
        Kernel(file, "sum_rows", launch_of(4096, 256), {{"columns", "1024"}}).predict();
    EXPECT_TRUE(has(scattered, "memory-transaction-reduction")) << file;
    EXPECT_FALSE(has(scattered, "bank-conflicts")) << file;
    const KernelPrediction across = Kernel(file, "sum_columns", launch_of(4096, 256),
                                           {{"rows", "1024"}, {"columns", "1048576"}})
                                        .predict();
    EXPECT_FALSE(has(across, "memory-transaction-reduction")) << file;
    EXPECT_GT(scattered.l2_bytes, 1.5 * across.l2_bytes)
        << "L1 cannot keep a line for each thread, in " << file;
  }
}

TEST(Predict, AShortKernelIsMostlyItsLaunch) {
  const KernelPrediction prediction =
      Kernel("kernels.ptx", "saxpy", launch_of(1, 32), {{"n", "32"}}).predict();
  EXPECT_EQ(prediction.bound_by, "launch overhead");
  EXPECT_LT(prediction.time_us, 2 * prediction.launch_us);
}

TEST(Predict, EachModelGivesATime) {
  for (const std::string& file : test::both_files()) {
    const Kernel kernel(file, "sum_columns", launch_of(4096, 256),
                        {{"rows", "64"}, {"columns", "1048576"}});
    const double bytes = 4.0 * 64 * 1048576,
                 least = bytes / figures().memory.dram_read_bytes_per_second * 1e6;
    EXPECT_NEAR(kernel.predict(PredictionModel::roofline).time_us,
                least + figures().launch.empty_kernel_us, 0.05 * least)
        << file;
    for (PredictionModel model : {PredictionModel::delay, PredictionModel::list}) {
      const KernelPrediction prediction = kernel.predict(model);
      EXPECT_GT(prediction.time_us, prediction.launch_us) << name_of(model);
      EXPECT_LT(prediction.time_us, 100 * least) << name_of(model);
      EXPECT_FALSE(prediction.bound_by.empty());
    }
  }
}

TEST(Predict, WhatIsTakenForGrantedIsSaid) {
  const KernelPrediction prediction =
      Kernel("kernels.ptx", "saxpy", launch_of(16, 256), {}).predict();
  const auto says = [&](const std::string& what) {
    return std::any_of(prediction.assumed.begin(), prediction.assumed.end(),
                       [&](const std::string& each) { return each.find(what) != each.npos; });
  };
  EXPECT_TRUE(says("argument 3 (n) was not given: the number of threads"));
  EXPECT_FALSE(says("argument 2")) << "a float decides nothing";
  EXPECT_TRUE(says("the data fit into L2"));
  EXPECT_TRUE(says("estimated from PTX"));
}

TEST(Predict, ANumberThatLooksLikeAPointerIsAskedFor) {
  const auto asks = [](const std::vector<ArgumentValue>& arguments) {
    const KernelPrediction made =
        Kernel("random.ptx", "add_one", launch_of(264, 256), arguments).predict();
    return std::any_of(made.assumed.begin(), made.assumed.end(), [](const std::string& each) {
      return each.find("argument 1 (n) was not given: taken for a pointer") != each.npos;
    });
  };
  EXPECT_TRUE(asks({}));
  EXPECT_FALSE(asks({{"n", "1000000"}}));
}

TEST(Predict, ABlockThatDoesNotFitIsRefused) {
  Kernel kernel("kernels.ptx", "saxpy", launch_of(16, 256), {{"n", "4096"}});
  kernel.program.shape.static_shared_memory = 300'000;
  const auto refused = predict(kernel.program, kernel.launch, test::h200(),
                               PredictionModel::simulation, kernel.block);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("too many shared memory"), std::string::npos)
      << refused.error().message();
}

/// Predicts each kernel of a file that may be damaged; the launch has what most kernels accept.
void predict_all(const KernelSource& source) {
  for (const std::string& name : source.kernels) {
    const Launch launch = launch_of(40, 64);
    ParameterBlock block(source.parameters(name), 2560);
    const auto program =
        source.binary
            ? make_program(*source.binary, *source.binary->find(name), test::h200(), launch, block)
            : make_program(*source.ptx, name, test::h200(), launch, block);
    if (!program.ok()) continue;
    const auto prediction =
        predict(*program, launch, test::h200(), PredictionModel::simulation, block);
    EXPECT_TRUE(prediction.ok() ? prediction->time_us > 0 : !prediction.error().what.empty());
  }
}

TEST(Predict, NoMutationOfPtxCrashes) {
  const std::string good[] = {*read_text_file(test::ptx_fixture("kernels.ptx")),
                              *read_text_file(test::ptx_fixture("features.ptx"))};
  const std::string path = testing::TempDir() + "mutated.ptx";
  SourceOptions options;
  options.arch = "sm_90";
  options.ptxas = "none";
  std::mt19937 random(11);
  int opened = 0;
  const int rounds = kIsSanitized ? 24 : 80;  // sanitizers take ten times as long
  for (int round = 0; round < rounds; ++round) {
    std::string bad = good[round % 2];
    for (unsigned i = 0; i <= random() % 4; ++i) {
      // Digits and letters rather than any byte, so that much of it is still PTX.
      const size_t at = random() % bad.size();
      if (std::isalnum(static_cast<unsigned char>(bad[at])))
        bad[at] = "0123456789abcdefrsx"[random() % 19];
    }
    ASSERT_TRUE(write_file(path, bad).ok());
    const auto source = open_kernels(path, options);
    if (!source.ok()) continue;
    ++opened;
    predict_all(*source);
  }
  EXPECT_GT(opened, rounds / 8) << "hardly any was still PTX";
  std::remove(path.c_str());
}

TEST(Predict, NoMutationOfMachineCodeCrashes) {
  const std::string good = *read_text_file(test::ptx_fixture("kernels.sm_90.cubin"));
  const std::string path = testing::TempDir() + "mutated.cubin";
  SourceOptions options;
  options.arch = "sm_90";
  std::mt19937 random(12);
  for (int round = 0; round < (kIsSanitized ? 12 : 40); ++round) {
    std::string bad = good;
    for (unsigned i = 0; i <= random() % 16; ++i)
      bad[64 + random() % (bad.size() - 64)] ^= static_cast<char>(1u << random() % 8);
    ASSERT_TRUE(write_file(path, bad).ok());
    const auto source = open_kernels(path, options);
    if (source.ok() && source->binary) predict_all(*source);
  }
  std::remove(path.c_str());
}

TEST(MemoryPlan, BlocksThatReadTheSameCountItOnce) {
  // Each row of blocks reads the same columns: all blocks of one dimension share them.
  for (const std::string& file : test::both_files()) {
    Launch launch;
    launch.grid = {64, 64, 1};
    launch.block = {32, 32, 1};
    const Kernel kernel(file, "transpose_conflicts", launch, {{"n", "2048"}});
    const Walk sample = walk(kernel.program, launch, {});
    const MemoryPlan plan = plan_memory(kernel.program, sample, launch, test::h200(), 2, 132);
    EXPECT_NEAR(plan.footprint_bytes, 2.0 * 2048 * 2048 * 4, 1e5) << file;
    const Kernel sums(file, "sum_columns", launch_of(1, 128),
                      {{"rows", "4096"}, {"columns", "128"}});
    const Walk one = walk(sums.program, sums.launch, {});
    const MemoryPlan single = plan_memory(sums.program, one, sums.launch, test::h200(), 1, 1);
    EXPECT_NEAR(single.footprint_bytes, 4096.0 * 128 * 4 + 512, 4096.0 * 128 * 4 * 0.02) << file;
  }
}

TEST(MemoryPlan, DataBeyondL2ComeFromMemory) {
  for (const char* n : {"1048576", "67108864"}) {
    const auto blocks = static_cast<uint32_t>(std::stoul(n) / 256);
    const KernelPrediction prediction =
        Kernel("kernels.ptx", "saxpy", launch_of(blocks, 256), {{"n", n}}).predict();
    EXPECT_EQ(prediction.dram_bytes > 0, std::stoul(n) > 10'000'000) << n;
  }
}

TEST(Predict, RowsOfATableLieAllOverIt) {
  const Kernel kernel("search.ptx", "copy_rows", launch_of(16384, 128),
                      {{"rows", "@64K"}, {"table", "@200M"}, {"out", "@64M"}, {"width", "256"}});
  const double rows = 16384 * 4096.0;
  EXPECT_NEAR(kernel.predict().footprint_bytes, 2 * rows, 0.1 * rows);
}

// Of a buffer that fits, L2 has what is asked for at random; of a large one it hardly ever does,
// though a wave of blocks asks for little of it.
TEST(Predict, PlacesAtRandomComeFromMemoryWhereTheBufferIsLarge) {
  const auto of = [](const char* kernel, const char* buffer) {
    return Kernel("random.ptx", kernel, launch_of(32768, 256),
                  {{"n", "8388608"}, {"index", "@32M"}, {"from", buffer}, {"to", buffer}})
        .predict();
  };
  const double sectors = 8388608 * 32.0;
  EXPECT_LT(of("gather", "@16M").dram_bytes, 0.5 * sectors);
  EXPECT_GT(of("gather", "@512M").dram_bytes, 0.9 * sectors);
  EXPECT_GT(of("gather", "@512M").time_us,
            8388608 / figures().memory.dram_gather_sectors_per_second * 0.9e6);
  EXPECT_GT(of("scatter", "@512M").time_us, 1.5 * of("gather", "@512M").time_us)
      << "each sector is read, changed and written";
}

TEST(Predict, NothingIsFasterThanItsUnits) {
  const Kernel kernel("search.ptx", "look_up", launch_of(8192, 256),
                      {{"keys", "@8M"}, {"table", "@64K"}, {"size", "16384"}});
  const KernelPrediction made = kernel.predict();
  const double per_second = 132.0 * 4 * figures().clock_mhz * 1e6;
  EXPECT_GE(made.time_us - made.launch_us, 0.999 * made.instructions / per_second * 1e6);
}

}  // namespace
}  // namespace fathom
