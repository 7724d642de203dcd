// Each optimizer on hand-made kernels: what it finds, and what it must leave alone.

#include <gtest/gtest.h>

#include "advice/advice.h"
#include "advice/program_advice.h"
#include "advice/testing.h"

namespace fathom {
namespace {

using fathom::testing::function;
using fathom::testing::kernel_of;
using fathom::testing::match;
using fathom::testing::put;

TEST(FunctionSplit, WaitingForInstructionsCounts) {
  AnalyzedFunction f = function("FADD R1 <- R0\nFADD R2 <- R1\nEXIT");
  put(f, 0, StallReason::selected, 5000);
  put(f, 1, StallReason::no_instructions, 5000, 5000);
  std::vector<Finding> findings = match(*make_function_split(), kernel_of(std::move(f)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location.line, 2u);
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.2);
  EXPECT_LT(findings[0].speedup->mid, 2);
}

TEST(FunctionSplit, ALittleWaitingIsInEveryKernel) {
  AnalyzedFunction f = function("FADD R1 <- R0\nFADD R2 <- R1\nEXIT");
  put(f, 0, StallReason::selected, 9700);
  put(f, 1, StallReason::no_instructions, 300, 300);
  EXPECT_TRUE(match(*make_function_split(), kernel_of(std::move(f))).empty());
}

/// Texts as a decoder writes them, on instructions of the mini-notation.
AnalyzedFunction with_texts(const std::string& lines, const std::vector<std::string>& texts) {
  AnalyzedFunction f = function(lines);
  for (size_t i = 0; i < texts.size(); ++i) f.instructions[i].text = texts[i];
  return f;
}

TEST(FastMath, KnowsAPreciseDivisionByItsCheck) {
  AnalyzedFunction f = with_texts("FCHK P0 <- R0 R1\nFFMA R2 <- R0 R1\nFADD R3 <- R2\nEXIT",
                                  {"FCHK P0, R0, R1", "FFMA R2, R0, R1, R2", "FADD R3, R2, 1"});
  for (uint32_t i : {0u, 1u, 2u}) put(f, i, StallReason::selected, 1000);
  put(f, 1, StallReason::wait, 4000, 4000);
  Attribution attribution = kernel_of(std::move(f));
  for (InstructionFacts& facts : attribution.profile.instructions) facts.at.line = 7;
  std::vector<Finding> findings = match(*make_fast_math(), attribution);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location.line, 7u);
  EXPECT_NE(findings[0].title.find("division"), std::string::npos);
  EXPECT_GT(findings[0].speedup->mid, 1.2);
  EXPECT_NE(findings[0].suggestions[0].find("__fdividef"), std::string::npos);
}

TEST(FastMath, LeavesOrdinaryArithmeticAlone) {
  AnalyzedFunction f = with_texts("FFMA R2 <- R0 R1\nEXIT", {"FFMA R2, R0, R1, 0.5"});
  put(f, 0, StallReason::selected, 1000);
  EXPECT_TRUE(match(*make_fast_math(), kernel_of(std::move(f))).empty());
}

/// A loop whose branch (instruction 2) jumps to the second side; 0 is the loop's first instruction.
constexpr const char* kTwoSides = R"(
    FADD R1 <- R0
    ISETP P0 <- R1
    @P0 BRA | to 5
    FMUL R2 <- R1
    BRA | to 6
    FMUL R3 <- R1
    @P1 BRA | to 0
    EXIT)";

AnalyzedFunction two_sides(uint64_t first, uint64_t second) {
  AnalyzedFunction f = function(kTwoSides);
  for (uint32_t i : {0u, 1u, 2u, 6u}) put(f, i, StallReason::selected, 1000);
  for (uint32_t i : {3u, 4u}) put(f, i, StallReason::selected, first);
  put(f, 5, StallReason::selected, second);
  put(f, 3, StallReason::wait, first * 4, first * 4);
  put(f, 5, StallReason::wait, second * 4, second * 4);
  return f;
}

TEST(Divergence, SidesThatAreBothRunAddUpToMoreThanTheBranch) {
  std::vector<Finding> findings = match(*make_divergence(), kernel_of(two_sides(1000, 1000)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location.line, 3u);
  EXPECT_GT(findings[0].speedup->mid, 1.2);
}

TEST(Divergence, WarpsThatAgreeDoNotDiverge) {
  EXPECT_TRUE(match(*make_divergence(), kernel_of(two_sides(600, 400))).empty());
}

TEST(BranchElimination, FindsASideThatIsNeverTaken) {
  std::vector<Finding> findings = match(*make_branch_elimination(), kernel_of(two_sides(0, 1000)));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].location.line, 3u);
}

TEST(BranchElimination, LeavesBranchesThatDecideSomething) {
  EXPECT_TRUE(match(*make_branch_elimination(), kernel_of(two_sides(300, 700))).empty());
}

