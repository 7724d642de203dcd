#include "prediction/register_reads.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

Instruction reading(OpClass op_class, const std::string& text, std::vector<uint16_t> registers) {
  Instruction instruction;
  instruction.op_class = op_class;
  instruction.text = text;
  for (uint16_t each : registers)
    instruction.uses.push_back({RegisterFile::general, static_cast<uint8_t>(each)});
  return instruction;
}

TEST(RegisterReads, TakeTurnsWithinABank) {
  EXPECT_EQ(register_read_cycles(reading(OpClass::fp32, "FADD R15, R14, R15", {14, 15}), nullptr),
            1u);
  EXPECT_EQ(register_read_cycles(reading(OpClass::fp32, "FADD R15, R12, R14", {12, 14}), nullptr),
            2u);
  EXPECT_EQ(
      register_read_cycles(reading(OpClass::fp32, "FFMA R4, R14, R4, R11", {4, 11, 14}), nullptr),
      2u);
  EXPECT_EQ(register_read_cycles(
                reading(OpClass::fp64, "DFMA R16, R6, R16, R2", {2, 3, 6, 7, 16, 17}), nullptr),
            3u);
  EXPECT_EQ(register_read_cycles(reading(OpClass::move, "MOV R1, 0x4", {}), nullptr), 1u);
}

TEST(RegisterReads, AreSparedByWhatTheInstructionBeforeKeeps) {
  const Instruction first =
      reading(OpClass::fp32, "FFMA R5, R11.reuse, R5, R12.reuse", {5, 11, 12});
  const Instruction second = reading(OpClass::fp32, "FFMA R17, R11, R17, R12", {11, 12, 17});
  EXPECT_EQ(register_read_cycles(first, nullptr), 2u);
  EXPECT_EQ(register_read_cycles(second, &first), 1u);
  EXPECT_EQ(register_read_cycles(first, &second), 2u) << "nothing was kept";
  const Instruction wide =
      reading(OpClass::fp64, "DFMA R18, R12.reuse, R18, R14.reuse", {12, 13, 14, 15, 18, 19});
  const Instruction after =
      reading(OpClass::fp64, "DFMA R20, R12, R20, R14", {12, 13, 14, 15, 20, 21});
  EXPECT_EQ(register_read_cycles(after, &wide), 1u) << "a pair is kept by its first name";
}

TEST(RegisterReads, OfMemoryGoThroughAQueue) {
  EXPECT_EQ(register_read_cycles(reading(OpClass::store, "STG.E [R2.64], R4", {2, 3, 4}), nullptr),
            1u);
}

}  // namespace
}  // namespace fathom
