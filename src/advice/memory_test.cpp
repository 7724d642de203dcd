// The optimizers for memory, on hand-made kernels: what each sees, and what it leaves alone.

#include <gtest/gtest.h>

#include <algorithm>

#include "advice/testing.h"

namespace fathom {
namespace {

using fathom::testing::kernel_of;
using fathom::testing::put;
using fathom::testing::sass_function;

/// Blocks of 256 threads, one dimension.
AnalyzedFunction code(const std::string& lines) {
  return sass_function(lines);
}

std::vector<Finding> advise(std::unique_ptr<Optimizer> optimizer, AnalyzedFunction function) {
  Attribution attribution = kernel_of(std::move(function));
  return fathom::testing::match(*optimizer, attribution);
}

bool has_role(const Finding& finding, const std::string& role) {
  return std::any_of(finding.related.begin(), finding.related.end(),
                     [&](const RelatedLocation& r) { return r.role == role; });
}

/// Loads a float at a distance of `bytes` from thread to thread, and waits for it.
AnalyzedFunction strided_load(const std::string& bytes) {
  AnalyzedFunction f = code(R"(
    S2R R0, SR_CTAID.X
    S2R R3, SR_TID.X
    IMAD R0, R0, c[0x0][0x0], R3
    LDC.64 R2, c[0x0][0x210]
    IMAD.WIDE R2, R0, )" + bytes +
                            R"(, R2
    LDG.E R5, desc[UR4][R2.64] | sets B0
    FADD R6, R5, R7 | waits B0
    EXIT)");
  put(f, 5, StallReason::selected, 500);
  put(f, 5, StallReason::lg_throttle, 4000, 2000);
  put(f, 6, StallReason::selected, 500);
  put(f, 6, StallReason::long_scoreboard, 5000, 2500);
  return f;
}

TEST(Coalescing, SpreadLoadsAreNamedWithTheirSectors) {
  std::vector<Finding> findings = advise(make_coalescing(), strided_load("0x80"));
  ASSERT_EQ(findings.size(), 1u);
  const Finding& f = findings[0];
  EXPECT_EQ(f.fix, "coalescing");
  EXPECT_EQ(f.location.line, 6u);
  EXPECT_TRUE(has_role(f, "spread access"));
  ASSERT_TRUE(f.speedup);
  EXPECT_GT(f.speedup->mid, 1.5);
  EXPECT_NE(f.text.find("32 sectors"), std::string::npos) << f.text;
}

TEST(Coalescing, AdjacentLoadsAreLeftAlone) {
  EXPECT_TRUE(advise(make_coalescing(), strided_load("0x4")).empty());
}

TEST(Coalescing, OneCauseGetsOneFinding) {
  EXPECT_TRUE(advise(make_memory_transaction_reduction(), strided_load("0x80")).empty());
}

/// A float from shared memory at a distance of `bytes` from thread to thread.
AnalyzedFunction shared_load(const std::string& bytes) {
  AnalyzedFunction f = code(R"(
    S2R R3, SR_TID.X
    IMAD R2, R3, )" + bytes +
                            R"(, RZ
    LDS R5, [R2] | sets B0
    FADD R6, R5, R7 | waits B0
    EXIT)");
  put(f, 2, StallReason::selected, 500);
  put(f, 2, StallReason::mio_throttle, 4000, 2000);
  put(f, 3, StallReason::selected, 500);
  put(f, 3, StallReason::short_scoreboard, 5000, 2500);
  return f;
}

TEST(BankConflictAdvice, AColumnConflicts) {
  std::vector<Finding> findings = advise(make_bank_conflicts(), shared_load("0x80"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "padding");
  EXPECT_EQ(findings[0].location.line, 3u);
  EXPECT_TRUE(has_role(findings[0], "conflicting access"));
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.5);
}

TEST(BankConflictAdvice, APaddedColumnDoesNot) {
  EXPECT_TRUE(advise(make_bank_conflicts(), shared_load("0x84")).empty());
}