/// A kernel that waits for memory, with room for more warps.
Attribution waiting_kernel() {
  AnalyzedFunction f = function("LDG R1 <- R0 | sets B0\nFADD R2 <- R1 | waits B0\nEXIT");
  put(f, 0, StallReason::selected, 1000);
  put(f, 1, StallReason::selected, 1000);
  put(f, 1, StallReason::long_scoreboard, 18000, 14000);
  return kernel_of(std::move(f));
}

void set_launch(Attribution& attribution, uint32_t registers, uint32_t shared, uint32_t blocks) {
  LaunchGroup& group = attribution.profile.kernels[0].groups[0];
  group.shape.registers_per_thread = registers;
  group.shape.static_shared_memory = shared;
  group.shape.grid = {blocks, 1, 1};
  group.occupancy = occupancy_of(attribution.functions[0].machine->occupancy, group.shape);
  group.waves = double(blocks) / (group.occupancy.active_blocks * 132.0);
}

TEST(OccupancyIncrease, NamesTheResourceThatLimits) {
  Attribution registers = waiting_kernel();
  set_launch(registers, 128, 0, 132 * 64);
  std::vector<Finding> findings = match(*make_occupancy_increase(), registers);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "registers");
  EXPECT_GT(findings[0].speedup->mid, 1.5);

  Attribution shared = waiting_kernel();
  set_launch(shared, 32, 100000, 132 * 64);
  findings = match(*make_occupancy_increase(), shared);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "shared-memory");
}

TEST(OccupancyIncrease, FullMultiprocessorsAndSmallGridsAreLeftAlone) {
  Attribution full = waiting_kernel();
  set_launch(full, 32, 0, 132 * 64);
  EXPECT_TRUE(match(*make_occupancy_increase(), full).empty());
  Attribution small = waiting_kernel();
  set_launch(small, 128, 0, 132);
  EXPECT_TRUE(match(*make_occupancy_increase(), small).empty());
}

TEST(TailEffect, ALastWaveOfFewBlocksCosts) {
  Attribution attribution = waiting_kernel();
  set_launch(attribution, 32, 0, 132 * 8 + 132 * 5);  // 8 blocks fit; then 5
  std::vector<Finding> findings = match(*make_tail_effect(), attribution);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_GT(findings[0].speedup->mid, 1.05);
  EXPECT_LT(findings[0].speedup->mid, 2);
}

TEST(TailEffect, WholeWavesHaveNoTail) {
  Attribution attribution = waiting_kernel();
  set_launch(attribution, 32, 0, 132 * 8 * 2);
  EXPECT_TRUE(match(*make_tail_effect(), attribution).empty());
}

TEST(ProgramAdvice, ShortKernelsWithGapsAskForAGraph) {
  Attribution attribution;
  attribution.timeline = {1.0, 0.4, 0, 0, 0.6, 0, 100000, 100000, 0, 0};
  attribution.profile.run.wall_seconds = 2;
  std::vector<Finding> findings = advise_program(attribution);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].kind, "launch-overhead");
  EXPECT_GT(findings[0].speedup->mid, 1.5);
  EXPECT_LT(findings[0].program_speedup->mid, findings[0].speedup->mid);
}

TEST(ProgramAdvice, AGraphChangesTheLaunchesAndNothingElse) {
  Attribution launches, with_pauses;
  launches.timeline = {1.0, 0.4, 0, 0, 0.6, 0, 100000, 100000, 0, 0};
  with_pauses.timeline = {1.5, 0.4, 0.1, 0, 0.6, 0.4, 100000, 100000, 0, 0};
  launches.profile.run.wall_seconds = with_pauses.profile.run.wall_seconds = 2;
  Finding plain = advise_program(launches)[0], paused = advise_program(with_pauses)[0];
  EXPECT_EQ(paused.kind, "launch-overhead");
  EXPECT_DOUBLE_EQ(plain.speedup->mid, paused.speedup->mid);
  EXPECT_DOUBLE_EQ(plain.program_speedup->mid, paused.program_speedup->mid);
  EXPECT_LT(plain.speedup->low, plain.speedup->mid);
  EXPECT_GT(plain.speedup->high, plain.speedup->mid);
}

TEST(ProgramAdvice, CopiesAndGapsAreToldApart) {
  Attribution attribution;
  attribution.timeline = {1.0, 0.4, 0.2, 0.1, 0, 0.3, 10, 0, 1000000, 20};
  std::vector<Finding> findings = advise_program(attribution);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].kind, "host-copies");
  EXPECT_EQ(findings[1].kind, "host-gaps");
}

TEST(ProgramAdvice, ABusyDeviceIsLeftAlone) {
  Attribution attribution;
  attribution.timeline = {1.0, 0.97, 0.01, 0, 0.01, 0.01, 1000, 10, 1000, 2};
  EXPECT_TRUE(advise_program(attribution).empty());
}

}  // namespace
}  // namespace fathom
