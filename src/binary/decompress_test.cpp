#include "binary/decompress.h"

#include <gtest/gtest.h>
#include <lz4.h>
#include <lz4frame.h>
#include <zstd.h>

namespace fathom {
namespace {

using Buffer = std::vector<uint8_t>;

/// Neither all the same nor without order.
Buffer sample(size_t size) {
  Buffer bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<uint8_t>(i % 251 ^ i / 1000);
  return bytes;
}

Buffer lz4_block(const Buffer& bytes) {
  Buffer packed(LZ4_compressBound(static_cast<int>(bytes.size())));
  packed.resize(LZ4_compress_default(
      reinterpret_cast<const char*>(bytes.data()), reinterpret_cast<char*>(packed.data()),
      static_cast<int>(bytes.size()), static_cast<int>(packed.size())));
  return packed;
}
Buffer lz4_frame(const Buffer& bytes) {
  Buffer packed(LZ4F_compressFrameBound(bytes.size(), nullptr));
  packed.resize(
      LZ4F_compressFrame(packed.data(), packed.size(), bytes.data(), bytes.size(), nullptr));
  return packed;
}
Buffer zstd(const Buffer& bytes) {
  Buffer packed(ZSTD_compressBound(bytes.size()));
  packed.resize(ZSTD_compress(packed.data(), packed.size(), bytes.data(), bytes.size(), 3));
  return packed;
}

struct Scheme {
  Compression compression;
  Buffer (*pack)(const Buffer&);
};
const Scheme kSchemes[] = {{Compression::lz4_block, lz4_block},
                           {Compression::lz4_frame, lz4_frame},
                           {Compression::zstd, zstd}};

TEST(Decompress, GivesBackWhatWasPacked) {
  for (const Scheme& scheme : kSchemes) {
    for (size_t size : {size_t{1}, size_t{4096}, size_t{3000000}}) {
      Buffer bytes = sample(size);
      Result<Buffer> unpacked =
          decompress(scheme.compression, scheme.pack(bytes), size, "some image");
      ASSERT_TRUE(unpacked.ok()) << name_of(scheme.compression) << unpacked.error().message();
      EXPECT_EQ(*unpacked, bytes) << name_of(scheme.compression);
    }
  }
}

TEST(Decompress, GrowsWhereMuchWasPackedIntoLittle) {
  Buffer zeros(50000000);
  for (Compression compression : {Compression::lz4_frame, Compression::zstd}) {
    Buffer packed = compression == Compression::zstd ? zstd(zeros) : lz4_frame(zeros);
    ASSERT_LT(packed.size(), zeros.size() / 200);
    Result<Buffer> unpacked = decompress(compression, packed, zeros.size(), "some image");
    ASSERT_TRUE(unpacked.ok()) << unpacked.error().message();
    EXPECT_EQ(*unpacked, zeros);
  }
}

TEST(Decompress, RefusesAnotherSizeThanTheHeaderTells) {
  Buffer bytes = sample(5000);
  for (const Scheme& scheme : kSchemes) {
    Buffer packed = scheme.pack(bytes);
    for (uint64_t size : {uint64_t{0}, uint64_t{4999}, uint64_t{5001}, uint64_t{1} << 40}) {
      Result<Buffer> unpacked = decompress(scheme.compression, packed, size, "some image");
      ASSERT_FALSE(unpacked.ok()) << name_of(scheme.compression) << " " << size;
      EXPECT_EQ(unpacked.error().where, "some image");
    }
  }
}

TEST(Decompress, EndsOnEveryCutInput) {
  Buffer bytes = sample(700);
  for (const Scheme& scheme : kSchemes) {
    Buffer packed = scheme.pack(bytes);
    for (size_t size = 0; size < packed.size(); ++size) {
      Bytes cut = Bytes(packed).subspan(0, size);
      Result<Buffer> unpacked = decompress(scheme.compression, cut, bytes.size(), "some image");
      EXPECT_FALSE(unpacked.ok()) << name_of(scheme.compression) << " " << size;
    }
  }
}

TEST(Decompress, NamesASchemeThatIsNotKnown) {
  Result<Buffer> unpacked = decompress(Compression::unknown, {}, 0, "some image");
  ASSERT_FALSE(unpacked.ok());
  EXPECT_NE(unpacked.error().message().find("not known"), std::string::npos);
}

}  // namespace
}  // namespace fathom
