#include "binary/sass_semantics.h"

#include <gtest/gtest.h>

#include "binary/test_support.h"

namespace fathom {
namespace {

struct Case {
  const char* text;
  const char* defs;
  const char* uses;
};

class Registers : public testing::TestWithParam<Case> {};

TEST_P(Registers, AreDefinedAndUsed) {
  Instruction instruction = read_sass(GetParam().text);
  EXPECT_TRUE(instruction.known);
  EXPECT_EQ(instruction.text, GetParam().text);
  EXPECT_EQ(describe(instruction.defs), GetParam().defs);
  EXPECT_EQ(describe(instruction.uses), GetParam().uses);
}

const Case kArithmetic[] = {
    {"FADD R0, R1, -R2.reuse", "R0", "R1 R2"},
    {"FFMA R13, R10, R10, 3", "R13", "R10"},
    {"FMUL R4, |R17|, RZ", "R4", "R17"},
    {"DADD R4, R6, -UR8", "R4 R5", "R6 R7 UR8 UR9"},
    {"DFMA R2, R4, R6, 1", "R2 R3", "R4 R5 R6 R7"},
    {"DSETP.MAX.AND P0, P1, R2, R4, PT", "P0 P1", "R2 R3 R4 R5"},
    {"FADD2 R10, R8.F32, R12", "R10 R11", "R8 R12 R13"},
    {"MUFU.RCP64H R3, R5", "R3", "R5"},
    {"IADD3 R0, P1, P2, R4, R5, R6", "R0 P1 P2", "R4 R5 R6"},
    {"IADD3.X R5, R5, R0, RZ, P0, !P1", "R5", "R0 R5 P0 P1"},
    {"IADD.64 R16, -R16, UR4", "R16 R17", "R16 R17 UR4 UR5"},
    {"IMAD R3, R3, UR4, R0", "R3", "R0 R3 UR4"},
    {"IMAD.WIDE.U32 R4, P0, R11, 0x4, R2", "R4 R5 P0", "R2 R3 R11"},
    {"IMAD.HI.U32 R5, R7, R9, R4", "R5", "R4 R5 R7 R9"},
    {"IMAD.X R29, R29, 0x1, R4, P1", "R29", "R4 R29 P1"},
    {"LEA.HI.X R29, R22, R21, R9, 0x3, P2", "R29", "R9 R21 R22 P2"},
    {"LEA R4, P0, R0, UR18, 0x2", "R4 P0", "R0 UR18"},
    {"LOP3.LUT P0, RZ, R21, 0x3, RZ, 0xc0, !PT", "P0", "R21"},
    {"ISETP.GE.AND.EX P0, P3, R6, R3, P1, P2", "P0 P3", "R3 R6 P1 P2"},
    {"SEL R5, R6, RZ, !P2", "R5", "R6 P2"},
    {"IMNMX.S64 PT, P1, R16, R4, R6, PT, !PT", "R16 R17 P1", "R4 R5 R6 R7"},
    {"UIADD3.X UR5, URZ, UR6, URZ, UP0, !UPT", "UR5", "UR6 UP0"},
    {"F2F.F64.F32 R2, R17", "R2 R3", "R17"},
    {"F2F.F32.F64 R9, R8", "R9", "R8 R9"},
    {"F2I.S64.TRUNC R24, R0", "R24 R25", "R0"},
    {"F2I.U32.F64.TRUNC R22, R20", "R22", "R20 R21"},
    {"I2F.F64.S64 R10, R12", "R10 R11", "R12 R13"},
    {"I2F.U64 R10, R12", "R10", "R12 R13"},
    {"FRND.F64.FLOOR R6, R24", "R6 R7", "R24 R25"},
    {"@!P3 HSETP2.EQ.AND P0, P1, |R15|.H0_H0, 300, 0.2, PT", "P0 P1", "R15 P3"},
    {"VIADDMNMX R4, R4, R7, UR15, PT", "R4", "R4 R7 UR15"},
};
INSTANTIATE_TEST_SUITE_P(Arithmetic, Registers, testing::ValuesIn(kArithmetic));

const Case kMatrices[] = {
    {"HMMA.16816.F32.BF16 R4, R36, R40, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R36 R37 R38 R39 R40 R41"},
    {"HMMA.1688.F16 R4, R8, R10, R12", "R4 R5", "R8 R9 R10 R12 R13"},
    {"HMMA.1684.F32.TF32 R4, R8, R10, RZ", "R4 R5 R6 R7", "R8 R9 R10"},
    {"IMMA.8816.S8.S8 R4, R4.ROW, R29.COL, R2", "R4 R5", "R2 R3 R4 R29"},
    {"IMMA.16832.S8.U8.SAT R16, R4.ROW, R8.COL, R16", "R16 R17 R18 R19",
     "R4 R5 R6 R7 R8 R9 R16 R17 R18 R19"},
    {"DMMA.8x8x4 R4, R66.reuse, -R60, R4", "R4 R5 R6 R7", "R4 R5 R6 R7 R60 R61 R66 R67"},
    {"HGMMA.64x16x16.F32 R24, gdesc[UR4], R24, !UP0, gsb0", "R24 R25 R26 R27 R28 R29 R30 R31",
     "R24 R25 R26 R27 R28 R29 R30 R31 UR4 UR5 UR6 UR7 UP0"},
    {"HGMMA.64x8x16.F16 R24, R8, gdesc[UR4], RZ", "R24 R25", "R8 R9 R10 R11 UR4 UR5 UR6 UR7"},
    {"LDSM.16.MT88.4 R52, [R69+UR4+0x800]", "R52 R53 R54 R55", "R69 UR4"},
    {"STSM.16.M88.2 [R4], R24", "", "R4 R24 R25"},
};
INSTANTIATE_TEST_SUITE_P(Matrices, Registers, testing::ValuesIn(kMatrices));

const Case kMemory[] = {
    {"LDG.E R4, desc[UR6][R4.64]", "R4", "R4 R5 UR6 UR7"},
    {"@!P0 LDG.E.128 R4, desc[UR6][R8.64+0x10]", "R4 R5 R6 R7", "R8 R9 UR6 UR7 P0"},
    {"LDG.E.U8 R4, [R8]", "R4", "R8 R9"},
    {"LDG.E R4, [R8.U32+UR6]", "R4", "R8 UR6 UR7"},
    {"STG.E.64 desc[UR6][R12.64], R10", "", "R10 R11 R12 R13 UR6 UR7"},
    {"STG.E.ENL2.256 desc[UR6][R2.64], R8, R12", "", "R2 R3 R8 R9 R10 R11 R12 R13 R14 R15 UR6 UR7"},
    {"STS.128 [R71+UR15+0x80], R80", "", "R71 R80 R81 R82 R83 UR15"},
    {"LDC.64 R2, c[0x0][R10+0x328]", "R2 R3", "R10"},
    {"LDCU.128 UR12, c[0x0][0x390]", "UR12 UR13 UR14 UR15", ""},
    {"ULDC.64 UR6, c[0x0][UR9+0x218]", "UR6 UR7", "UR9"},
    {"ATOMG.E.CAS.64.STRONG.GPU P0, R6, [R2], R4, R8", "R6 R7 P0", "R2 R3 R4 R5 R8 R9"},
    {"ATOMS.CAST.SPIN P0, [R20], R6, R7", "P0", "R6 R7 R20"},
    {"REDG.E.ADD.F64.RN.STRONG.GPU desc[UR16][R26.64], R24", "", "R24 R25 R26 R27 UR16 UR17"},
    {"LDGSTS.E.BYPASS.128 [R17+0x880], desc[UR6][R42.64], P4", "", "R17 R42 R43 UR6 UR7 P4"},
    {"UTMALDG.2D [UR4], [UR8]", "", "UR4 UR5 UR6 UR7 UR8 UR9"},
    {"UBLKCP.G.S [UR10], [UR4], UR6", "", "UR4 UR6 UR10 UR11"},
};
INSTANTIATE_TEST_SUITE_P(Memory, Registers, testing::ValuesIn(kMemory));

const Case kOthers[] = {
    {"S2R R11, SR_TID.X", "R11", ""},
    {"CS2R R36, SRZ", "R36 R37", ""},
    {"CS2R.32 R4, SR_CLOCKLO", "R4", ""},
    {"R2UR P0, URZ, R8", "P0", "R8"},
    {"R2P PR, R0, 0x6", "P1 P2", "R0"},
    {"P2R R0, PR, RZ, 0x21", "R0", "P0 P5"},
    {"PLOP3.LUT P0, PT, P1, P2, UP0, 0x80, 0x0", "P0", "P1 P2 UP0"},
    {"SHFL.BFLY PT, R25, R6, 0x1, 0x1f", "R25", "R6"},
    {"SHFL.IDX P0, R25, R27, R24, R11", "R25 P0", "R11 R24 R27"},
    {"VOTE.ANY R38, P2, P1", "R38 P2", "P1"},
    {"VOTEU.ALL UP0, P3", "UP0", "P3"},
    {"MATCH.ANY.U64 R12, R14", "R12", "R14 R15"},
    {"BSYNC B3", "", ""},
    {"BSSY B0, `(.L_x_4)", "", ""},
    {"BAR.SYNC.DEFER_BLOCKING R13, R14", "", "R13 R14"},
    {"RET.REL.NODEC R20 `(kernel)", "", "R20 R21"},
    {"CALL.ABS.NOINC R14", "", "R14 R15"},
    {"BRX R6 -0x120", "", "R6 R7"},
    {"@P1 BRA !P4, `(.L_x_1622)", "", "P1 P4"},
    {"BRA.DIV UR7, `(.L_x_5)", "", "UR7"},
    {"@UP2 UMOV UR4, UR79", "UR4", "UR79 UP2"},
    {"WARPSYNC.COLLECTIVE R20, `(.L_x_50)", "", "R20"},
};
INSTANTIATE_TEST_SUITE_P(Others, Registers, testing::ValuesIn(kOthers));

TEST(Sass, UnknownOpcodesKeepTheirTextAndClaimNothing) {
  Instruction instruction = read_sass("@P0 FROBNICATE.X R1, R2");
  EXPECT_FALSE(instruction.known);
  EXPECT_EQ(instruction.opcode, "FROBNICATE.X");
  EXPECT_EQ(instruction.text, "@P0 FROBNICATE.X R1, R2");
  EXPECT_TRUE(instruction.defs.empty());
  EXPECT_TRUE(instruction.uses.empty());
}

TEST(Sass, OperandsThatDoNotFitTheTableAreUnknown) {
  EXPECT_FALSE(read_sass("FADD [R1], R2").known);
  EXPECT_FALSE(read_sass("FADD").known);
  EXPECT_FALSE(read_sass("ISETP.GE.AND P0, R1, R2").known);
}

TEST(Sass, GuardsSayWhenAnInstructionRuns) {
  Instruction instruction = read_sass("@!P3 MOV R1, R2");
  EXPECT_FALSE(instruction.guard.always);
  EXPECT_TRUE(instruction.guard.negated);
  EXPECT_EQ(to_string(instruction.guard.predicate), "P3");
  EXPECT_TRUE(read_sass("MOV R1, R2").guard.always);
  EXPECT_TRUE(read_sass("@PT MOV R1, R2").guard.always);
  EXPECT_FALSE(read_sass("@!PT MOV R1, R2").guard.always);
  EXPECT_EQ(describe(read_sass("@!PT MOV R1, R2").uses), "R2");
}

TEST(Sass, ClassesSpacesAndSizes) {
  EXPECT_EQ(read_sass("IMAD R1, R2, R3, R4").op_class, OpClass::integer_multiply);
  EXPECT_EQ(read_sass("IMAD.MOV.U32 R1, RZ, RZ, R4").op_class, OpClass::move);
  EXPECT_EQ(read_sass("IMAD.IADD R1, R2, 0x1, R4").op_class, OpClass::integer);
  EXPECT_EQ(read_sass("LDC R1, c[0x0][0x28]").space, MemorySpace::constant);
  EXPECT_EQ(read_sass("LDL.64 R30, [R1+0x28]").space, MemorySpace::local);
  EXPECT_EQ(read_sass("LD.E R30, desc[UR4][R2.64]").space, MemorySpace::generic);
  EXPECT_EQ(read_sass("LDG.E.U16 R30, desc[UR4][R2.64]").access_bytes, 2);
  EXPECT_EQ(read_sass("LDG.E.ENL2.256 R8, R4, desc[UR4][R2.64]").access_bytes, 32);
  EXPECT_EQ(read_sass("LDGSTS.E.128 [R17], desc[UR6][R42.64]").access_bytes, 16);
  EXPECT_EQ(read_sass("ATOMS.ADD R1, [R2], R3").access_bytes, 4);
  EXPECT_EQ(read_sass("FADD R1, R2, R3").access_bytes, 0);
  EXPECT_TRUE(read_sass("STL [R1], R2").is_store());
}

TEST(Sass, FlowTellsCallsBySymbolFromCallsByRegister) {
  Instruction direct = read_sass("CALL.REL.NOINC `($k1$_Z4slowfi)");
  EXPECT_EQ(direct.flow, Flow::call);
  EXPECT_EQ(direct.target_symbol, "$k1$_Z4slowfi");
  EXPECT_EQ(read_sass("CALL.REL.NOINC R4 `(calls)").flow, Flow::indirect_call);
  EXPECT_EQ(read_sass("CALL.ABS.NOINC R14").flow, Flow::indirect_call);
  EXPECT_EQ(read_sass("RET.REL.NODEC R20 `(calls)").flow, Flow::return_);
  EXPECT_EQ(read_sass("@P0 EXIT").flow, Flow::exit);
  EXPECT_EQ(read_sass("BSYNC B0").flow, Flow::next);
}

TEST(Control, FieldsStandInBits105To125) {
  Control load = decode_control(0x000e300000000800);  // LDC R1, c[0x0][0x28]
  EXPECT_EQ(load.stall, 8);
  EXPECT_TRUE(load.yield);
  EXPECT_EQ(load.write_barrier, 0);
  EXPECT_EQ(load.read_barrier, 7);
  EXPECT_EQ(load.wait_mask, 0);
  Control add = decode_control(0x001fe20000000000);
  EXPECT_EQ(add.stall, 1);
  EXPECT_EQ(add.write_barrier, 7);
  EXPECT_EQ(add.wait_mask, 1);
  EXPECT_EQ(decode_control(0x3c00000000000000).reuse, 15);
}

}  // namespace
}  // namespace fathom
