#include "binary/native_decoder.h"

#include <gtest/gtest.h>

#include <random>

#include "base/text.h"
#include "binary/compare_sources.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

Instruction decode(NativeDecoder& decoder, SassWord word) {
  const SassShape& shape = decoder.shape(word);
  Instruction out;
  decoder.fill(shape, word, out);
  out.text = decoder.text(shape, word, "label");
  return out;
}
Instruction decode(unsigned compute, SassWord word) {
  NativeDecoder decoder(*native_table(compute));
  return decode(decoder, word);
}

TEST(NativeDecoder, AgreesWithTheRecordedTextOfEveryFixture) {
  for (const char* name : {"inlining.sm_90", "tiny.sm_90"}) {
    GpuBinary binary = open_fixture(std::string(name) + ".cubin");
    auto theirs = fixture_source(std::string(name) + ".sass");
    auto ours = native_decoder();
    SourceDifferences differences;
    Result<Done> done = compare_sources(binary, *theirs, *ours, differences);
    ASSERT_TRUE(done.ok()) << done.error().message();
    EXPECT_GT(differences.instructions, 10u);
    EXPECT_EQ(differences.different, 0u) << differences.report();
    EXPECT_GE(differences.text_alike * 100, differences.instructions * 99) << differences.report();
  }
}

TEST(NativeDecoder, ReadsRegistersControlAndMemory) {
  // LDC R1, c[0x0][0x28]
  Instruction load = decode(90, {0x00000a00ff017b82, 0x000e300000000800});
  EXPECT_EQ(load.text, "LDC R1, c[0x0][0x28]");
  EXPECT_EQ(load.op_class, OpClass::load);
  EXPECT_EQ(load.space, MemorySpace::constant);
  EXPECT_EQ(load.access_bytes, 4);
  EXPECT_EQ(describe(load.defs), "R1 B0");
  EXPECT_EQ(load.control.stall, 8);
  // VIADD R1, R1, 0xffffffe0 waits for it.
  Instruction add = decode(90, {0xffffffe001017836, 0x001fe20000000000});
  EXPECT_EQ(add.text, "VIADD R1, R1, 0xffffffe0");
  EXPECT_EQ(describe(add.uses), "R1 B0");
}

TEST(NativeDecoder, GuardsAreReadAndUsed) {
  Instruction add = decode(90, {0xffffffe001019836, 0x000fe20000000000});
  EXPECT_EQ(add.text, "@!P1 VIADD R1, R1, 0xffffffe0");
  EXPECT_EQ(describe(add.uses), "R1 P1");
  EXPECT_TRUE(add.guard.negated);
}

TEST(NativeDecoder, WhatTheTableDoesNotHaveIsUnknownAndShowsItsBits) {
  Instruction nothing = decode(90, {0xffffffe0010170ff, 0x000fe20000000000});
  EXPECT_FALSE(nothing.known);
  EXPECT_EQ(nothing.text, "0xffffffe0010170ff 0x000fe20000000000");
  EXPECT_TRUE(nothing.defs.empty() && nothing.uses.empty());
  // VIADD came with Hopper.
  EXPECT_FALSE(decode(75, {0xffffffe001017836, 0x001fe20000000000}).known);
}

TEST(NativeDecoder, SameShapeIsLookedUpOnce) {
  NativeDecoder decoder(*native_table(90));
  for (uint64_t reg = 0; reg < 200; ++reg)
    decoder.shape(SassWord{0xffffffe000007836 | reg << 16 | reg << 24, 0x001fe20000000000});
  EXPECT_EQ(decoder.shapes_seen(), 1u);
}

TEST(NativeDecoder, NoRegisterIsNoShapeOfItsNeighbours) {
  // BRA.CONV with URZ, then with UR4: all ones of 6 bits, in a place where other forms have 8.
  const SassWord none{0x000000233f007947, 0x000fc0000b800000};
  const SassWord some{0x0000002304007947, 0x000fc0000b800000};
  NativeDecoder decoder(*native_table(86));
  const Instruction first = decode(decoder, none), second = decode(decoder, some);
  EXPECT_EQ(describe(first.uses), "");
  EXPECT_EQ(describe(second.uses), "UR4") << second.text;
}

TEST(NativeDecoder, TakesAnyBits) {
  std::mt19937_64 random(7);
  for (unsigned compute : {75u, 90u, 120u}) {
    const SassTable* table = native_table(compute);
    ASSERT_NE(table, nullptr);
    NativeDecoder decoder(*table);
    size_t known = 0;
    for (int i = 0; i < 50000; ++i) {
      SassWord word{random(), random()};
      // Half of them with an opcode that exists.
      if (i & 1)
        word.low = (word.low & ~0xfffull) | table->entries[i % table->entries.size()].opcode;
      const Instruction out = decode(decoder, word);
      known += out.known;
      EXPECT_TRUE(out.known || (out.defs.empty() && out.uses.empty()));
    }
    EXPECT_GT(known, 0u);
  }
}

/// A number that nothing refers to was taken for another one of the same value while it was
/// learned.
TEST(SassTable, EveryNumberIsUsed) {
  for (unsigned compute : {70u, 75u, 80u, 86u, 87u, 88u, 89u, 90u, 100u, 103u, 110u, 120u, 121u}) {
    for (const SassEntry& entry : native_table(compute)->entries) {
      std::string text;
      for (const SassPart& part : entry.operands) text += part.text;
      for (const SassGroup& group : entry.groups)
        for (const std::string& piece : group.pieces) text += piece;
      for (size_t i = 0; i < entry.literals.size(); ++i)
        EXPECT_NE(text.find(format("{#%zu}", i)), std::string::npos)
            << format("sm_%u, opcode %03x, number %zu", compute, entry.opcode, i);
    }
  }
}

TEST(SassTable, EveryArchitectureHasOne) {
  for (unsigned compute : {70, 75, 80, 86, 87, 89, 90, 100, 103, 120})
    EXPECT_NE(native_table(compute), nullptr) << compute;
  EXPECT_EQ(native_table(61), nullptr);
}

TEST(SassTable, ErrorsNameTheLine) {
  const char* good =
      "opcode 210 P 90\nfixed 0 0\nfields 16:8\nname X $0.0\noperands {R16}\n"
      "group 72\n 0 -\n 1 Y\n";
  ASSERT_TRUE(parse_sass_table(good, 90).ok());
  EXPECT_EQ(parse_sass_table(good, 90)->entries.size(), 1u);
  EXPECT_EQ(parse_sass_table(good, 80)->entries.size(), 0u);
  for (const char* bad : {"opcode 210 P 90\nfields 125:8\n", "opcode 210 P 90\ngroup R16\n",
                          "opcode 210 P 90\ngroup Z0\n", "opcode 210 P 90\n 0 -\n",
                          "opcode 210 P 90\nliteral 0 x 200+1*1\n", "opcode 99999 P 90\n",
                          "opcode 210 P 90\nfixed x y\n"}) {
    Result<SassTable> table = parse_sass_table(bad, 90);
    ASSERT_FALSE(table.ok()) << bad;
    EXPECT_NE(table.error().message().find("line "), std::string::npos);
  }
  EXPECT_FALSE(parse_sass_table("opcode 210 P 90\nname X $3.0\n", 90).ok());
}

}  // namespace
}  // namespace fathom
