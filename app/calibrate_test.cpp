// `fathom calibrate` on a driver that has no GPU (fake_cuda.cpp). The machine code that is measured
// is real, the times are made up.

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"
#include "machine/machine.h"

namespace fathom {
namespace {

std::string ptxas() {
  if (auto found = find_on_path("ptxas")) return *found;
  const std::string usual = "/usr/local/cuda/bin/ptxas";
  return is_regular_file(usual) ? usual : "";
}

class Calibrate : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fathom-calibrate-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome run(const std::string& environment, const std::string& arguments) const {
    const std::string command = "cd " + folder_ + " && LD_LIBRARY_PATH=" FAKE_CUDA_FOLDER " " +
                                environment + " " FATHOM_PROGRAM " " + arguments +
                                " >out 2>err </dev/null";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_text_file(folder_ + "/out"),
            *read_text_file(folder_ + "/err")};
  }

  std::string folder_;
};

TEST_F(Calibrate, WritesAMachineModelThatPredictionTakes) {
  if (ptxas().empty()) GTEST_SKIP() << "there is no ptxas";
  const Outcome outcome = run("FAKE_CUDA_PTXAS=" + ptxas(), "calibrate");
  EXPECT_EQ(outcome.code, 1) << "there is no power to measure: " << outcome.err;
  EXPECT_NE(outcome.out.find("failed: power: there is no energy counter"), std::string::npos)
      << outcome.out;
  EXPECT_EQ(outcome.out.find("the compiler changed"), std::string::npos) << outcome.out;

  Result<std::string> text = read_text_file(folder_ + "/fake_gpu.json");
  ASSERT_TRUE(text.ok());
  Result<MachineModel> model = parse_machine(*text, "fake_gpu.json");
  ASSERT_TRUE(model.ok()) << model.error().message();
  EXPECT_EQ(model->multiprocessors, 6u);
  ASSERT_TRUE(model->prediction.has_value());
  // The driver counts four cycles for a line of PTX, which is one FFMA; and 1.5 GHz.
  EXPECT_NEAR(model->prediction->classes.at("fp32").latency, 4, 0.01);
  EXPECT_NEAR(model->prediction->clock_mhz, 1500, 15);
  EXPECT_NEAR(model->prediction->launch.block_latency, 700, 1);

  const std::string kernel = folder_ + "/k.ptx";
  ASSERT_TRUE(write_file(kernel,
                         ".version 7.0\n.target sm_90\n.address_size 64\n"
                         ".visible .entry k()\n{\n ret;\n}\n")
                  .ok());
  const Outcome predicted =
      run("", "predict k.ptx --device fake_gpu.json --grid 6 --block 64 --format json");
  EXPECT_EQ(predicted.code, 0) << predicted.err;
  EXPECT_NE(predicted.out.find("Fake GPU"), std::string::npos) << predicted.out;
}

TEST_F(Calibrate, SaysThatThereIsNoSuchGpu) {
  const Outcome outcome = run("", "calibrate --device 3");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("cuDeviceGet failed"), std::string::npos) << outcome.err;
  EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
}

TEST_F(Calibrate, SaysWhatTheCompilerComplainsAbout) {
  const Outcome outcome = run("FAKE_CUDA_PTXAS=false", "calibrate");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_NE(outcome.err.find("compiling PTX failed: no binary for this GPU"), std::string::npos)
      << outcome.err;
}

TEST_F(Calibrate, PredictionRefusesAFileThatIsNoMachineModel) {
  ASSERT_TRUE(write_file(folder_ + "/broken.json", "{}").ok());
  const Outcome outcome = run("", "predict k.ptx --device broken.json");
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("broken.json"), std::string::npos) << outcome.err;
}

}  // namespace
}  // namespace fathom
