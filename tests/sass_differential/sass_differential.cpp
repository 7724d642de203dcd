// The native decoder against nvdisasm over real code; `sass_differential` without arguments says
// how to call it.

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/text.h"
#include "binary/compare_sources.h"
#include "binary/containers.h"

namespace fathom {
namespace {

constexpr char kUsage[] =
    "sass_differential [--arch ARCH] [--most N] [--seed N] FILE...\n"
    "Compares the native decoder with nvdisasm over the cubins in files, libraries and programs, "
    "and prints each\n"
    "class of difference.\n"
    "  --arch ARCH  only images for ARCH\n"
    "  --most N     for each architecture and file, images in random order until N instructions "
    "were compared\n"
    "  --seed N     of that order (1)\n"
    "Ends with 0 where at least 99.99% of each architecture agree, 1 where they do not, 2 for a "
    "wrong call,\n"
    "77 where nvdisasm is missing.\n";

struct Arguments {
  std::string arch;
  uint64_t most = UINT64_MAX, seed = 1;
  std::vector<std::string> files;
};

std::optional<Arguments> parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (!starts_with(word, "--")) {
      arguments.files.push_back(word);
      continue;
    }
    if (++i >= argc) return std::nullopt;
    if (word == "--arch") {
      arguments.arch = argv[i];
    } else if (word == "--most") {
      arguments.most = std::strtoull(argv[i], nullptr, 10);
    } else if (word == "--seed") {
      arguments.seed = std::strtoull(argv[i], nullptr, 10);
    } else {
      return std::nullopt;
    }
  }
  if (arguments.files.empty()) return std::nullopt;
  return arguments;
}

using ByArchitecture = std::map<std::string, SourceDifferences>;

Result<Done> compare_image(const GpuImage& image, const std::string& path,
                           ByArchitecture& differences) {
  auto bytes = unpack(image, path);
  if (!bytes) return bytes.error();
  Result<GpuBinary> binary = open_gpu_binary(std::move(*bytes), describe(image, path));
  if (!binary) return binary.error();
  if (binary->functions.empty()) return Done{};
  auto theirs = nvdisasm_program();
  if (!theirs) return theirs.error();
  return compare_sources(*binary, **theirs, *native_decoder(), differences[image.arch]);
}

Result<Done> compare_file(const std::string& path, const Arguments& arguments,
                          ByArchitecture& differences) {
  Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.error();
  Result<GpuImages> found = list_gpu_images(file->bytes(), path);
  if (!found) return found.error();
  std::shuffle(found->images.begin(), found->images.end(), std::mt19937_64(arguments.seed));
  std::map<std::string, uint64_t> enough;
  for (const GpuImage& image : found->images) {
    if (image.kind != ImageKind::cubin || image.encrypted) continue;
    if (!arguments.arch.empty() && image.arch != arguments.arch) continue;
    const uint64_t before = differences[image.arch].instructions;
    uint64_t& most =
        enough.try_emplace(image.arch, before + std::min(arguments.most, UINT64_MAX - before))
            .first->second;
    if (before >= most) continue;
    Result<Done> done = compare_image(image, path, differences);
    if (!done) std::fprintf(stderr, "%s\n", done.error().message().c_str());
  }
  return Done{};
}

int run(const Arguments& arguments) {
  if (!find_nvdisasm()) {
    std::fprintf(stderr, "nvdisasm is not installed: nothing was compared\n");
    return 77;
  }
  ByArchitecture by_arch;
  for (const std::string& path : arguments.files)
    if (Result<Done> done = compare_file(path, arguments, by_arch); !done)
      std::fprintf(stderr, "%s\n", done.error().message().c_str());
  uint64_t instructions = 0, different = 0;
  bool good = true;
  for (const auto& [arch, differences] : by_arch) {
    if (differences.instructions == 0) continue;
    std::printf("%s: %s", arch.c_str(), differences.report().c_str());
    instructions += differences.instructions;
    different += differences.different;
    good = good && differences.different * 10000 <= differences.instructions;
  }
  std::printf("total: %s instructions, %s differ\n", human_count(instructions).c_str(),
              human_count(different).c_str());
  return good && instructions > 0 ? 0 : 1;
}

}  // namespace
}  // namespace fathom

int main(int argc, char** argv) {
  const auto arguments = fathom::parse(argc, argv);
  if (!arguments) {
    std::fputs(fathom::kUsage, stderr);
    return 2;
  }
  return fathom::run(*arguments);
}
