// How long advice takes for a large program: the kernels of tests/fixtures/h200-samples again and
// again, until there are 200 with 100,000 sampled instructions.

#include <chrono>
#include <cstdio>

#include "advice/advice.h"
#include "views/advice.h"

using namespace fathom;

namespace {

constexpr size_t kKernels = 200, kInstructions = 100000;

/// A kernel with its functions once more.
void repeat(const Attribution& from, uint32_t kernel, size_t number, Attribution& to) {
  Profile& profile = to.profile;
  KernelSummary copy = from.profile.kernels[kernel];
  copy.name += " #" + std::to_string(number);
  copy.launch_contexts.clear();
  std::vector<FunctionShare> shares;
  for (FunctionShare share : from.kernel_functions[kernel]) {
    AnalyzedFunction function = from.functions[share.function];
    auto first = from.profile.instructions.begin() + function.first_instruction;
    auto first_loop = from.profile.loops.begin() + function.first_loop;
    function.first_instruction = uint32_t(profile.instructions.size());
    function.first_loop = uint32_t(profile.loops.size());
    profile.instructions.insert(profile.instructions.end(), first,
                                first + ptrdiff_t(function.instructions.size()));
    profile.loops.insert(profile.loops.end(), first_loop,
                         first_loop + ptrdiff_t(function.loops.loops.size()));
    shares.push_back({uint32_t(to.functions.size()), share.fraction});
    to.functions.push_back(std::move(function));
  }
  profile.kernels.push_back(copy);
  to.kernel_functions.push_back(shares);
}

size_t sampled(const Profile& profile) {
  size_t count = 0;
  for (const InstructionFacts& i : profile.instructions) count += i.samples.total() > 0;
  return count;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return std::fprintf(stderr, "usage: %s MEASUREMENT\n", argv[0]), 2;
  Result<Measurement> measurement = read_measurement(argv[1]);
  if (!measurement.ok())
    return std::fprintf(stderr, "%s\n", measurement.error().message().c_str()), 3;
  Result<Attribution> once = attribute(*measurement, {});
  if (!once.ok()) return 3;
  Attribution many;
  many.profile.run = once->profile.run;
  many.profile.devices = once->profile.devices;
  size_t number = 0;
  while (many.profile.kernels.size() < kKernels || sampled(many.profile) < kInstructions) {
    uint32_t kernel = uint32_t(number % once->profile.kernels.size());
    if (!once->kernel_functions[kernel].empty()) repeat(*once, kernel, number, many);
    ++number;
  }
  auto start = std::chrono::steady_clock::now();
  advise(many);
  auto advised = std::chrono::steady_clock::now();
  Result<std::string> text = advice_text(many.profile, {});
  auto printed = std::chrono::steady_clock::now();
  auto seconds = [](auto from, auto to) {
    return std::chrono::duration<double>(to - from).count();
  };
  std::printf("%zu kernels, %zu sampled instructions, %zu findings: advice %.2f s, text %.2f s\n",
              many.profile.kernels.size(), sampled(many.profile), many.profile.findings.size(),
              seconds(start, advised), seconds(advised, printed));
  return text.ok() ? 0 : 1;
}
