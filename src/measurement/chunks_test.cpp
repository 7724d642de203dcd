#include "measurement/chunks.h"

#include <gtest/gtest.h>

#include <cstring>

namespace fathom {
namespace {

using record::ChunkType;

Bytes bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

const std::string kFirst = encode_chunk(ChunkType::string, "the first");
const std::string kSecond = encode_chunk(ChunkType::kernel, "the second one");
const std::string kThird = encode_chunk(ChunkType::message, "");

struct Walk {
  std::vector<std::string> payloads;
  std::vector<Damage> damages;
};
Walk walk(const std::string& file) {
  Walk result;
  for (const Chunk& chunk : read_chunks(bytes_of(file), result.damages))
    result.payloads.emplace_back(as_text(chunk.payload));
  return result;
}
using Payloads = std::vector<std::string>;

TEST(ChunkReader, YieldsEachChunkWithItsTypeAndPlace) {
  std::string file = kFirst + kSecond + kThird;
  std::vector<Damage> damages;
  std::vector<Chunk> chunks = read_chunks(bytes_of(file), damages);
  ASSERT_EQ(chunks.size(), 3u);
  EXPECT_EQ(chunks[1].type, ChunkType::kernel);
  EXPECT_EQ(chunks[1].version, record::kFormatVersion);
  EXPECT_EQ(chunks[1].offset, kFirst.size());
  EXPECT_EQ(as_text(chunks[1].payload), "the second one");
  EXPECT_TRUE(chunks[2].payload.empty());
  EXPECT_TRUE(damages.empty());
}

TEST(ChunkReader, FindsNothingAndNoDamageInAnEmptyFile) {
  Walk result = walk("");
  EXPECT_TRUE(result.payloads.empty());
  EXPECT_TRUE(result.damages.empty());
}

TEST(ChunkReader, PassesOverAChunkWithAWrongChecksum) {
  std::string file = kFirst + kSecond + kThird;
  file[kFirst.size() + 20] ^= 1;
  Walk result = walk(file);
  EXPECT_EQ(result.payloads, (Payloads{"the first", ""}));
  ASSERT_EQ(result.damages.size(), 1u);
  EXPECT_EQ(result.damages[0].offset, kFirst.size());
  EXPECT_EQ(result.damages[0].size, kSecond.size());
  EXPECT_STREQ(result.damages[0].what, "a chunk whose checksum does not hold");
}

TEST(ChunkReader, FindsTheNextChunkWhereASizeIsDamaged) {
  std::string file = kFirst + kSecond + kThird;
  const size_t size_at = offsetof(record::ChunkHeader, size);
  for (int byte = 0; byte < 4; ++byte) {
    std::string damaged = file;
    damaged[size_at + byte] ^= 0x7f;
    Walk result = walk(damaged);
    EXPECT_EQ(result.payloads, (Payloads{"the second one", ""})) << byte;
    ASSERT_EQ(result.damages.size(), 1u) << byte;
    EXPECT_EQ(result.damages[0].size, kFirst.size()) << byte;
  }
}

TEST(ChunkReader, PassesOverForeignBytesBetweenChunks) {
  Walk result = walk("garbage" + kFirst + "FTHM, or not" + kSecond + std::string(100, '\0'));
  EXPECT_EQ(result.payloads, (Payloads{"the first", "the second one"}));
  ASSERT_EQ(result.damages.size(), 3u);
  EXPECT_EQ(result.damages[0].size, 7u);
  EXPECT_STREQ(result.damages[0].what, "no chunk begins here");
  EXPECT_EQ(result.damages[1].offset, 7 + kFirst.size());
  EXPECT_EQ(result.damages[2].size, 100u);
}

TEST(ChunkReader, SaysWhereAFileIsCut) {
  std::string file = kFirst + kSecond;
  for (size_t size = kFirst.size() + 1; size < file.size(); ++size) {
    Walk result = walk(file.substr(0, size));
    EXPECT_EQ(result.payloads, Payloads{"the first"}) << size;
    ASSERT_EQ(result.damages.size(), 1u) << size;
    EXPECT_EQ(result.damages[0].offset, kFirst.size());
    EXPECT_EQ(result.damages[0].size, size - kFirst.size());
    EXPECT_STREQ(result.damages[0].what, "the file is cut in the middle of a chunk");
  }
}

TEST(ChunkReader, YieldsChunksOfUnknownTypesAndVersionsForOthersToJudge) {
  std::string file = encode_chunk(ChunkType(999), "new");
  std::vector<Damage> damages;
  EXPECT_EQ(read_chunks(bytes_of(file), damages).at(0).type, ChunkType(999));
  EXPECT_TRUE(damages.empty());
}

/// Each header claims four megabytes and lies about the checksum: looking at all of them would mean
/// two terabytes.
TEST(ChunkReader, BoundsItsWorkOnAFileFullOfFalseHeaders) {
  constexpr uint32_t kFileSize = 8 << 20;
  record::ChunkHeader header{record::kChunkMagic, 1, record::kFormatVersion, kFileSize / 2, 0};
  std::string file;
  while (file.size() < kFileSize)
    file.append(reinterpret_cast<const char*>(&header), sizeof header);
  Walk result = walk(kFirst + file);
  EXPECT_EQ(result.payloads, Payloads{"the first"});
  ASSERT_EQ(result.damages.size(), 1u);
  EXPECT_EQ(result.damages[0].size, file.size());
  EXPECT_STREQ(result.damages[0].what, "too much damage to look for further chunks");
}

TEST(ChunkReader, SurvivesWhereEachChunkIsDamaged) {
  std::string file;
  for (int i = 0; i < 1000; ++i) {
    std::string chunk = encode_chunk(ChunkType::kernel, std::string(1000, char(i)));
    if (i != 999) chunk[500] ^= 1;
    file += chunk;
  }
  EXPECT_EQ(walk(file).payloads.size(), 1u) << "the last chunk is whole";
}

}  // namespace
}  // namespace fathom
