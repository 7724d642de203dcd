#include "attribution/lane_access.h"

#include <gtest/gtest.h>

#include "attribution/operand_text.h"
#include "attribution/testing.h"

namespace fathom {
namespace {

using fathom::testing::sass_function;

constexpr std::array<uint32_t, 3> kRow{256, 1, 1}, kTile{32, 8, 1}, kSmallTile{16, 16, 1};

/// The last access of the code.
LaneAccess access(const std::string& lines, const std::array<uint32_t, 3>& block = kRow) {
  std::vector<LaneAccess> all = lane_accesses(sass_function(lines), block);
  EXPECT_FALSE(all.empty());
  return all.empty() ? LaneAccess{} : all.back();
}

TEST(Operands, AreReadFromText) {
  auto operands = parse_operands("@!P0 LDG.E.64 R4, desc[UR4][R2.64+-0x10]");
  ASSERT_EQ(operands.size(), 2u);
  EXPECT_EQ(operands[0].kind, Operand::Kind::general);
  EXPECT_EQ(operands[0].number, 4);
  ASSERT_EQ(operands[1].kind, Operand::Kind::memory);
  ASSERT_EQ(operands[1].parts.size(), 2u);
  EXPECT_EQ(operands[1].parts[0].number, 2);
  EXPECT_EQ(operands[1].parts[1].value, -16);

  operands = parse_operands("IADD3 R2, P1, -R2.reuse, c[0x0][0x210], RZ");
  ASSERT_EQ(operands.size(), 5u);
  EXPECT_EQ(operands[1].kind, Operand::Kind::predicate);
  EXPECT_TRUE(operands[2].negated);
  EXPECT_EQ(operands[2].number, 2);
  EXPECT_EQ(operands[3].kind, Operand::Kind::constant);
  EXPECT_EQ(operands[3].value, 0x210);
  EXPECT_EQ(operands[4].number, -1);

  operands = parse_operands("LDC R0, c[0x0][RZ]");
  EXPECT_EQ(operands[1].kind, Operand::Kind::constant);
  EXPECT_EQ(operands[1].value, 0);

  operands = parse_operands("LDC R8, c[0x3][R8+0x40]");
  EXPECT_EQ(operands[1].kind, Operand::Kind::indexed);
  EXPECT_EQ(operands[1].bank, 3u);
  ASSERT_EQ(operands[1].parts.size(), 2u);
  EXPECT_EQ(operands[1].parts[0].number, 8);
  EXPECT_EQ(operands[1].parts[1].value, 64);

  operands = parse_operands("LDS R4, [R17.X4+UR5+0x20]");
  ASSERT_EQ(operands[1].parts.size(), 3u);
  EXPECT_EQ(operands[1].parts[0].scale, 4u);
  EXPECT_EQ(operands[1].parts[1].kind, Operand::Kind::uniform);
  EXPECT_TRUE(parse_operands("EXIT").empty());
}

const std::string kGlobalIndex = R"(
    S2R R0, SR_CTAID.X
    S2R R3, SR_TID.X
    IMAD R0, R0, c[0x0][0x0], R3
    LDC.64 R2, c[0x0][0x210]
)";

/// A float of a table in constant memory, by an index that `lines` leave in R5.
LaneAccess table_access(const std::string& lines) {
  auto all = indexed_constants(
      sass_function(lines + "\nSHF.L.U32 R6, R5, 0x2, RZ\nLDC R7, c[0x3][R6]\nEXIT"), kRow);
  EXPECT_EQ(all.size(), 1u);
  return all.empty() ? LaneAccess{} : all.front();
}

TEST(LaneAccess, ConstantMemoryServesEachAddressInTurn) {
  LaneAccess by_thread = table_access("S2R R5, SR_TID.X");
  EXPECT_EQ(by_thread.space, MemorySpace::constant);
  EXPECT_EQ(by_thread.pattern, LanePattern::strided);
  EXPECT_DOUBLE_EQ(by_thread.passes.value_or(0), 32);
  LaneAccess by_quads = table_access("S2R R4, SR_TID.X\nSHF.R.U32.HI R5, RZ, 0x2, R4");
  EXPECT_DOUBLE_EQ(by_quads.passes.value_or(0), 8);
  LaneAccess by_block = table_access("S2R R5, SR_CTAID.X");
  EXPECT_EQ(by_block.pattern, LanePattern::uniform);
  EXPECT_DOUBLE_EQ(by_block.passes.value_or(0), 1);
  LaneAccess by_common_data = table_access(kGlobalIndex + "LDG.E R5, desc[UR4][R2.64]");
  EXPECT_EQ(by_common_data.pattern, LanePattern::uniform);
  LaneAccess by_data =
      table_access(kGlobalIndex + "IMAD.WIDE R2, R0, 0x4, R2\nLDG.E R5, desc[UR4][R2.64]");
  EXPECT_FALSE(by_data.is_known());
  EXPECT_FALSE(by_data.passes);
}

TEST(LaneAccess, OnlyIndexesInRegistersCountAsIndexed) {
  EXPECT_TRUE(indexed_constants(sass_function(kGlobalIndex + "EXIT"), kRow).empty());
}

TEST(LaneAccess, AdjacentFloatsTouchFourSectors) {
  LaneAccess a = access(kGlobalIndex + R"(
    IMAD.WIDE R2, R0, 0x4, R2
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::strided);
  EXPECT_EQ(a.stride, 4);
  EXPECT_EQ(a.sectors, 4);
  EXPECT_EQ(a.ideal_sectors, 4);
}

TEST(LaneAccess, AFieldOfAStructureTouchesWhatLiesBetween) {
  LaneAccess a = access(kGlobalIndex + R"(
    IMAD.WIDE R2, R0, 0x18, R2
    LDG.E R5, desc[UR4][R2.64+0xc]
    EXIT)");
  EXPECT_EQ(a.stride, 24);
  EXPECT_EQ(a.sectors, 24);
  EXPECT_EQ(a.lines, 6);
}

TEST(LaneAccess, ARowOfEachThreadIsStridedByALaunchParameter) {
  LaneAccess a = access(kGlobalIndex + R"(
    IMAD R4, R0, c[0x0][0x220], RZ
    IMAD.WIDE R2, R4, 0x4, R2
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::by_parameter);
  EXPECT_EQ(a.sectors, 32);
  EXPECT_EQ(a.ideal_sectors, 4);
}

TEST(LaneAccess, LoopsKeepTheDistanceBetweenLanes) {
  LaneAccess a = access(kGlobalIndex + R"(
    LDC R6, c[0x0][0xc]
    IMAD R6, R6, c[0x0][0x0], RZ
    IMAD.WIDE R4, R0, 0x4, R2
    LDG.E R5, desc[UR4][R4.64]
    IADD3 R0, R6, R0, RZ
    ISETP.GE.AND P0, PT, R0, UR8, PT
    @!P0 BRA 0x60 | to 6
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::strided);
  EXPECT_EQ(a.stride, 4);
}

TEST(LaneAccess, WalkingPointersKeepTheDistanceToo) {
  LaneAccess a = access(kGlobalIndex + R"(
    IMAD.WIDE R2, R0, 0x40, R2
    LDG.E R5, desc[UR4][R2.64]
    IADD3 R2, P1, R2, 0x4, RZ
    IMAD.X R3, RZ, RZ, R3, P1
    @P0 BRA 0x50 | to 5
    EXIT)");
  EXPECT_EQ(a.stride, 64);
  EXPECT_EQ(a.sectors, 32);
}

TEST(LaneAccess, AGatherDependsOnData) {
  LaneAccess a = access(kGlobalIndex + R"(
    IMAD.WIDE R4, R0, 0x4, R2
    LDG.E R5, desc[UR4][R4.64]
    IMAD.WIDE R6, R5, 0x4, R2
    LDG.E R8, desc[UR4][R6.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::data_dependent);
  EXPECT_FALSE(a.sectors);
}

TEST(LaneAccess, WhatAllLanesReadTogetherIsTheSameForAll) {
  LaneAccess a = access(kGlobalIndex + R"(
    LDG.E R5, desc[UR4][R2.64]
    IMAD.WIDE R6, R5, 0x4, R2
    LDG.E R8, desc[UR4][R6.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::uniform);
  EXPECT_EQ(a.sectors, 1);
}

TEST(LaneAccess, MasksAndShiftsOfAnIndexAreFollowed) {
  // index & 31 is the lane, index >> 5 the same in the whole warp: blocks of 256 threads.
  LaneAccess a = access(kGlobalIndex + R"(
    LOP3.LUT R4, R0, 0x1f, RZ, 0xc0, !PT
    SHF.R.S32.HI R5, RZ, 0x5, R0
    IMAD R4, R5, c[0x0][0x220], R4
    IMAD.WIDE R2, R4, 0x4, R2
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::strided);
  EXPECT_EQ(a.stride, 4);
}

TEST(LaneAccess, SignedDivisionByAPowerOfTwoIsFollowed) {
  LaneAccess a = access(R"(
    S2R R0, SR_TID.X
    SHF.R.S32.HI R3, RZ, 0x1f, R0
    LEA.HI R3, R3, R0, RZ, 0x4
    SHF.R.S32.HI R3, RZ, 0x4, R3
    IMAD.WIDE R2, R3, 0x400, R4
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::unknown) << "R4 is nobody's";
  a = access(R"(
    S2R R0, SR_TID.X
    LDC.64 R4, c[0x0][0x210]
    SHF.R.S32.HI R3, RZ, 0x1f, R0
    LEA.HI R3, R3, R0, RZ, 0x4
    SHF.R.S32.HI R3, RZ, 0x4, R3
    IMAD.WIDE R2, R3, 0x400, R4
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::irregular);
  EXPECT_EQ(a.sectors, 2);
}

const std::string kTileCode = R"(
    S2R R2, SR_TID.X
    S2R R0, SR_TID.Y
    S2UR UR5, SR_CgaCtaId
    UMOV UR4, 0x400
    ULEA UR4, UR5, UR4, 0x18
)";

TEST(BankConflicts, AColumnOfATileComesFromOneBank) {
  LaneAccess a = access(kTileCode + R"(
    LEA R17, R2, UR4, 0x7
    LEA R17, R0, R17, 0x2
    LDS R11, [R17+0x20]
    EXIT)",
                        kTile);
  EXPECT_EQ(a.space, MemorySpace::shared);
  EXPECT_EQ(a.passes, 32);
  EXPECT_EQ(a.ideal_passes, 1);
  EXPECT_EQ(a.stride, 128);
}

TEST(BankConflicts, PaddingRemovesThem) {
  LaneAccess a = access(kTileCode + R"(
    IMAD R17, R2, 0x84, UR4
    LEA R17, R0, R17, 0x2
    LDS R11, [R17]
    EXIT)",
                        kTile);
  EXPECT_EQ(a.passes, 1);
}

