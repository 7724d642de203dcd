#include "prediction/contents.h"

#include <gtest/gtest.h>

#include <bit>

#include "prediction/testing.h"

namespace fathom {
namespace {

BufferContents contents_of(const std::string& text, uint64_t bytes = 1 << 20) {
  Result<BufferContents> read = read_contents(text, bytes, "--arg x");
  EXPECT_TRUE(read.ok()) << text;
  return read.ok() ? *read : BufferContents{};
}

TEST(Contents, WordsAreOfTheTypeAndWithinTheBounds) {
  const BufferContents small = contents_of("u8:0..3"), wide = contents_of("i64:-5..5"),
                       real = contents_of("f32"), half = contents_of("bf16:1..1");
  for (uint64_t address = 0; address < 4096; address += 4) {
    EXPECT_EQ(word_of(small, address) & ~0x03030303u, 0u);
    const auto upper = word_of(wide, address | 4);
    EXPECT_TRUE(upper == 0 || upper == ~0u) << upper;
    const auto value = std::bit_cast<float>(word_of(real, address));
    EXPECT_TRUE(value >= 0 && value <= 1) << value;
    EXPECT_EQ(word_of(half, address), 0x3f803f80u);
    EXPECT_EQ(word_of(real, address), word_of(real, address));
  }
  EXPECT_NE(word_of(real, 0), word_of(real, 4));
}

TEST(Contents, BitsThatChangeFollowFromTheBounds) {
  EXPECT_EQ(changing_share(contents_of("f32:2..2")), 0);
  EXPECT_NEAR(changing_share(contents_of("u32")), 0.5, 0.02);
  EXPECT_NEAR(changing_share(contents_of("u32:0..255")), 0.5 * 8 / 32, 0.02);
  EXPECT_NEAR(changing_share(contents_of("u16:0..3")), 0.5 * 2 / 16, 0.02);
  EXPECT_LT(changing_share(contents_of("f32")), 0.45);  // hardly ever other exponents
  // Eight elements on, eight more: one carry or a few.
  EXPECT_NEAR(changing_share(contents_of("u32:0..262143:rising")), 2.0 / 32, 0.02);
}

TEST(Contents, WhatIsNoTypeIsTold) {
  for (const char* text : {"", "f31", "u8:", "u8:3", "u8:3..0", "u8:a..b", "f32:0..1:falling"}) {
    const Result<BufferContents> read = read_contents(text, 1024, "--arg keys");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.error().message().find("--arg keys"), std::string::npos) << text;
    EXPECT_NE(read.error().message().find("TYPE:LOW..HIGH"), std::string::npos) << text;
  }
}

TEST(Contents, ArgumentsTellThem) {
  std::vector<Parameter> parameters{{"x", 0, 8, false, {}}, {"y", 8, 8, false, {}}};
  ASSERT_TRUE(apply_arguments({{"x", "@2K:u8:0..3"}, {"y", "@4096"}}, parameters).ok());
  EXPECT_EQ(parameters[0].buffer_bytes, 2048u);
  ASSERT_TRUE(parameters[0].contents.has_value());
  EXPECT_EQ(parameters[0].contents->size, 1);
  EXPECT_EQ(parameters[0].contents->high, 3);
  EXPECT_FALSE(parameters[1].contents.has_value());
  EXPECT_FALSE(apply_arguments({{"x", "@2K:floats"}}, parameters).ok());
}

TEST(Contents, ZerosSwitchFewerBits) {
  for (const std::string& file : test::both_files()) {
    const auto activity = [&](const std::string& type) {
      const test::Kernel kernel(file, "saxpy", test::launch_of(1u << 14, 256),
                                {{"n", "4194304"}, {"x", "@16M" + type}, {"y", "@16M" + type}});
      return kernel.predict().activity;
    };
    const Activity zeros = activity(":f32:0..0"), random = activity(":f32"), untold = activity("");
    EXPECT_EQ(zeros[Count::bits_l2_read], 0) << file;
    EXPECT_EQ(zeros[Count::spread_loaded], 0) << file;
    EXPECT_LT(zeros[Count::spread_float], 0.2 * random[Count::spread_float]) << file;
    EXPECT_NEAR(random[Count::bits_l2_read] / random[Count::l2_sectors_read], 256 * 0.39, 6)
        << file;
    // The code takes what it loads as floats.
    EXPECT_NEAR(untold[Count::spread_loaded] / random[Count::spread_loaded], 1, 0.05) << file;
  }
}

}  // namespace
}  // namespace fathom
