#include <gtest/gtest.h>

#include <bit>

#include "binary/sass_semantics.h"
#include "prediction/half.h"
#include "prediction/lanes.h"
#include "prediction/sass_program.h"

namespace fathom {
namespace {

/// Runs lines of SASS in all lanes. Constants are their offset; R1, R2... can be set before.
class Machine {
 public:
  Machine() : program_(make()), lanes_(program_) {}

  void set(int16_t slot, uint64_t value, bool wide = false) {
    LaneValues values;
    values.fill(value);
    lanes_.write(slot, wide, values, 0, ~0u);
  }
  void set_unknown(int16_t slot) {
    LaneValues values{};
    lanes_.write(slot, false, values, ~0u, ~0u);
  }
  Machine& run(const std::string& text) {
    const ConstantReader constants = [](uint32_t, uint32_t offset, uint32_t) {
      return ConstantValue{true, offset};
    };
    const Step step = lower_sass(read_sass(text), constants);
    lanes_.execute(step, launch_, lanes_.guard(step.guard, ~0u));
    return *this;
  }
  uint32_t get(int16_t slot, uint32_t lane = 0) const {
    LaneValues values;
    Source source;
    source.slot = slot;
    unknown_ = lanes_.read(source, values);
    return static_cast<uint32_t>(values[lane]);
  }
  uint64_t get_wide(int16_t slot) const {
    return get(slot) | uint64_t{get(static_cast<int16_t>(slot + 1))} << 32;
  }
  bool known(int16_t slot) const { return get(slot), unknown_ == 0; }
  bool predicate(int16_t index) const { return lanes_.predicate({index, false}) & 1; }

