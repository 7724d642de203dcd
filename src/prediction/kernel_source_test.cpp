#include "prediction/kernel_source.h"

#include <gtest/gtest.h>

#include <bit>

#include "prediction/testing.h"

namespace fathom {
namespace {

TEST(KernelSource, ReadsNamesOfParametersFromTheSource) {
  const std::string source =
      "void helper(int x);\ntemplate <int kTile>\n__global__ void __launch_bounds__(256)\n"
      "  scale(const float* __restrict__ in, float (*out)[4], std::pair<int, int> shape,\n"
      "        const int n = 3) {}\nint main() { scale<<<1, 2>>>(a, b); }\n";
  EXPECT_EQ(parameter_names(source, "scale"),
            (std::vector<std::string>{"in", "out", "shape", "n"}));
  EXPECT_TRUE(parameter_names(source, "helper").empty()) << "not a kernel";
  EXPECT_TRUE(parameter_names(source, "absent").empty());
  EXPECT_TRUE(parameter_names("__global__ void cut(int a", "cut").empty());
}

TEST(KernelSource, ArgumentsGoByNameAndPosition) {
  std::vector<Parameter> parameters{
      {"x", 0, 8, false, {}}, {"a", 8, 4, true, {}}, {"n", 12, 4, false, {}}};
  ASSERT_TRUE(apply_arguments({{"n", "-3"}, {"1", "2"}, {"0", "0x10"}}, parameters).ok());
  EXPECT_EQ(*parameters[2].value, 0xfffffffdu);
  EXPECT_EQ(std::bit_cast<float>(static_cast<uint32_t>(*parameters[1].value)), 2.0f);
  EXPECT_EQ(*parameters[0].value, 16u);
  const auto message = [&](const char* key, const char* text) {
    const auto done = apply_arguments({{key, text}}, parameters);
    return done.ok() ? "" : done.error().message();
  };
  EXPECT_NE(message("m", "1").find("no argument \"m\"; there are 0 (x), 1 (a), 2 (n)"),
            std::string::npos);
  EXPECT_NE(message("7", "1").find("no argument \"7\""), std::string::npos);
  EXPECT_NE(message("n", "many").find("\"many\" is no number"), std::string::npos);
  EXPECT_NE(message("n", "3x").find("no number"), std::string::npos);
}

TEST(KernelSource, ParametersAreReadInParts) {
  std::vector<Parameter> list{
      {"p", 0, 8, false, {}}, {"n", 8, 4, false, 7}, {"m", 12, 4, false, 9}};
  ParameterBlock block(list, 1000);
  EXPECT_EQ(block.read(8, 8), 7ull | 9ull << 32);
  EXPECT_EQ(block.read(0, 8) & ((uint64_t{1} << kBufferShift) - 1), 0u) << "a buffer starts there";
  EXPECT_NE(block.read(0, 8), 0u);
  EXPECT_EQ(block.read(4, 4), block.read(0, 8) >> 32);
  EXPECT_TRUE(block.guessed().empty());
  list[1].value.reset();
  ParameterBlock guessing(list, 1000);
  EXPECT_EQ(guessing.read(8, 4), 1000u);
  EXPECT_EQ(guessing.guessed(), std::vector<size_t>{1});
}

TEST(KernelSource, FindsKernelsByName) {
  SourceOptions options;
  options.arch = "sm_90";
  options.ptxas = "none";
  const auto all = open_kernels(test::ptx_fixture("kernels.ptx"), options);
  ASSERT_TRUE(all.ok());
  EXPECT_EQ(all->kernels.size(), 7u);
  EXPECT_EQ(all->parameters("saxpy").at(3).name, "n")
      << "the source lies beside, but is not where the PTX says";
  options.kernel = "sum";
  EXPECT_EQ(open_kernels(test::ptx_fixture("kernels.ptx"), options)->kernels.size(), 3u);
  options.kernel = "absent";
  const auto none = open_kernels(test::ptx_fixture("kernels.sm_90.cubin"), options);
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().message().find("no kernel is called \"absent\"; there are"),
            std::string::npos);
  EXPECT_FALSE(open_kernels("/does/not/exist.ptx", options).ok());
  options.arch = "sm_70";
  const auto other = open_kernels(test::ptx_fixture("kernels.sm_90.cubin"), options);
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().message().find("no code for sm_70"), std::string::npos);
}

}  // namespace
}  // namespace fathom