/// Four values by one thread, `step` bytes apart.
AnalyzedFunction four_loads(int step) {
  std::string lines = R"(
    S2R R3, SR_TID.X
    LDC.64 R2, c[0x0][0x210]
    IMAD.WIDE R2, R3, 0x10, R2
)";
  for (int i = 0; i < 4; ++i)
    lines += "LDG.E R" + std::to_string(8 + i) + ", desc[UR4][R2.64+" + std::to_string(i * step) +
             "] | sets B0\n";
  lines += "FADD R6, R8, R9 | waits B0\nEXIT";
  AnalyzedFunction f = code(lines);
  for (uint32_t i = 3; i < 7; ++i) {
    put(f, i, StallReason::selected, 500);
    put(f, i, StallReason::lg_throttle, 1500, 1500);
  }
  put(f, 7, StallReason::long_scoreboard, 1000, 1000);
  return f;
}

TEST(VectorizedLoads, AdjacentValuesOfAThreadAreOneLoad) {
  std::vector<Finding> findings = advise(make_vectorized_loads(), four_loads(4));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "wide-load");
  EXPECT_TRUE(has_role(findings[0], "narrow access"));
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.1);
  EXPECT_TRUE(advise(make_coalescing(), four_loads(4)).empty()) << "a wide load is the better fix";
}

TEST(VectorizedLoads, ValuesApartAreNot) {
  for (const Finding& f : advise(make_vectorized_loads(), four_loads(64)))
    EXPECT_NE(f.fix, "wide-load");
}

AnalyzedFunction atomics(const std::string& address) {
  AnalyzedFunction f = code(R"(
    S2R R3, SR_TID.X
    LDC.64 R4, c[0x0][0x210]
)" + address + R"(
    REDG.E.ADD.F32.FTZ.RN.STRONG.GPU desc[UR6][R4.64], R7
    EXIT)");
  uint32_t red = uint32_t(f.instructions.size()) - 2;
  put(f, red, StallReason::selected, 500);
  put(f, red, StallReason::lg_throttle, 8000, 4000);
  put(f, 0, StallReason::selected, 1500);
  return f;
}

TEST(AtomicContention, OneAddressForAllLanesIsContended) {
  std::vector<Finding> findings = advise(make_atomic_contention(), atomics("NOP"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "warp-aggregate");
  EXPECT_EQ(findings[0].location.line, 4u);
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.5);
}

TEST(AtomicContention, BinsFromDataMayBe) {
  std::vector<Finding> findings = advise(make_atomic_contention(), atomics(R"(
    IMAD.WIDE R8, R3, 0x4, R4
    LDG.E R9, desc[UR6][R8.64]
    IMAD.WIDE R4, R9, 0x4, R4)"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "block-local");
}

TEST(AtomicContention, AnAddressForEachThreadIsNot) {
  EXPECT_TRUE(advise(make_atomic_contention(), atomics("IMAD.WIDE R4, R3, 0x4, R4")).empty());
}

/// A table in constant memory by an index that `index` leaves in R5; each load is waited for
/// `cycles`.
AnalyzedFunction table_lookup(const std::string& index, uint64_t cycles) {
  AnalyzedFunction f = code(R"(
    S2R R3, SR_TID.X
    S2R R4, SR_CTAID.X
    LDC.64 R8, c[0x0][0x210]
    IMAD.WIDE R8, R3, 0x4, R8
    )" + index + R"(
    SHF.L.U32 R6, R5, 0x2, RZ
    LDC R7, c[0x3][R6] | sets B0
    FADD R10, R7, R11 | waits B0
    EXIT)");
  put(f, 6, StallReason::selected, 100);
  put(f, 6, StallReason::mio_throttle, 40 * cycles, 20 * cycles);
  put(f, 7, StallReason::short_scoreboard, 60 * cycles, 30 * cycles);
  put(f, 7, StallReason::selected, 3000);
  return f;
}

TEST(ConstantIndexing, AnIndexOfEachThreadsOwnIsServedInTurns) {
  std::vector<Finding> findings = advise(make_constant_indexing(), table_lookup("MOV R5, R3", 100));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "shared-table");
  EXPECT_EQ(findings[0].location.line, 7u);
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.5);
  EXPECT_LT(findings[0].speedup->mid, 13000.0 / 3100) << "shared memory is waited for as well";
  bool counted =
      std::any_of(findings[0].evidence.begin(), findings[0].evidence.end(), [](const Evidence& e) {
        return e.name == "different addresses in a warp's request" && e.value == 32;
      });
  EXPECT_TRUE(counted);
}