TEST(BankConflicts, TwoRowsOfASmallTileShareBanks) {
  // [tid.x][tid.y] of floats in rows of 16: lanes 0 to 15 are 64 bytes apart.
  LaneAccess a = access(kTileCode + R"(
    LEA R17, R2, UR4, 0x6
    LEA R17, R0, R17, 0x2
    LDS R11, [R17]
    EXIT)",
                        kSmallTile);
  EXPECT_EQ(a.pattern, LanePattern::irregular);
  EXPECT_EQ(a.passes, 8);
}

TEST(BankConflicts, ABroadcastIsOnePass) {
  LaneAccess a = access(kTileCode + R"(
    LEA R17, R0, UR4, 0x7
    LDS.128 R12, [R17]
    EXIT)",
                        kTile);
  EXPECT_EQ(a.pattern, LanePattern::uniform);
  EXPECT_EQ(a.passes, a.ideal_passes);
}

TEST(BankConflicts, WideAccessesGoByQuarters) {
  LaneAccess a = access(kTileCode + R"(
    LEA R17, R2, UR4, 0x4
    LDS.128 R12, [R17]
    EXIT)",
                        kTile);
  EXPECT_EQ(a.ideal_passes, 4);
  EXPECT_EQ(a.passes, 4);
  a = access(kTileCode + R"(
    LEA R17, R2, UR4, 0x8
    LDS.128 R12, [R17]
    EXIT)",
             kTile);
  EXPECT_EQ(a.passes, 32);
}

