#include "binary/containers.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <map>

#include "base/files.h"
#include "base/mapped_file.h"
#include "base/text.h"
#include "binary/test_support.h"

namespace fathom {
namespace {

using Buffer = std::vector<uint8_t>;

std::string fatbin_path(const std::string& name) {
  return std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/fatbin/" + name;
}

Buffer fatbin_fixture(const std::string& name) {
  Result<Buffer> bytes = read_file(fatbin_path(name));
  FATHOM_INVARIANT(bytes.ok());
  return std::move(*bytes);
}

GpuImages list(Bytes bytes) {
  Result<GpuImages> found = list_gpu_images(bytes, "some file");
  FATHOM_INVARIANT(found.ok());
  return std::move(*found);
}

std::string complaint(Bytes bytes) {
  Result<GpuImages> found = list_gpu_images(bytes, "some file");
  return found ? "it opened" : found.error().message();
}

Buffer unpacked(const GpuImage& image) {
  Result<std::shared_ptr<const Buffer>> bytes = unpack(image, "some file");
  FATHOM_INVARIANT(bytes.ok());
  return **bytes;
}

template <class T>
void put(Buffer& bytes, size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

constexpr size_t kFirstEntry = 16;  // in a fat binary
constexpr size_t kKind = 0, kHeaderSize = 4, kPayloadSize = 8, kArch = 28, kFlags = 40,
                 kUnpackedSize = 56;  // in an entry

/// An ELF program with sections of one content, one after the other or all over the same bytes.
Buffer program_with(const Buffer& data, const std::string& name, uint64_t flags = 2,
                    uint16_t sections = 1) {
  const uint16_t count = sections + 2;
  const std::string names = std::string(1, '\0') + name + '\0';
  Buffer file(64 + count * 64 + names.size() + 64);
  const size_t names_at = 64 + count * 64, data_at = (names_at + names.size() + 7) / 8 * 8;
  file.resize(data_at);
  const uint8_t ident[] = {0x7f, 'E', 'L', 'F', 2, 1, 1};
  std::copy(std::begin(ident), std::end(ident), file.begin());
  put<uint16_t>(file, 18, 62);
  put<uint64_t>(file, 40, 64);
  put<uint16_t>(file, 58, 64);
  put<uint16_t>(file, 60, count);
  put<uint16_t>(file, 62, count - 1);
  std::copy(names.begin(), names.end(), file.begin() + names_at);
  for (uint16_t i = 1; i < count; ++i) {
    const bool is_names = i + 1 == count;
    const size_t header = 64 + i * 64;
    put<uint32_t>(file, header, is_names ? 0 : 1);
    put<uint32_t>(file, header + 4, 1);
    put<uint64_t>(file, header + 8, is_names ? 0 : flags);
    put<uint64_t>(file, header + 24, is_names ? names_at : data_at);
    put<uint64_t>(file, header + 32, is_names ? names.size() : data.size());
  }
  file.insert(file.end(), data.begin(), data.end());
  return file;
}

void add_member(Buffer& archive, std::string name, const Buffer& data) {
  name.resize(48, ' ');
  std::string header = name + format("%-10zu`\n", data.size());
  archive.insert(archive.end(), header.begin(), header.end());
  archive.insert(archive.end(), data.begin(), data.end());
  if (data.size() % 2) archive.push_back('\n');
}

std::string listing(const std::string& file) {
  Buffer bytes = fatbin_fixture(file);
  std::string text = file + "\n";
  for (const GpuImage& image : list(bytes).images)
    text += format("  %u %s %s, %llu bytes, %zu stored, %s%s%s%s%s\n", image.index,
                   name_of(image.kind), image.arch.c_str(), (unsigned long long)image.size,
                   image.payload.size(), name_of(image.compression),
                   image.encrypted ? ", encrypted" : "", image.has_debug ? ", debug" : "",
                   image.place.empty() ? "" : ", in ", image.place.c_str());
  return text;
}

TEST(Containers, ListingOfEachKindOfFile) {
  std::string text;
  for (const char* file :
       {"none.fatbin", "lz4.fatbin", "zstd.fatbin", "lto.fatbin", "relocatable.o", "library.so"})
    text += listing(file);
  const std::string path = fatbin_path("listing.txt");
  if (std::getenv("FATHOM_REGENERATE")) {
    ASSERT_TRUE(write_file(path, text).ok());
  }
  EXPECT_EQ(text, *read_text_file(path)) << "tests/fixtures/fatbin/regenerate.sh writes it anew";
}

TEST(Containers, EachCompressionHoldsTheSameCubin) {
  Buffer none = fatbin_fixture("none.fatbin"), lz4 = fatbin_fixture("lz4.fatbin"),
         zstd = fatbin_fixture("zstd.fatbin"), library = fatbin_fixture("library.so");
  const Buffer cubin = unpacked(list(none).images[0]);
  for (const Buffer* file : {&lz4, &zstd, &library}) {
    GpuImages found = list(*file);
    EXPECT_EQ(unpacked(found.images[0]), cubin);
    auto bytes = std::make_shared<const Buffer>(unpacked(found.images[1]));
    Result<GpuBinary> binary = open_gpu_binary(bytes, "image 2");
    ASSERT_TRUE(binary.ok()) << binary.error().message();
    EXPECT_EQ(binary->arch, found.images[1].arch);
    EXPECT_NE(binary->find("sum"), nullptr);
    EXPECT_NE(as_text(unpacked(found.images[2])).find(".target sm_90a"), std::string::npos);
  }
}

TEST(Containers, ACubinIsItsOwnImage) {
  Buffer cubin = *fixture_bytes("tiny.sm_90.cubin");
  GpuImages found = list(cubin);
  ASSERT_EQ(found.images.size(), 1u);
  EXPECT_EQ(found.images[0].arch, "sm_90");
  EXPECT_EQ(unpacked(found.images[0]), cubin);
}

TEST(Containers, FatBinariesMayFollowEachOtherWithGaps) {
  Buffer one = fatbin_fixture("zstd.fatbin"), file = one;
  file.resize(file.size() + 24);
  file.insert(file.end(), one.begin(), one.end());
  EXPECT_EQ(list(file).images.size(), 2 * list(one).images.size());
  EXPECT_TRUE(list(file).problems.empty());
}

TEST(Containers, SectionsOfOtherNamesAreSearchedAsWell) {
  Buffer data(12);
  Buffer fatbin = fatbin_fixture("lz4.fatbin"), cubin = *fixture_bytes("tiny.sm_90.cubin");
  data.insert(data.end(), fatbin.begin(), fatbin.end());
  data.insert(data.end(), cubin.begin(), cubin.end());
  data.resize(data.size() + 20);
  Buffer program = program_with(data, ".rodata");
  GpuImages found = list(program);
  ASSERT_EQ(found.images.size(), 4u);
  EXPECT_EQ(found.images[3].place, ".rodata");
  EXPECT_EQ(unpacked(found.images[3]), cubin);
  EXPECT_EQ(found.images[0].payload.data(), program.data() + found.images[0].offset);
  EXPECT_TRUE(list(program_with(data, ".text", 2 | 4)).images.empty());
}

TEST(Containers, SectionsOverTheSameBytesAreReadOnce) {
  Buffer data = fatbin_fixture("zstd.fatbin");
  EXPECT_EQ(list(program_with(data, ".nv_fatbin", 2, 1000)).images.size(), 3u);
}

TEST(Containers, MembersOfAnArchiveAreNamed) {
  const std::string start = "!<arch>\n";
  Buffer archive(start.begin(), start.end());
  const std::string names = "a_name_longer_than_sixteen.o/\n";
  add_member(archive, "/", Buffer(7));
  add_member(archive, "//", Buffer(names.begin(), names.end()));
  add_member(archive, "text.txt/", {'h', 'e', 'l', 'l', 'o'});
  add_member(archive, "/0", fatbin_fixture("relocatable.o"));
  add_member(archive, "last.o/", fatbin_fixture("library.so"));
  GpuImages found = list(archive);
  ASSERT_EQ(found.images.size(), 6u);
  EXPECT_EQ(found.images[0].place, "a_name_longer_than_sixteen.o: __nv_relfatbin");
  EXPECT_EQ(found.images[5].place, "last.o: .nv_fatbin");
  EXPECT_EQ(found.images[5].index, 6u);
  archive.pop_back();
  archive.pop_back();
  EXPECT_NE(complaint(archive).find("a member reaches beyond the file"), std::string::npos);
}

TEST(Containers, ErrorsSayWhatWasFound) {
  auto text = [](std::string_view what) { return Buffer(what.begin(), what.end()); };
  EXPECT_NE(complaint({}).find("the file is empty"), std::string::npos);
  EXPECT_NE(complaint(text("hello")).find("starts with 68656c6c"), std::string::npos);
  EXPECT_NE(complaint(text("//\n.version 8.0")).find("PTX"), std::string::npos);
  EXPECT_NE(complaint(text("!<thin>\n")).find("thin archive"), std::string::npos);
  Buffer library = fatbin_fixture("library.so");
  library[4] = 1;
  EXPECT_NE(complaint(library).find("32-bit"), std::string::npos);
  library[4] = 2;
  library.resize(3000);
  EXPECT_NE(complaint(library).find("outside the file"), std::string::npos);
}

TEST(Containers, WhatIsDamagedIsAProblemAndTheRestIsKept) {
  Buffer whole = fatbin_fixture("zstd.fatbin");
  Buffer cut(whole.begin(), whole.end() - 10);
  GpuImages found = list(cut);
  EXPECT_EQ(found.images.size(), 2u);
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].find("cut off"), std::string::npos);
  Buffer damaged = whole;
  put<uint32_t>(damaged, kFirstEntry + kHeaderSize, 8);
  found = list(damaged);
  EXPECT_TRUE(found.images.empty());
  ASSERT_EQ(found.problems.size(), 1u);
  EXPECT_NE(found.problems[0].find("entry 1 of a fat binary"), std::string::npos);
}

std::string unpack_complaint(const Buffer& file, uint64_t limit = kMaxImageSize) {
  Result<std::shared_ptr<const Buffer>> bytes = unpack(list(file).images.at(0), "some file", limit);
  return bytes ? "it was unpacked" : bytes.error().message();
}

TEST(Containers, ImagesThatCannotBeUnpackedSayWhy) {
  Buffer lto = fatbin_fixture("lto.fatbin");
  EXPECT_NE(unpack_complaint(lto).find("some file, image 1 (compute_90): the image is encrypted"),
            std::string::npos);
  Buffer zstd = fatbin_fixture("zstd.fatbin");
  EXPECT_NE(unpack_complaint(zstd, 1000).find("more than the 1000 B"), std::string::npos);
  put<uint64_t>(zstd, kFirstEntry + kUnpackedSize, uint64_t{1} << 60);
  EXPECT_NE(unpack_complaint(zstd).find("more than the"), std::string::npos);
  put<uint64_t>(zstd, kFirstEntry + kUnpackedSize, uint64_t{1} << 31);
  EXPECT_NE(unpack_complaint(zstd).find("2147483648 bytes that its header tells"),
            std::string::npos);
  put<uint64_t>(zstd, kFirstEntry + kFlags, 0x1011);
  EXPECT_NE(unpack_complaint(zstd).find("a way that is not known"), std::string::npos);
}

TEST(Containers, EntriesTellKindAndArchitecture) {
  Buffer file = fatbin_fixture("none.fatbin");
  put<uint64_t>(file, kFirstEntry + kFlags, 0x200013);
  put<uint32_t>(file, kFirstEntry + kArch, 100);
  GpuImage image = list(file).images.at(0);
  EXPECT_EQ(image.arch, "sm_100f");
  EXPECT_TRUE(image.has_debug);
  EXPECT_TRUE(image.is_64_bit);
  put<uint16_t>(file, kFirstEntry + kKind, 128);
  EXPECT_EQ(list(file).images.at(0).kind, ImageKind::tile_ir);
  put<uint16_t>(file, kFirstEntry + kKind, 999);
  EXPECT_EQ(list(file).images.at(0).kind, ImageKind::other);
}

/// Whatever happens to a file, listing and unpacking end with a result or an error.
void try_everything(const Buffer& file) {
  Result<GpuImages> found = list_gpu_images(file, "some file");
  if (!found) return;
  for (const GpuImage& image : found->images) {
    ASSERT_LE(image.offset + image.payload.size(), file.size());
    Result<std::shared_ptr<const Buffer>> bytes = unpack(image, "some file", 1 << 20);
    if (bytes) {
      EXPECT_EQ((*bytes)->size(), image.size);
    }
  }
}

class DamagedFile : public testing::TestWithParam<const char*> {};

TEST_P(DamagedFile, IsSurvivedAtEveryByte) {
  const Buffer whole = fatbin_fixture(GetParam());
  for (size_t i = 0; i < whole.size(); ++i) {
    for (uint8_t flip : flips_of(i)) {
      Buffer file = whole;
      file[i] ^= flip;
      try_everything(file);
    }
  }
}

TEST_P(DamagedFile, IsSurvivedAtEveryLength) {
  const Buffer whole = fatbin_fixture(GetParam());
  for (size_t size = 0; size < whole.size(); ++size)
    try_everything(Buffer(whole.begin(), whole.begin() + size));
}

INSTANTIATE_TEST_SUITE_P(Fixtures, DamagedFile,
                         testing::Values("none.fatbin", "lz4.fatbin", "zstd.fatbin", "lto.fatbin",
                                         "relocatable.o", "library.so"));

using Counts = std::map<std::string, size_t>;

/// cuobjdump looks into one section, and does not tell code for a family from other code.
Counts counts_in(const GpuImages& found, const std::string& place) {
  Counts counts;
  for (const GpuImage& image : found.images) {
    if (image.kind != ImageKind::cubin || !ends_with(image.place, place)) continue;
    ++counts[ends_with(image.arch, "f") ? image.arch.substr(0, image.arch.size() - 1) : image.arch];
  }
  return counts;
}

/// "ELF file    1: libfoo.so.1.sm_90a.cubin"
Counts counts_by(const std::string& cuobjdump, const std::string& library) {
  Counts counts;
  Result<std::string> text = run_program({cuobjdump, "-lelf", library});
  EXPECT_TRUE(text.ok()) << text.error().message();
  if (!text) return counts;
  for (std::string_view line : split(*text, '\n')) {
    const size_t arch = line.rfind(".sm_"), end = line.rfind(".cubin");
    if (arch != line.npos && end != line.npos)
      ++counts[std::string(line.substr(arch + 1, end - arch - 1))];
  }
  return counts;
}

/// It comes with nvdisasm.
std::string find_cuobjdump() {
  if (std::optional<std::string> program = find_on_path("cuobjdump")) return *program;
  std::string nvdisasm = find_nvdisasm().value_or("");
  std::string program = nvdisasm.substr(0, nvdisasm.rfind('/') + 1) + "cuobjdump";
  return is_regular_file(program) ? program : "";
}

/// FATHOM_TEST_LIBRARIES (paths with colons between) adds libraries.
TEST(ContainersOracle, FindsAsManyImagesForEachArchitectureAsCuobjdump) {
  const std::string cuobjdump = find_cuobjdump();
  if (cuobjdump.empty()) GTEST_SKIP() << "needs cuobjdump: pip install nvidia-cuda-cuobjdump";
  std::vector<std::string> libraries;
  for (const char* name : {"libcublasLt.so.13", "libcurand.so.10", "libcusparse.so.12"})
    libraries.push_back(std::string("/usr/local/cuda/lib64/") + name);
  std::erase_if(libraries, [](const std::string& path) { return !is_regular_file(path); });
  if (const char* more = std::getenv("FATHOM_TEST_LIBRARIES"))
    for (std::string_view path : split(more, ':')) libraries.emplace_back(path);
  if (libraries.empty()) GTEST_SKIP() << "needs CUDA's libraries in /usr/local/cuda/lib64";
  for (const std::string& library : libraries) {
    Result<MappedFile> file = MappedFile::open(library);
    ASSERT_TRUE(file.ok()) << file.error().message();
    GpuImages found = list(file->bytes());
    EXPECT_TRUE(found.problems.empty()) << library;
    EXPECT_EQ(counts_in(found, ".nv_fatbin"), counts_by(cuobjdump, library)) << library;
  }
}

}  // namespace
}  // namespace fathom
