// sass_differential [--time] CUBIN...: compares the native decoder with nvdisasm's text over whole
// binaries and prints each class of difference; with --time it only decodes natively and says how
// long that took. Ends with 1 where less than 99.99% agree.

#include <chrono>
#include <cstdio>
#include <cstring>
#include <map>

#include "base/files.h"
#include "binary/compare_sources.h"

namespace fathom {
namespace {

Result<GpuBinary> open(const std::string& path) {
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (!bytes) return bytes.error();
  return open_gpu_binary(std::make_shared<const std::vector<uint8_t>>(std::move(*bytes)), path);
}

int time_native(int count, char** paths) {
  size_t instructions = 0, unknown = 0;
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < count; ++i) {
    auto native = native_decoder();
    Result<GpuBinary> binary = open(paths[i]);
    if (!binary) continue;
    for (const GpuSymbol& function : binary->functions) {
      Result<std::vector<Instruction>> decoded = (*native)->decode(*binary, function);
      if (!decoded) continue;
      instructions += decoded->size();
      for (const Instruction& instruction : *decoded) unknown += !instruction.known;
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  std::printf("%zu instructions, %zu unknown, %.3f s\n", instructions, unknown, seconds.count());
  return 0;
}

int compare(int count, char** paths) {
  std::map<std::string, SourceDifferences> by_arch;
  for (int i = 0; i < count; ++i) {
    Result<GpuBinary> binary = open(paths[i]);
    if (!binary) {
      std::fprintf(stderr, "%s\n", binary.error().message().c_str());
      continue;
    }
    auto theirs = nvdisasm_program();
    auto ours = native_decoder();
    Result<Done> done = theirs ? compare_sources(*binary, **theirs, **ours, by_arch[binary->arch])
                               : Result<Done>(theirs.error());
    if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  }
  bool good = !by_arch.empty();
  for (const auto& [arch, differences] : by_arch) {
    std::printf("%s: %s", arch.c_str(), differences.report().c_str());
    if (differences.different * 10000 > differences.instructions) good = false;
  }
  return good ? 0 : 1;
}

}  // namespace
}  // namespace fathom

int main(int argc, char** argv) {
  if (argc > 2 && std::strcmp(argv[1], "--time") == 0)
    return fathom::time_native(argc - 2, argv + 2);
  if (argc < 2) {
    std::fprintf(stderr, "sass_differential [--time] CUBIN...\n");
    return 2;
  }
  return fathom::compare(argc - 1, argv + 1);
}