TEST(ConstantIndexing, AnIndexThatTheWarpSharesIsWhatItIsMadeFor) {
  EXPECT_TRUE(advise(make_constant_indexing(), table_lookup("MOV R5, R4", 100)).empty());
  EXPECT_TRUE(advise(make_constant_indexing(), table_lookup("MOV R5, 0x3", 1000)).empty());
}

TEST(ConstantIndexing, AnIndexFromDataIsJudgedByItsTime) {
  const std::string data = "LDG.E R5, desc[UR4][R8.64]";
  EXPECT_EQ(advise(make_constant_indexing(), table_lookup(data, 100)).size(), 1u);
  EXPECT_TRUE(advise(make_constant_indexing(), table_lookup(data, 40)).empty())
      << "so fast that the lanes must agree";
}

AnalyzedFunction tile_copy(const std::string& use) {
  AnalyzedFunction f = code(R"(
    MOV R1, c[0x0][0x28]
    LDG.E R5, desc[UR4][R2.64] | sets B0
    STS [R9], R5 | waits B0
    )" + use + R"(
    BAR.SYNC 0x0
    LDS R8, [R10] | sets B1
    FFMA R6, R8, R8, R6 | waits B1
    FFMA R6, R8, R8, R6
    @P0 BRA 0x10 | to 1
    EXIT)");
  put(f, 1, StallReason::selected, 500);
  put(f, 2, StallReason::long_scoreboard, 5000, 2500);
  for (uint32_t i : {6u, 7u}) put(f, i, StallReason::selected, 2000);
  return f;
}

TEST(AsynchronousCopy, LoadsThatAreOnlyStoredToSharedMemory) {
  std::vector<Finding> findings = advise(make_asynchronous_copy(), tile_copy("NOP"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "cp-async");
  EXPECT_EQ(findings[0].location.line, 2u);
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.1);
}

TEST(AsynchronousCopy, ValuesThatAreAlsoUsedStayInRegisters) {
  EXPECT_TRUE(advise(make_asynchronous_copy(), tile_copy("FADD R7, R5, R7")).empty());
}

/// Samples that wait at the barrier behind the copies, or at the one behind the work on them.
double hidden_samples(bool behind_copies) {
  AnalyzedFunction f = code(R"(
    MOV R1, c[0x0][0x28]
    LDG.E R5, desc[UR4][R2.64] | sets B0
    STS [R9], R5 | waits B0
    BAR.SYNC 0x0
    LDS R8, [R10] | sets B1
    FFMA R6, R8, R8, R6 | waits B1
    BAR.SYNC 0x0
    @P0 BRA 0x10 | to 1
    EXIT)");
  put(f, 1, StallReason::selected, 500);
  put(f, 2, StallReason::long_scoreboard, 2000, 2000);
  put(f, behind_copies ? 4 : 7, StallReason::barrier, 1000, 1000);
  put(f, 5, StallReason::selected, 6000);
  std::vector<Finding> findings = advise(make_asynchronous_copy(), std::move(f));
  for (const Evidence& e : findings.at(0).evidence)
    if (e.name == "samples that other work can hide") return e.value;
  return 0;
}

TEST(AsynchronousCopy, TheBarrierBehindTheWorkStays) {
  EXPECT_DOUBLE_EQ(hidden_samples(true), 3000);
  EXPECT_DOUBLE_EQ(hidden_samples(false), 2000);
}

TEST(AsynchronousCopy, NobodyWaitsUntilTheStoreHasReadItsRegister) {
  auto gain = [](bool waits) {
    AnalyzedFunction f = code(R"(
      MOV R1, c[0x0][0x28]
      LDG.E R5, desc[UR4][R2.64] | sets B0 | waits B2
      STS [R9], R5 | waits B0 | reads B2
      BAR.SYNC 0x0
      LDS R8, [R10] | sets B1
      FFMA R6, R8, R8, R6 | waits B1
      @P0 BRA 0x10 | to 1
      EXIT)");
    put(f, 1, StallReason::selected, 500);
    put(f, waits ? 1 : 5, StallReason::short_scoreboard, 2000, 2000);
    put(f, 2, StallReason::selected, 500);
    put(f, 2, StallReason::long_scoreboard, 2000, 2000);
    put(f, 5, StallReason::selected, 3000);
    return advise(make_asynchronous_copy(), std::move(f)).at(0).speedup->mid;
  };
  EXPECT_GT(gain(true), gain(false) * 1.2);
}

