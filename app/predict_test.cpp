// `fathom predict` as a user runs it.

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/files.h"
#include "measurement/testing.h"

namespace fathom {
namespace {

struct Outcome {
  int exit_code = -1;
  std::string out;  ///< with what stands on standard error
};
Outcome run(const std::string& arguments, const std::string& errors = "2>&1") {
  const std::string command = std::string(FATHOM_PROGRAM) + " predict " + arguments + " " + errors;
  FILE* pipe = popen(command.c_str(), "r");
  Outcome result;
  std::array<char, 4096> buffer;
  for (size_t got; (got = std::fread(buffer.data(), 1, buffer.size(), pipe)) > 0;)
    result.out.append(buffer.data(), got);
  const int status = pclose(pipe);
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return result;
}
std::string fixture(const std::string& name) {
  return std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/ptx/" + name;
}

nlohmann::json json_of(const std::string& arguments) {
  const Outcome result = run(arguments + " --format json", "2>/dev/null");
  EXPECT_EQ(result.exit_code, 0) << result.out;
  return nlohmann::json::parse(result.out, nullptr, false);
}

TEST(PredictProgram, JsonHasWhatWasPromised) {
  const auto json =
      json_of(fixture("kernels.sm_90.cubin") +
              " --kernel saxpy --device H200 --grid 4096 --block 256 --arg n=1048576 --arg a=2");
  ASSERT_EQ(json["kernels"].size(), 1u);
  const auto& kernel = json["kernels"][0];
  EXPECT_EQ(kernel["name"], "saxpy");
  EXPECT_GT(kernel["time_us"].get<double>(), 1.0);
  EXPECT_LT(kernel["time_us"].get<double>(), 100.0);
  EXPECT_GT(kernel["power_w"].get<double>(), 75.0) << "idle";
  EXPECT_LT(kernel["power_w"].get<double>(), 850.0);
  EXPECT_NEAR(kernel["energy_mj"].get<double>(),
              kernel["power_w"].get<double>() * kernel["time_us"].get<double>() / 1000, 1e-9);
  EXPECT_NEAR(kernel["activity"]["load_global"].get<double>(), 2.0 * 4096 * 8, 1e-3);
  EXPECT_GT(kernel["rates"]["issue"].get<double>(), 0.0);
  EXPECT_TRUE(kernel["bound_by"].is_string());
  EXPECT_TRUE(kernel["assumed"].is_array());
  EXPECT_FALSE(kernel["registers_estimated"].get<bool>());
  EXPECT_EQ(kernel["grid"], nlohmann::json({4096, 1, 1}));
}

TEST(PredictProgram, PtxWithoutAnAssemblerIsSaidToBeEstimated) {
  const Outcome text =
      run(fixture("kernels.ptx") +
          " --ptxas none --kernel long_chain --grid 528 --block 256 --arg steps=500");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_NE(text.out.find("there is no ptxas; predicted from PTX"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("registers (estimated)"), std::string::npos);
  EXPECT_NE(text.out.find("kernels.cu:36"), std::string::npos);
}

TEST(PredictProgram, EveryKernelOfAFileIsPredicted) {
  EXPECT_EQ(json_of(fixture("kernels.ptx") +
                    " --ptxas none --grid 64 --block 32,32 --arg 2=64 --kernel s")["kernels"]
                .size(),
            5u);
}

TEST(PredictProgram, AnotherDeviceIsSlower) {
  const std::string launch =
      fixture("kernels.ptx") +
      " --ptxas none --kernel saxpy --grid 262144 --block 256 --arg n=67108864 --device ";
  double last = 0;
  for (const char* device : {"H200", "H100", "A100", "V100"}) {
    const double time = json_of(launch + device)["kernels"][0]["time_us"];
    EXPECT_GT(time, last) << device << ": less memory bandwidth than the one before";
    last = time;
  }
}

TEST(PredictProgram, PowerIsNullWhereNothingWasLearned) {
  const std::string launch =
      fixture("kernels.ptx") + " --ptxas none --kernel saxpy --grid 4096 --arg n=1048576 ";
  const std::pair<const char*, const char*> without[] = {
      {"--device A100", "no power: it was learned on an NVIDIA H200 only"},
      {"--model roofline", "no power: it was learned with times of --model sim"}};
  for (const auto& [options, says] : without) {
    const auto kernel = json_of(launch + options)["kernels"][0];
    EXPECT_TRUE(kernel["power_w"].is_null()) << options;
    EXPECT_TRUE(kernel["energy_mj"].is_null()) << options;
    EXPECT_NE(kernel["assumed"].dump().find(says), std::string::npos) << kernel["assumed"];
    EXPECT_EQ(run(launch + options).out.find("  power "), std::string::npos);
  }
  EXPECT_NE(run(launch).out.find("  power "), std::string::npos);
}

TEST(PredictProgram, ASweepRanksBlocks) {
  const auto json = json_of(fixture("kernels.ptx") +
                            " --ptxas none --kernel saxpy --grid 4096 --block 256 --arg n=1048576 "
                            "--sweep block=64..1024");
  ASSERT_GE(json["kernels"].size(), 8u);
  double last = 0;
  for (const auto& each : json["kernels"]) {
    EXPECT_GE(each["time_us"].get<double>(), last);
    last = each["time_us"];
    EXPECT_EQ(each["grid"][0].get<int>(),
              (1048576 + each["block"][0].get<int>() - 1) / each["block"][0].get<int>());
  }
}

TEST(PredictProgram, ASweepShowsPowerWhereItIsKnown) {
  const std::string sweep = fixture("kernels.ptx") +
                            " --ptxas none --kernel saxpy --grid 4096 --block 256 --arg n=1048576 "
                            "--sweep block=128..256 --device ";
  EXPECT_NE(run(sweep + "H200").out.find(" mJ  "), std::string::npos);
  const std::string other = run(sweep + "A100").out;
  EXPECT_EQ(other.find(" mJ  "), std::string::npos);
  EXPECT_NE(other.find("  -  "), std::string::npos) << other;
}

TEST(PredictProgram, SaysTheSameEachTime) {
  const std::string arguments = fixture("kernels.ptx") + " --ptxas none --grid 64 --block 256";
  EXPECT_EQ(run(arguments).out, run(arguments).out);
}

TEST(PredictProgram, ErrorsAreOneLineAndSayWhatToDo) {
  const std::string ptx = fixture("kernels.ptx") + " --ptxas none --kernel saxpy ";
  struct Wrong {
    std::string arguments;
    int exit_code;
    std::string says;
  };
  const std::string broken = ::testing::TempDir() + "broken.ptx";
  ASSERT_TRUE(
      write_file(broken, ".version 8.0\n.target sm_90\n.entry k()\n{\n  add.s32 %r1, %r1, 1;\n}\n")
          .ok());
  for (const Wrong& wrong : std::vector<Wrong>{
           {broken, 3, "broken.ptx:5: expected a declared register, found \"%r1\""},
           {"/does/not/exist.ptx", 3, "/does/not/exist.ptx"},
           {ptx + "--grid 0", 2, "--grid: \"0\" is no shape; write x, x,y or x,y,z"},
           {ptx + "--grid 1,2,3,4", 2, "is no shape"},
           {ptx + "--block 64,64", 2, "a block has at most 1024 threads"},
           {ptx + "--arg n", 2, "write NAME=VALUE"},
           {ptx + "--arg m=3", 2, "no argument \"m\"; there are 0 (y), 1 (x), 2 (a), 3 (n)"},
           {ptx + "--sweep block=64..1024 --arg m=3", 2, "no argument \"m\""},
           {ptx + "--trips 12", 2, "write LINE=N"},
           {ptx + "--near 12", 2, "write LINE=BYTES"},
           {ptx + "--near 12=8Q", 2, "write LINE=BYTES"},
           {ptx + "--device Z80", 2, "choose one of NVIDIA A100"},
           {ptx + "--sweep block=9..", 2, "write block=64..1024"},
           {ptx + "--shared 400000", 1, "does not run: too many shared memory"},
           {fixture("kernels.ptx") + " --ptxas none --kernel absent", 2,
            "no kernel is called \"absent\"; there are"},
           {fixture("README.md"), 3, "README.md"}}) {
    const Outcome result = run(wrong.arguments);
    EXPECT_EQ(result.exit_code, wrong.exit_code) << wrong.arguments << ": " << result.out;
    EXPECT_NE(result.out.find(wrong.says), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("fathom: "), std::string::npos);
  }
  std::remove(broken.c_str());
}

/// A recording of the fixture's kernels: nothing but launches, as `-e gpu=cuda` gives.
class RecordedRun {
 public:
  explicit RecordedRun(const std::string& device = "NVIDIA H200") {
    fathom::testing::MeasurementBuilder measurement;
    auto& process = measurement.add_process();
    const std::vector<uint8_t> bytes = read_file(fixture("kernels.sm_90.cubin")).value();
    process.loaded(measurement.add_binary(std::string(bytes.begin(), bytes.end())), 7);
    record::Device facts{};
    facts.compute_major = 9;
    facts.multiprocessors = 132;
    facts.core_clock_khz = 1'980'000;
    process.context(process.device(facts, device));
    for (uint64_t i = 0; i < 3; ++i) process.kernel("saxpy", i * 10000, i * 10000 + 2000 + i);
    process.kernel("long_chain", 100000, 190000);
    process.kernel("hidden", 200000, 201000);
    measurement.write(directory_.path());
  }
  const std::string& path() const { return directory_.path(); }

 private:
  fathom::testing::TemporaryDirectory directory_;
};

TEST(PredictRecording, JsonHasPredictedBesideMeasured) {
  const RecordedRun recording;
  const auto json = json_of(recording.path() + " --kernel saxpy --arg 3=33792");
  EXPECT_EQ(json["device"], "NVIDIA H200") << "the recorded one";
  ASSERT_EQ(json["kernels"].size(), 1u);
  const auto& kernel = json["kernels"][0];
  for (const char* name : {"name", "time_us", "power_w", "energy_mj", "bound_by", "assumed"})
    EXPECT_TRUE(kernel.contains(name)) << name;
  EXPECT_DOUBLE_EQ(kernel["measured_us"], 2.001);
  EXPECT_EQ(kernel["measured"]["launches"], 3);
  EXPECT_DOUBLE_EQ(kernel["measured"]["total_us"], 6.003);
  EXPECT_EQ(kernel["grid"], nlohmann::json({132, 1, 1}));
  EXPECT_NEAR(kernel["ratio"].get<double>(), kernel["predicted_us"].get<double>() / 2.001, 1e-9);
  EXPECT_TRUE(kernel["differs"].is_array());
  EXPECT_NE(kernel["verdict"], "unknown");
  EXPECT_NEAR(json["total"]["predicted_us"].get<double>(), 3 * kernel["predicted_us"].get<double>(),
              1e-9);
  EXPECT_EQ(json["not_predicted"].size(), 0u);
}

TEST(PredictRecording, WhatIsNotPredictedIsToldAndNotLost) {
  const RecordedRun recording;
  const auto json = json_of(recording.path());
  EXPECT_EQ(json["kernels"].size(), 2u);
  EXPECT_EQ(json["kernels"][0]["name"], "long_chain") << "longest first";
  ASSERT_EQ(json["not_predicted"].size(), 1u);
  EXPECT_EQ(json["not_predicted"][0]["name"], "hidden");
  EXPECT_EQ(json["not_predicted"][0]["reason"], "its machine code is not in the recording");
  EXPECT_DOUBLE_EQ(json["total"]["not_predicted_us"], 1);
  EXPECT_DOUBLE_EQ(json["total"]["measured_us"], 96.003);
  const auto one = json_of(recording.path() + " --top 1");
  EXPECT_EQ(one["kernels"].size(), 1u);
  EXPECT_EQ(one["total"]["left_out_shapes"], 2);
  EXPECT_DOUBLE_EQ(one["total"]["not_predicted_us"], 7.003);
}

TEST(PredictRecording, UnknownArgumentsMakeNoVerdict) {
  const RecordedRun recording;
  const std::string chain = recording.path() + " --kernel long_chain";
  const auto guessed = json_of(chain)["kernels"][0];
  EXPECT_EQ(guessed["verdict"], "unknown");
  EXPECT_NE(guessed["assumed"].dump().find("argument 1 was not given"), std::string::npos);
  EXPECT_NE(run(chain).out.find("1 of these ratios say nothing yet"), std::string::npos);
  const auto given = json_of(chain + " --arg 1=4000")["kernels"][0];
  EXPECT_NE(given["verdict"], "unknown");
  EXPECT_EQ(given["assumed"].dump().find("was not given"), std::string::npos);
  EXPECT_LT(given["time_us"].get<double>(), guessed["time_us"].get<double>());
}

TEST(PredictRecording, RecordedArgumentsAreUsed) {
  // As the collector writes it: long_chain(float* out, int steps), and a launch by a graph.
  fathom::testing::TemporaryDirectory directory;
  fathom::testing::MeasurementBuilder measurement;
  auto& process = measurement.add_process();
  const std::vector<uint8_t> bytes = read_file(fixture("kernels.sm_90.cubin")).value();
  process.loaded(measurement.add_binary(std::string(bytes.begin(), bytes.end())), 7);
  process.context(process.h200());
  constexpr uint64_t kOut = 0x7f0000000000;
  process.memory_operation({1, 1 << 20, kOut, 9, 0, 1, 7, 3, 0});
  process.kernel("long_chain", 1000, 91000, 1);
  process.argument("long_chain", {kOut, 5, 0, 0, 0, 8, 0});
  process.argument("long_chain", {4000, 5, 0, 1, 8, 4, 0});
  process.launch_arguments(1, 1, 5);
  process.kernel("long_chain", 100000, 190000, 2);
  measurement.write(directory.path());

  const auto json = json_of(directory.path());
  ASSERT_EQ(json["kernels"].size(), 1u);
  const auto& kernel = json["kernels"][0];
  EXPECT_NE(kernel["verdict"], "unknown");
  EXPECT_EQ(kernel["assumed"].dump().find("was not given"), std::string::npos);
  ASSERT_EQ(kernel["arguments"].size(), 2u);
  EXPECT_EQ(kernel["arguments"][0]["buffer_bytes"], 1 << 20);
  EXPECT_EQ(kernel["arguments"][1]["value"], 4000);
  EXPECT_EQ(kernel["measured"]["without_arguments"], 1) << "the graph's";
  const RecordedRun older;
  const auto given = json_of(older.path() + " --kernel long_chain --arg 1=4000 --arg 0=@1M");
  EXPECT_EQ(kernel["time_us"], given["kernels"][0]["time_us"]);
  const auto other = json_of(directory.path() + " --arg 1=8000")["kernels"][0];
  EXPECT_GT(other["time_us"].get<double>(), 1.5 * kernel["time_us"].get<double>())
      << "the caller's word counts more";
  EXPECT_NE(run(directory.path()).out.find("1 = 4000"), std::string::npos);
}

TEST(PredictRecording, AnotherDeviceIsPredictedAndSaid) {
  const RecordedRun recording;
  const auto json = json_of(recording.path() + " --kernel saxpy --device H100");
  EXPECT_EQ(json["device"].get<std::string>().rfind("NVIDIA H100", 0), 0u);
  EXPECT_NE(json["kernels"][0]["differs"].dump().find("measured on NVIDIA H200"),
            std::string::npos);
}

TEST(PredictRecording, ADriversLongerNameOfADeviceIsUnderstood) {
  const RecordedRun recording("NVIDIA A100-SXM4-80GB");
  const Outcome result = run(recording.path() + " --kernel saxpy");
  EXPECT_EQ(result.exit_code, 1) << "the code is for sm_90";
  EXPECT_NE(result.out.find("compile it for sm_80"), std::string::npos) << result.out;
  const RecordedRun hopper("NVIDIA H100 80GB HBM3");
  const auto json = json_of(hopper.path() + " --kernel saxpy");
  EXPECT_EQ(json["recorded_device"], "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(json["kernels"][0]["differs"].dump().find("another device"), std::string::npos);
}

TEST(PredictRecording, ErrorsSayWhatToDo) {
  const RecordedRun recording, other("NVIDIA Z80");
  fathom::testing::TemporaryDirectory empty, idle;
  fathom::testing::MeasurementBuilder without_launches;
  without_launches.add_process().h200();
  without_launches.write(idle.path());
  const std::string database = empty.path() + "/run.fdb";
  ASSERT_TRUE(write_file(database, "SQLite format 3 and more").ok());
  struct Wrong {
    std::string arguments;
    int exit_code;
    std::string says;
  };
  for (const Wrong& wrong : std::vector<Wrong>{
           {empty.path(), 3, empty.path()},
           {idle.path(), 1, "no launches of GPU kernels"},
           {database, 2, "give the measurement directory"},
           {other.path(), 1, "there is no machine model of NVIDIA Z80"},
           {other.path() + " --device Z80", 2, "choose one of"},
           {recording.path() + " --device A100", 1, "compile it for sm_80"},
           {recording.path() + " --kernel absent", 2, "there are long_chain, saxpy, hidden"},
           {recording.path() + " --kernel hidden", 1, "its machine code is not in the recording"},
           {recording.path() + " --grid 5", 2, "launches are those of the recording"},
           {recording.path() + " --arg m=3", 2, "no argument \"m\""},
           {recording.path() + " --trips 12", 2, "write LINE=N"},
           {recording.path() + " --near 0=8", 2, "write LINE=BYTES"}}) {
    const Outcome result = run(wrong.arguments);
    EXPECT_EQ(result.exit_code, wrong.exit_code) << wrong.arguments << ": " << result.out;
    EXPECT_NE(result.out.find(wrong.says), std::string::npos) << result.out;
    EXPECT_NE(result.out.find("fathom: "), std::string::npos);
  }
  EXPECT_EQ(run(other.path() + " --device H200").exit_code, 0);
}

}  // namespace
}  // namespace fathom
