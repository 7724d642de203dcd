#include "cuda/parameter_layouts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

namespace fathom::collect::cuda {
namespace {

std::string fixture() {
  std::ifstream in(std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/ptx/kernels.sm_90.cubin",
                   std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Changes a byte of each description of a parameter of 4 bytes at offset 20, position 3, as
/// saxpy's last one is.
std::string changed(std::string cubin, size_t byte, char value) {
  const std::string described{"\x04\x17\x0c\x00\x00\x00\x00\x00\x03\x00\x14\x00", 12};
  for (size_t at = 0; (at = cubin.find(described, at)) != cubin.npos;) cubin[at + byte] = value;
  return cubin;
}

TEST(ParameterLayouts, SayWhereEachParameterLies) {
  const std::string cubin = fixture();
  ParameterLayouts layouts;
  layouts.learn(cubin.data(), cubin.size());
  const uint32_t saxpy = layouts.find("saxpy");
  ASSERT_NE(saxpy, ParameterLayouts::kAbsent);
  const auto& parameters = layouts.at(saxpy).parameters;
  ASSERT_EQ(parameters.size(), 4u);
  const std::pair<int, int> expected[] = {{0, 8}, {8, 8}, {16, 4}, {20, 4}};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(parameters[i].offset, expected[i].first) << i;
    EXPECT_EQ(parameters[i].size, expected[i].second) << i;
  }
  EXPECT_EQ(layouts.find("absent"), ParameterLayouts::kAbsent);
}

TEST(ParameterLayouts, AKernelThatTwoBinariesDescribeDifferentlyIsNotKnown) {
  std::string cubin = fixture();
  ParameterLayouts layouts;
  layouts.learn(cubin.data(), cubin.size());
  layouts.learn(cubin.data(), cubin.size());
  EXPECT_NE(layouts.find("saxpy"), ParameterLayouts::kAbsent) << "the same twice";
  cubin = changed(cubin, 10, 0x18);  // the offset
  layouts.learn(cubin.data(), cubin.size());
  EXPECT_EQ(layouts.find("saxpy"), ParameterLayouts::kAbsent);
  EXPECT_NE(layouts.find("long_chain"), ParameterLayouts::kAbsent);
}

TEST(ParameterLayouts, AParameterThatNobodyDescribesMakesTheKernelUnknown) {
  // Its position: now there is none with number 3.
  const std::string cubin = changed(fixture(), 8, 4);
  ParameterLayouts layouts;
  layouts.learn(cubin.data(), cubin.size());
  EXPECT_EQ(layouts.find("saxpy"), ParameterLayouts::kAbsent);
}

TEST(ParameterLayouts, DamagedBinariesAreSurvived) {
  const std::string whole = fixture();
  std::mt19937 random(1);
  ParameterLayouts().learn(nullptr, 100);
  ParameterLayouts().learn("", 0);
  int understood = 0;
  for (int i = 0; i < 2000; ++i) {
    std::string cubin = whole;
    if (i % 2) cubin.resize(random() % cubin.size());
    // Half of the changes go to the headers, where offsets and sizes are.
    for (int k = 0; k < 8 && !cubin.empty(); ++k) {
      const size_t tail = std::min<size_t>(cubin.size(), 4096);
      const size_t at = k % 2 ? random() % cubin.size() : cubin.size() - 1 - random() % tail;
      cubin[at] = static_cast<char>(random());
    }
    ParameterLayouts layouts;
    layouts.learn(cubin.data(), cubin.size());
    const uint32_t saxpy = layouts.find("saxpy");
    if (saxpy == ParameterLayouts::kAbsent) continue;
    ++understood;
    for (const auto& each : layouts.at(saxpy).parameters)
      EXPECT_LE(each.offset + each.size, int{ParameterLayouts::kMostBytes});
  }
  EXPECT_GT(understood, 100) << "damage elsewhere costs nothing";
}

}  // namespace
}  // namespace fathom::collect::cuda
