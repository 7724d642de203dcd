#include "calibration/kernel.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "calibration/instructions.h"
#include "calibration/memory_kernels.h"

namespace fathom {
namespace {

Instruction instruction(uint64_t offset, const std::string& opcode) {
  Instruction one;
  one.offset = offset;
  one.opcode = opcode;
  return one;
}

Instruction branch(uint64_t offset, uint64_t target) {
  Instruction one = instruction(offset, "BRA");
  one.flow = Flow::branch;
  one.target = target;
  return one;
}

TEST(CountInLoop, CountsWhatLiesBetweenABranchAndItsTarget) {
  const std::vector<Instruction> code = {
      instruction(0, "FFMA"),  instruction(16, "FFMA"), instruction(32, "FFMA.FTZ"),
      instruction(48, "FADD"), branch(64, 16),          instruction(80, "FFMA")};
  std::string text;
  EXPECT_EQ(count_in_loop(code, {"FFMA"}, &text), 2);
  EXPECT_EQ(text, "1 BRA, 1 FADD, 1 FFMA, 1 FFMA.FTZ");
}

TEST(CountInLoop, AModifierThatIsAskedForMustBeThere) {
  const std::vector<Instruction> code = {instruction(0, "IMAD"), instruction(16, "IMAD.WIDE.U32"),
                                         branch(32, 0)};
  EXPECT_EQ(count_in_loop(code, {"IMAD.WIDE"}, nullptr), 1);
  EXPECT_EQ(count_in_loop(code, {"IMAD"}, nullptr), 2);
}

TEST(CountInLoop, ABranchToItselfIsNoLoop) {
  EXPECT_EQ(count_in_loop({instruction(0, "FFMA"), branch(16, 16)}, {"FFMA"}, nullptr), 0);
}

/// ptxas of the CUDA toolkit, where it is installed.
std::string ptxas() {
  if (auto found = find_on_path("ptxas")) return *found;
  const std::string usual = "/usr/local/cuda/bin/ptxas";
  return is_regular_file(usual) ? usual : "";
}

Result<std::vector<uint8_t>> assemble(const std::string& ptx, unsigned compute) {
  const std::string base = format("/tmp/fathom-calibration-%d", getpid());
  const std::string source = base + ".ptx", cubin = base + ".cubin";
  if (Result<Done> done = write_file(source, ptx); !done) return done.error();
  Result<std::string> ran =
      run_program({ptxas(), "-arch", format("sm_%u", compute), source, "-o", cubin});
  if (!ran) return ran.error();
  Result<std::vector<uint8_t>> bytes = read_file(cubin);
  unlink(source.c_str());
  unlink(cubin.c_str());
  return bytes;
}

class EveryMicrobenchmark : public testing::TestWithParam<unsigned> {};

void expect_code(const Microbenchmark& benchmark, unsigned compute) {
  Result<std::vector<uint8_t>> cubin = assemble(benchmark.ptx, compute);
  ASSERT_TRUE(cubin.ok()) << benchmark.name << ": " << cubin.error().message();
  Result<int> count = check_code(benchmark, cubin.value(), nullptr);
  EXPECT_TRUE(count.ok()) << (count.ok() ? "" : count.error().message());
}

TEST_P(EveryMicrobenchmark, OfArithmeticHoldsWhatIsMeasuredWhenItIsCompiled) {
  if (ptxas().empty()) GTEST_SKIP() << "there is no ptxas";
  for (const MeasuredInstruction& one : measured_instructions())
    for (int chains : {1, 2, 8})
      expect_code(arithmetic_benchmark(one, GetParam(), chains, 64), GetParam());
}

TEST_P(EveryMicrobenchmark, OfMemoryHoldsWhatIsMeasuredWhenItIsCompiled) {
  if (ptxas().empty()) GTEST_SKIP() << "there is no ptxas";
  for (const Microbenchmark& one : memory_benchmarks(GetParam())) expect_code(one, GetParam());
}

INSTANTIATE_TEST_SUITE_P(Architectures, EveryMicrobenchmark, testing::Values(80u, 90u),
                         [](const auto& one) { return "sm_" + std::to_string(one.param); });

}  // namespace
}  // namespace fathom
