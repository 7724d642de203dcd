#include "attribution/gpu_calls.h"

#include <gtest/gtest.h>

#include "attribution/testing.h"

namespace fathom {
namespace {

AnalyzedFunction named(const std::string& name, const std::string& lines) {
  AnalyzedFunction result = fathom::testing::function(lines);
  result.mangled = name;
  result.binary = "image";
  return result;
}

void calls(AnalyzedFunction& caller, uint32_t instruction, const std::string& callee) {
  caller.instructions[instruction].flow = Flow::call;
  caller.instructions[instruction].target_symbol = callee;
}

void sampled(ProcessSamples& samples, uint32_t function, uint32_t instruction, uint64_t count) {
  samples[{function, 0}][instruction].all[0] += count;
}

// Two kernels call `helper`, the second from two places.
std::vector<AnalyzedFunction> two_kernels() {
  std::vector<AnalyzedFunction> functions;
  functions.push_back(named("first", "NOP\nEXIT"));
  functions.push_back(named("second", "NOP\nNOP\nEXIT"));
  functions.push_back(named("helper", "NOP\nNOP"));
  calls(functions[0], 0, "helper");
  calls(functions[1], 0, "helper");
  calls(functions[1], 1, "helper");
  return functions;
}

TEST(GpuCalls, SamplesOfCallsDivideTheCallee) {
  std::vector<AnalyzedFunction> functions = two_kernels();
  ProcessSamples samples;
  sampled(samples, 0, 0, 5);
  sampled(samples, 1, 0, 10);
  sampled(samples, 2, 1, 90);
  GpuCalls found = find_gpu_calls(functions, samples);
  EXPECT_TRUE(found.is_root[0] && found.is_root[1]);
  EXPECT_FALSE(found.is_root[2]);
  auto fractions = found.fractions();
  EXPECT_DOUBLE_EQ(fractions[2][0], 5.0 / 15);
  EXPECT_DOUBLE_EQ(fractions[2][1], 10.0 / 15);
  EXPECT_DOUBLE_EQ(fractions[0][0], 1);
}

TEST(GpuCalls, WithoutSampledCallsTheSitesShareEvenly) {
  std::vector<AnalyzedFunction> functions = two_kernels();
  ProcessSamples samples;
  sampled(samples, 2, 1, 90);
  auto fractions = find_gpu_calls(functions, samples).fractions();
  EXPECT_DOUBLE_EQ(fractions[2][0], 1.0 / 3);
  EXPECT_DOUBLE_EQ(fractions[2][1], 2.0 / 3);
}

TEST(GpuCalls, MutualRecursionIsOneUnit) {
  std::vector<AnalyzedFunction> functions;
  functions.push_back(named("kernel", "NOP\nEXIT"));
  functions.push_back(named("even", "NOP\nNOP"));
  functions.push_back(named("odd", "NOP\nNOP"));
  calls(functions[0], 0, "even");
  calls(functions[1], 0, "odd");
  calls(functions[2], 0, "even");
  ProcessSamples samples;
  sampled(samples, 1, 1, 7);
  sampled(samples, 2, 1, 3);
  GpuCalls found = find_gpu_calls(functions, samples);
  EXPECT_EQ(found.graph.component[1], found.graph.component[2]);
  auto fractions = found.fractions();
  EXPECT_DOUBLE_EQ(fractions[1][0], 1);
  EXPECT_DOUBLE_EQ(fractions[2][0], 1);
}

TEST(GpuCalls, NothingIsLostOverDeepChains) {
  std::vector<AnalyzedFunction> functions = two_kernels();
  functions.push_back(named("deep", "NOP"));
  calls(functions[2], 0, "deep");
  ProcessSamples samples;
  sampled(samples, 0, 0, 1);
  sampled(samples, 1, 1, 3);
  auto fractions = find_gpu_calls(functions, samples).fractions();
  EXPECT_DOUBLE_EQ(fractions[3][0] + fractions[3][1], 1);
  EXPECT_DOUBLE_EQ(fractions[3][0], 0.25);
}

}  // namespace
}  // namespace fathom