TEST(BankConflicts, ASwizzleIsFollowed) {
  // Row tid.x of 32 words, word tid.x ^ tid.y.
  LaneAccess a = access(kTileCode + R"(
    LOP3.LUT R3, R2, R0, RZ, 0x3c, !PT
    LEA R17, R2, UR4, 0x7
    LEA R17, R3, R17, 0x2
    LDS R11, [R17]
    EXIT)",
                        kTile);
  EXPECT_EQ(a.passes, 1);
}

TEST(BankConflicts, UnknownRowsAreNotCounted) {
  LaneAccess a = access(kTileCode + R"(
    IMAD R3, R2, c[0x0][0x218], RZ
    LEA R17, R3, UR4, 0x2
    LDS R11, [R17]
    EXIT)",
                        kTile);
  EXPECT_EQ(a.pattern, LanePattern::by_parameter);
  EXPECT_FALSE(a.passes);
}

TEST(LaneAccess, ACopyHasTwoSides) {
  std::vector<LaneAccess> all = lane_accesses(sass_function(kTileCode + R"(
    LDC.64 R6, c[0x0][0x210]
    LEA R17, R2, UR4, 0x2
    IMAD.WIDE R6, R2, 0x4, R6
    LDGSTS.E [R17], desc[UR6][R6.64]
    EXIT)"),
                                              kTile);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].space, MemorySpace::shared);
  EXPECT_EQ(all[0].passes, 1);
  EXPECT_EQ(all[1].space, MemorySpace::global);
  EXPECT_EQ(all[1].sectors, 4);
}

TEST(LaneAccess, ConstantsMadeOfHalvesCount) {
  // 2.384185791015625e-07 has the bits 0x0004.
  LaneAccess a = access(R"(
    S2R R0, SR_TID.X
    HFMA2.MMA R3, -RZ, RZ, 0, 2.384185791015625e-07
    IMAD.WIDE R2, R0, R3, c[0x0][0x160]
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.stride, 4);
}

TEST(LaneAccess, ClampedIndexesCountAsTheIndex) {
  LaneAccess a = access(kGlobalIndex + R"(
    VIMNMX R4, R0, UR8, PT
    IMAD.WIDE R2, R4, 0x4, R2
    LDG.E R5, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.stride, 4);
}

TEST(LaneAccess, SpilledValuesAreNotFollowed) {
  LaneAccess a = access(R"(
    LDL R2, [R1+0x8]
    LDG.E R8, desc[UR4][R2.64]
    EXIT)");
  EXPECT_EQ(a.pattern, LanePattern::unknown);
}

TEST(LaneAccess, AnEmptyFunctionHasNone) {
  EXPECT_TRUE(lane_accesses(sass_function(""), kRow).empty());
}

}  // namespace
}  // namespace fathom