/// A loop of 16 multiply-adds of loaded values into `sums` registers.
AnalyzedFunction products(int sums, const std::string& opcode) {
  std::string lines =
      "MOV R1, c[0x0][0x28]\nLDS.128 R4, [R2] | sets B0\nLDS.128 R8, [R3] | sets B0\n";
  for (int i = 0; i < 16; ++i) {
    std::string sum = "R" + std::to_string(16 + i % sums);
    std::string wait = i == 0 ? " | waits B0" : "";
    lines += opcode + " " + sum + ", R" + std::to_string(4 + i / 4) + ", R" +
             std::to_string(8 + i % 4) + ", " + sum + wait + "\n";
  }
  lines += "@P0 BRA 0x10 | to 1\nEXIT";
  AnalyzedFunction f = code(lines);
  for (uint32_t i = 3; i < 19; ++i) {
    put(f, i, StallReason::selected, 300);
    put(f, i, StallReason::math_pipe_throttle, 300);
  }
  put(f, 1, StallReason::selected, 30);
  return f;
}

TEST(TensorCores, AnOuterProductIsAMatrixProduct) {
  std::vector<Finding> findings = advise(make_tensor_cores(), products(16, "FFMA"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "mma");
  EXPECT_TRUE(has_role(findings[0], "loop"));
  ASSERT_TRUE(findings[0].speedup);
  EXPECT_GT(findings[0].speedup->mid, 1.5);
  EXPECT_LT(findings[0].speedup->low, findings[0].speedup->mid);
}

TEST(TensorCores, AdditionsAreNone) {
  AnalyzedFunction f = products(16, "FFMA");
  for (Instruction& i : f.instructions)
    if (i.opcode == "FFMA") i.opcode = "FADD";
  EXPECT_TRUE(advise(make_tensor_cores(), std::move(f)).empty());
}

AnalyzedFunction local_access(const std::string& address) {
  AnalyzedFunction f = code(R"(
    LDC R1, c[0x0][0x28]
    S2R R4, SR_TID.X
    IMAD R8, R4, 0x4, R1
    MOV R10, 0x7
    LDL R5, [)" + address + R"(] | sets B0
    FADD R6, R5, R7 | waits B0
    STG.E desc[UR4][R2.64], R10
    EXIT)");
  put(f, 4, StallReason::selected, 500);
  put(f, 5, StallReason::long_scoreboard, 5000, 2500);
  put(f, 5, StallReason::selected, 4500);
  return f;
}

TEST(LocalMemory, SpillsNameTheValuesThatTakeTheRegisters) {
  std::vector<Finding> findings = advise(make_register_reuse(), local_access("R1+0x8"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "spill");
  bool named = std::any_of(findings[0].related.begin(), findings[0].related.end(),
                           [](auto& r) { return r.role == "live value" && r.at.line == 4; });
  EXPECT_TRUE(named) << "R10 is needed until the end";
}

TEST(LocalMemory, WithRegistersToSpareLoadsOfABlockStartEarlier) {
  auto gain = [](const std::string& between) {
    AnalyzedFunction f = code(R"(
      LDC R1, c[0x0][0x28]
      LDL R5, [R1+0x8] | sets B0
      FADD R6, R5, R7 | waits B0
      LDG.E R8, desc[UR4][R2.64] | sets B1
      )" + between + R"(
      FADD R9, R8, R7 | waits B1
      EXIT)");
    put(f, 1, StallReason::selected, 100);
    put(f, 2, StallReason::long_scoreboard, 1000, 1000);
    put(f, 3, StallReason::selected, 500);
    put(f, 5, StallReason::long_scoreboard, 3000, 3000);
    put(f, 5, StallReason::selected, 3000);
    return advise(make_register_reuse(), std::move(f)).at(0).speedup->mid;
  };
  EXPECT_GT(gain("NOP"), 1.2 * gain("@P0 BRA 0x60 | to 6"));
}

TEST(LocalMemory, IndexedArraysAreToldApart) {
  std::vector<Finding> findings = advise(make_register_reuse(), local_access("R8"));
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fix, "indexed-array");
  EXPECT_FALSE(has_role(findings[0], "live value"));
}

}  // namespace
}  // namespace fathom