 private:
  static Program make() {
    Program program;
    program.slots = 512;
    program.predicates = 16;
    return program;
  }
  Program program_;
  Launch launch_;
  Lanes lanes_;
  mutable uint32_t unknown_ = 0;
};

// A warp with one thread whose numerator is zero takes the long way, as FFTs' first stages do.
TEST(SassLowering, ChecksWhetherADivisionIsOrdinary) {
  Machine m;
  m.set(2, std::bit_cast<uint32_t>(-3.0f));
  m.set(3, std::bit_cast<uint32_t>(8.0f));
  m.set(4, std::bit_cast<uint32_t>(-0.0f));
  m.set(5, std::bit_cast<uint32_t>(1e-38f));
  const auto is_slow = [&](const char* operands) {
    return m.run("FCHK P0, " + std::string(operands)).predicate(0);
  };
  EXPECT_FALSE(is_slow("R2, R3"));
  EXPECT_TRUE(is_slow("R4, R3")) << "zero";
  EXPECT_TRUE(is_slow("R2, R4")) << "by zero";
  EXPECT_TRUE(is_slow("R2, R5")) << "the quotient is beyond what a float holds";
  m.set_unknown(2);
  EXPECT_FALSE(is_slow("R2, R3")) << "what nobody knows is ordinary";
}

TEST(SassLowering, AddsWithCarries) {
  Machine m;
  m.set(2, 0xffffffff);
  m.set(3, 7);
  m.run("IADD3 R4, P0, R2, 0x1, RZ").run("IADD3.X R5, R3, RZ, RZ, P0, !PT");
  EXPECT_EQ(m.get_wide(4), 0x800000000u);
  m.run("IADD3 R6, -R3, 0x9, RZ");
  EXPECT_EQ(m.get(6), 2u);
  m.run("IADD3.X R7, R3, R3, RZ, PT, !PT");
  EXPECT_EQ(m.get(7), 15u) << "a carry that is the constant true counts";
}

TEST(SassLowering, MultipliesInEachWidth) {
  Machine m;
  m.set(2, 0xfffffffe);
  m.set(4, 0x10000000000, true);
  m.run("IMAD R6, R2, 0x3, R2");
  EXPECT_EQ(m.get(6), 0xfffffff8u);
  m.run("IMAD.WIDE R8, R2, 0x4, R4");
  EXPECT_EQ(m.get_wide(8), 0x10000000000u - 8);
  m.run("IMAD.WIDE.U32 R8, R2, 0x4, R4");
  EXPECT_EQ(m.get_wide(8), 0x10000000000u + 4ull * 0xfffffffe);
  m.run("IMAD.HI.U32 R10, R2, R2, RZ");
  EXPECT_EQ(m.get(10), 0xfffffffcu);
  m.run("IMAD.MOV.U32 R11, RZ, RZ, 0x1234").run("IMAD.SHL.U32 R12, R11, 0x10, RZ");
  EXPECT_EQ(m.get(12), 0x12340u);
}

TEST(SassLowering, ShiftsAndAddsAddresses) {
  Machine m;
  m.set(2, 0x40000001);
  m.set(3, 0x1);
  m.set(6, 0x10, true);
  m.run("LEA R8, P0, R2, R6, 0x2").run("LEA.HI.X R9, R2, R7, R3, 0x2, P0");
  EXPECT_EQ(m.get_wide(8), 0x10u + 4ull * 0x140000001);
  m.set(10, 0xfffffff0);
  m.run("SHF.R.S32.HI R11, RZ, 0x1f, R10").run("SHF.R.U32.HI R12, RZ, 0x4, R10");
  EXPECT_EQ(m.get(11), 0xffffffffu);
  EXPECT_EQ(m.get(12), 0x0fffffffu);
  m.run("SHF.L.U32 R13, R10, 0x4, RZ").run("SHF.L.U64.HI R14, R10, 0x4, R3");
  EXPECT_EQ(m.get(13), 0xffffff00u);
  EXPECT_EQ(m.get(14), 0x1fu);
}

TEST(SassLowering, ComputesBits) {
  Machine m;
  m.set(2, 0b1100);
  m.set(3, 0b1010);
  m.run("LOP3.LUT R4, R2, R3, RZ, 0x3c, !PT").run("LOP3.LUT P1, RZ, R2, 0x1, RZ, 0xc0, !PT");
  EXPECT_EQ(m.get(4), 0b0110u);
  EXPECT_FALSE(m.predicate(1));
  m.run("POPC R5, R2").run("FLO.U32 R6, R2").run("BREV R7, R2").run("PRMT R8, R2, 0x1054, R3");
  EXPECT_EQ(m.get(5), 2u);
  EXPECT_EQ(m.get(6), 3u);
  EXPECT_EQ(m.get(7), 0x30000000u);
  EXPECT_EQ(m.get(8), 0x000c000au);
  m.run("VIADDMNMX R9, R2, 0xffffffff, R3, PT").run("VIMNMX R10, R2, R3, !PT");
  EXPECT_EQ(m.get(9), 10u);
  EXPECT_EQ(m.get(10), 12u);
}

TEST(SassLowering, ComparesSignedUnsignedAnd64Bits) {
  Machine m;
  m.set(2, 0xffffffff);
  m.run("ISETP.GE.AND P0, PT, R2, 0x1, PT").run("ISETP.GE.U32.AND P1, PT, R2, 0x1, PT");
  EXPECT_FALSE(m.predicate(0));
  EXPECT_TRUE(m.predicate(1));
  m.set(4, 0x100000000, true);
  m.set(6, 0x0ffffffff, true);
  m.run("ISETP.GT.U32.AND P2, PT, R4, R6, PT").run("ISETP.GT.AND.EX P2, PT, R5, R7, PT, P2");
  EXPECT_TRUE(m.predicate(2));
  m.run("@!P2 MOV R8, 0x5").run("@P2 MOV R8, 0x6");
  EXPECT_EQ(m.get(8), 6u);
  m.run("PLOP3.LUT P3, PT, P0, P1, PT, 0xa8, 0x0").run("SEL R9, R8, 0x7, P0");
  EXPECT_EQ(m.get(9), 7u);
}

TEST(SassLowering, ReadsConstantsOfEachKind) {
  Machine m;
  m.run("ULDC UR4, c[0x0][0x210]").run("MOV R2, UR4").run("IADD3 R3, R2, c[0x0][0x4], RZ");
  EXPECT_EQ(m.get(2), 0x210u);
  EXPECT_EQ(m.get(3), 0x214u);
  m.run("HFMA2.MMA R4, -RZ, RZ, 0, 2.384185791015625e-07").run("HFMA2.MMA R5, -RZ, RZ, 1.875, 0");
  EXPECT_EQ(m.get(4), 4u);
  EXPECT_EQ(m.get(5), 0x3f800000u) << "1.0f";
  m.run("FFMA R6, R5, 2, R5");
  EXPECT_EQ(std::bit_cast<float>(m.get(6)), 3.0f);
}

TEST(SassLowering, UnknownValuesStayUnknown) {
  Machine m;
  m.set_unknown(2);
  m.set(3, 1);
  m.run("IADD3 R4, R2, R3, RZ").run("MUFU.EX2 R5, R3").run("IADD3 R6, R3, R3, RZ");
  EXPECT_FALSE(m.known(4));
  EXPECT_FALSE(m.known(5));
  EXPECT_TRUE(m.known(6));
}

TEST(SassLowering, DividesAsTheCompilerDoes) {
  // What nvcc makes of an unsigned division: a reciprocal and corrections.
  Machine m;
  m.set(0, 1'000'003);
  m.set(7, 97);
  for (const char* line :
       {"I2F.U32.RP R4, R7", "IADD3 R9, RZ, -R7, RZ", "ISETP.NE.U32.AND P2, PT, R7, RZ, PT",
        "MUFU.RCP R4, R4", "IADD3 R2, R4, 0xffffffe, RZ", "F2I.FTZ.U32.TRUNC.NTZ R3, R2",
        "HFMA2.MMA R2, -RZ, RZ, 0, 0", "IMAD R9, R9, R3, RZ", "IMAD.HI.U32 R3, R3, R9, R2",
        "IMAD.HI.U32 R3, R3, R0, RZ", "IADD3 R5, -R3, RZ, RZ", "IMAD R0, R7, R5, R0",
        "ISETP.GE.U32.AND P0, PT, R0, R7, PT", "@P0 IADD3 R0, R0, -R7, RZ",
        "@P0 IADD3 R3, R3, 0x1, RZ", "ISETP.GE.U32.AND P1, PT, R0, R7, PT",
        "@P1 IADD3 R3, R3, 0x1, RZ"})
    m.run(line);
  EXPECT_EQ(m.get(3), 1'000'003u / 97);
}

TEST(SassLowering, AddressesHaveTwoRegistersAndANumber) {
  const ConstantReader none = [](uint32_t, uint32_t, uint32_t) { return ConstantValue{}; };
  const Step load = lower_sass(read_sass("LDG.E.64 R8, desc[UR4][R2.64+-0x10]"), none);
  EXPECT_EQ(load.op, Op::load);
  EXPECT_EQ(load.sources[0].slot, 2);
  EXPECT_TRUE(load.sources[0].wide);
  EXPECT_EQ(load.offset, -16);
  EXPECT_EQ(load.bytes, 8u);
  EXPECT_EQ(load.result_slots, 2u);
  const Step shared = lower_sass(read_sass("LDS R3, [R4.X4+UR5+0x20]"), none);
  EXPECT_EQ(shared.amount, 2u);
  EXPECT_EQ(shared.sources[1].slot, 256 + 5);
  const Step store = lower_sass(read_sass("STG.E desc[UR4][R2.64], R7"), none);
  EXPECT_EQ(store.sources[3].slot, 7);
}

TEST(Half, EncodesSmallWholeNumbersAndOrdinaryOnes) {
  EXPECT_EQ(half_bits(1.0), 0x3c00u);
  EXPECT_EQ(half_bits(-2.0), 0xc000u);
  EXPECT_EQ(half_bits(65504), 0x7bffu);
  EXPECT_EQ(half_bits(1e9), 0x7c00u);
  EXPECT_EQ(half_bits(0x1p-24 * 5), 5u);
  EXPECT_EQ(half_bits(0x1p-14), 0x0400u);
  EXPECT_EQ(half_bits(0.333251953125), 0x3555u);
}

TEST(SassLowering, VotesOnTheLastPredicateAlone) {
  Machine machine;
  machine.set(4, 5);
  machine.run("ISETP.EQ.AND P1, PT, R4, 0x6, PT").run("VOTE.ANY R0, PT, P1");
  EXPECT_EQ(machine.get(0), 0u);
  EXPECT_FALSE(machine.predicate(1));
  machine.run("ISETP.EQ.AND P1, PT, R4, 0x5, PT").run("VOTE.ALL P0, P1");
  EXPECT_TRUE(machine.predicate(0));
  EXPECT_TRUE(machine.predicate(1));
}

}  // namespace
}  // namespace fathom
