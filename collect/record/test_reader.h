#pragma once
// Reads chunk files back, for the collectors' tests. The analysis has its own reader, which also
// copes with damage.

#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "record/crc32c.h"

namespace fathom::record {

struct TestChunk {
  ChunkType type;
  std::vector<uint8_t> payload;
};

struct TestFile {
  std::vector<TestChunk> chunks;
  size_t left_over = 0;  ///< bytes after the last whole chunk
};

inline TestFile read_chunks(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::vector<char> bytes{std::istreambuf_iterator<char>(in), {}};
  TestFile out;
  size_t at = 0;
  ChunkHeader header;
  while (bytes.size() - at >= sizeof header) {
    std::memcpy(&header, bytes.data() + at, sizeof header);
    const auto* payload = bytes.data() + at + sizeof header;
    if (header.magic != kChunkMagic || header.version != kFormatVersion ||
        header.size > bytes.size() - at - sizeof header ||
        header.crc32c != chunk_checksum(header, payload))
      break;
    out.chunks.push_back({static_cast<ChunkType>(header.type), {payload, payload + header.size}});
    at += sizeof header + header.size;
  }
  out.left_over = bytes.size() - at;
  return out;
}

/// All records of a chunk type that holds plain structs.
template <class T>
std::vector<T> records(const TestFile& file, ChunkType type) {
  std::vector<T> out;
  for (const auto& chunk : file.chunks) {
    if (chunk.type != type) continue;
    for (size_t at = 0; at + sizeof(T) <= chunk.payload.size(); at += sizeof(T)) {
      T record;
      std::memcpy(&record, chunk.payload.data() + at, sizeof record);
      out.push_back(record);
    }
  }
  return out;
}

template <class T>
struct TextRecord {
  T record;
  std::vector<std::string> strings;
};

/// All records of a chunk type that holds structs with `count` strings each.
template <class T>
std::vector<TextRecord<T>> text_records(const TestFile& file, ChunkType type, size_t count) {
  std::vector<TextRecord<T>> out;
  for (const auto& chunk : file.chunks) {
    if (chunk.type != type) continue;
    size_t at = 0;
    while (at + sizeof(T) <= chunk.payload.size()) {
      TextRecord<T> text;
      std::memcpy(&text.record, chunk.payload.data() + at, sizeof(T));
      at += sizeof(T);
      for (size_t i = 0; i < count; ++i) {
        uint32_t size = 0;
        std::memcpy(&size, chunk.payload.data() + at, sizeof size);
        at += sizeof size;
        text.strings.emplace_back(reinterpret_cast<const char*>(chunk.payload.data()) + at, size);
        at += size;
      }
      out.push_back(std::move(text));
    }
  }
  return out;
}

}  // namespace fathom::record
