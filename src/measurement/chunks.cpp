#include "measurement/chunks.h"

#include <cstring>

#include "base/result.h"
#include "record/crc32c.h"

namespace fathom {
namespace {

constexpr char kNoChunk[] = "no chunk begins here";
constexpr char kImpossibleSize[] = "a chunk of an impossible size";
constexpr char kBeyondEnd[] = "a chunk that reaches beyond the end of the file";
constexpr char kWrongChecksum[] = "a chunk whose checksum does not hold";
constexpr char kCut[] = "the file is cut in the middle of a chunk";
constexpr char kGivenUp[] = "too much damage to look for further chunks";

/// Enough for a file in which each chunk is damaged, with room for false headers.
constexpr uint64_t kVainPasses = 4;

}  // namespace

ChunkReader::ChunkReader(Bytes file) : file_(file), budget_(kVainPasses * file.size()) {}

ChunkReader::Attempt ChunkReader::chunk_at(size_t offset) {
  record::ChunkHeader header;
  const uint8_t* at = file_.data() + offset;
  size_t left = file_.size() - offset;
  if (left < sizeof header) {
    size_t known = left < sizeof header.magic ? left : sizeof header.magic;
    bool begins = std::memcmp(at, &record::kChunkMagic, known) == 0;
    return {std::nullopt, begins ? kBeyondEnd : kNoChunk};
  }
  std::memcpy(&header, at, sizeof header);
  if (header.magic != record::kChunkMagic) return {std::nullopt, kNoChunk};
  if (header.size > record::kMaxChunkPayload) return {std::nullopt, kImpossibleSize};
  if (header.size > left - sizeof header) return {std::nullopt, kBeyondEnd};
  if (record::chunk_checksum(header, at + sizeof header) != header.crc32c) {
    uint64_t cost = sizeof header + header.size;
    budget_ -= cost < budget_ ? cost : budget_;
    return {std::nullopt, kWrongChecksum};
  }
  Chunk chunk{record::ChunkType(header.type), header.version, offset,
              file_.subspan(offset + sizeof header, header.size)};
  return {chunk, nullptr};
}

size_t ChunkReader::find_magic(size_t from) const {
  if (from >= file_.size()) return file_.size();
  const void* found = memmem(file_.data() + from, file_.size() - from, &record::kChunkMagic,
                             sizeof record::kChunkMagic);
  return found ? static_cast<const uint8_t*>(found) - file_.data() : file_.size();
}

std::optional<Chunk> ChunkReader::resynchronise(const char* failure, std::vector<Damage>& damages) {
  size_t start = position_;
  for (size_t at = find_magic(start + 1); at < file_.size(); at = find_magic(at + 1)) {
    if (budget_ == 0) {
      failure = kGivenUp;
      break;
    }
    if (Attempt attempt = chunk_at(at); attempt.chunk) {
      damages.push_back({start, at - start, failure});
      position_ = attempt.chunk->payload_offset() + attempt.chunk->payload.size();
      return attempt.chunk;
    }
  }
  // Only where nothing follows does a chunk beyond the end mean that the file was cut.
  damages.push_back({start, file_.size() - start, failure == kBeyondEnd ? kCut : failure});
  position_ = file_.size();
  return std::nullopt;
}

std::optional<Chunk> ChunkReader::next(std::vector<Damage>& damages) {
  if (position_ == file_.size()) return std::nullopt;
  Attempt attempt = chunk_at(position_);
  if (!attempt.chunk) return resynchronise(attempt.failure, damages);
  position_ = attempt.chunk->payload_offset() + attempt.chunk->payload.size();
  return attempt.chunk;
}

std::vector<Chunk> read_chunks(Bytes file, std::vector<Damage>& damages) {
  std::vector<Chunk> chunks;
  ChunkReader reader(file);
  while (std::optional<Chunk> chunk = reader.next(damages)) chunks.push_back(*chunk);
  return chunks;
}

std::string encode_chunk(record::ChunkType type, std::string_view payload) {
  FATHOM_INVARIANT(payload.size() <= record::kMaxChunkPayload);
  record::ChunkHeader header{record::kChunkMagic, uint16_t(type), record::kFormatVersion,
                             uint32_t(payload.size()), 0};
  header.crc32c = record::chunk_checksum(header, payload.data());
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += payload;
  return bytes;
}

void append_string(std::string& payload, std::string_view text) {
  uint32_t size = uint32_t(text.size());
  payload.append(reinterpret_cast<const char*>(&size), sizeof size);
  payload += text;
}

}  // namespace fathom
