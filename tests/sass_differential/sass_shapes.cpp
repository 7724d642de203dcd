// sass_shapes FILE... writes one word of machine code for each shape of instruction and
// architecture that occurs in the cubins of the files, the most frequent first: what
// scripts/learn_sass.py starts from. Raw words on the standard output.

#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/mapped_file.h"
#include "binary/containers.h"
#include "binary/gpu_binary.h"
#include "binary/sass_table.h"

namespace fathom {
namespace {

/// Modifiers, kinds of operands, and whether registers and literals are what has a meaning of its
/// own: all ones, zero.
struct Shape {
  uint64_t opcode_and_facts = 0, modifiers = 0;
  bool operator==(const Shape&) const = default;
};
struct ShapeHash {
  size_t operator()(const Shape& shape) const {
    return shape.opcode_and_facts * 0x9e3779b97f4a7c15 ^ shape.modifiers * 0xc2b2ae3d27d4eb4f;
  }
};

Shape shape_of(const SassWord& word, unsigned compute) {
  uint64_t facts = 0;
  for (unsigned start : {16u, 24u, 32u, 64u}) facts = facts << 1 | (word.bits(start, 8) == 255);
  facts = facts << 1 | (word.bits(32, 32) == 0);
  facts = facts << 1 | (word.bits(40, 24) == 0);
  return {word.bits(0, 12) | facts << 12 | uint64_t{compute} << 32, word.bits(72, 33)};
}

struct Found {
  SassWord word;
  uint64_t count = 0;
};
using Shapes = std::unordered_map<Shape, Found, ShapeHash>;

void add(const GpuImage& image, const std::string& path, Shapes& shapes) {
  auto bytes = unpack(image, path);
  if (!bytes) return;
  Result<GpuBinary> binary = open_gpu_binary(std::move(*bytes), describe(image, path));
  if (!binary) return;
  for (const GpuSymbol& function : binary->functions) {
    ByteReader reader(binary->code(function));
    while (reader.remaining() >= 16) {
      SassWord word;
      word.low = reader.u64();
      word.high = reader.u64();
      Found& found = shapes[shape_of(word, binary->compute)];
      if (found.count++ == 0) found.word = word;
    }
  }
}

void write(const Shapes& shapes) {
  std::vector<Found> all;
  for (const auto& [shape, found] : shapes) all.push_back(found);
  std::sort(all.begin(), all.end(), [](const Found& a, const Found& b) {
    if (a.count != b.count) return a.count > b.count;
    return std::pair(a.word.low, a.word.high) < std::pair(b.word.low, b.word.high);
  });
  for (const Found& found : all) std::fwrite(&found.word, 16, 1, stdout);
}

}  // namespace
}  // namespace fathom

int main(int argc, char** argv) {
  using namespace fathom;
  if (argc < 2) {
    std::fputs("sass_shapes FILE... >WORDS\n", stderr);
    return 2;
  }
  Shapes shapes;
  for (int i = 1; i < argc; ++i) {
    Result<MappedFile> file = MappedFile::open(argv[i]);
    Result<GpuImages> found = file ? list_gpu_images(file->bytes(), argv[i]) : file.error();
    if (!found) {
      std::fprintf(stderr, "%s\n", found.error().message().c_str());
      continue;
    }
    for (const GpuImage& image : found->images) {
      if (image.kind == ImageKind::cubin && !image.encrypted) add(image, argv[i], shapes);
      file->release(image.payload);
    }
    std::fprintf(stderr, "%s: %zu shapes so far\n", argv[i], shapes.size());
  }
  write(shapes);
  return 0;
}
