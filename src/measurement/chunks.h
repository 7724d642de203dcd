#pragma once
// The chunks of one record file, given as bytes. Knows chunks and damage, not what records mean.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "record/layout.h"

namespace fathom {

/// A whole chunk: its checksum holds. Type and version may still be unknown ones.
struct Chunk {
  record::ChunkType type = {};
  uint16_t version = 0;
  uint64_t offset = 0;  ///< of its header in the file
  Bytes payload;

  uint64_t payload_offset() const { return offset + sizeof(record::ChunkHeader); }
};

/// Bytes of a file that are no whole chunk and were passed over.
struct Damage {
  uint64_t offset = 0, size = 0;
  const char* what = "";  ///< one clause; always one of a few literals
};

/// Walks over the chunks of a file. After damage it goes on at the next header whose checksum
/// holds. Its work is linear in the file's size, whatever the bytes are: when too many checksums of
/// false headers had to be computed, it gives the rest of the file up as damage.
class ChunkReader {
 public:
  explicit ChunkReader(Bytes file);

  /// The next whole chunk; nothing at the end of the file. Damage passed over on the way is
  /// appended to `damages`.
  std::optional<Chunk> next(std::vector<Damage>& damages);

 private:
  struct Attempt {
    std::optional<Chunk> chunk;
    const char* failure = nullptr;
  };
  Attempt chunk_at(size_t offset);
  size_t find_magic(size_t from) const;
  std::optional<Chunk> resynchronise(const char* failure, std::vector<Damage>& damages);

  Bytes file_;
  size_t position_ = 0;
  uint64_t budget_;  ///< bytes that may still be checksummed in vain
};

/// All chunks of a file.
std::vector<Chunk> read_chunks(Bytes file, std::vector<Damage>& damages);

/// The bytes of one chunk, header included. `payload` is at most record::kMaxChunkPayload.
std::string encode_chunk(record::ChunkType type, std::string_view payload);
/// The strings of a text record, as they follow its struct.
void append_string(std::string& payload, std::string_view text);

}  // namespace fathom
