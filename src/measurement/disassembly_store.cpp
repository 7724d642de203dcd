#include "measurement/disassembly_store.h"

#include <charconv>

#include "base/files.h"
#include "base/text.h"
#include "measurement/records.h"

namespace fathom {
namespace {

bool parse_sha256(const std::string& text, record::Disassembly& record) {
  if (text.size() != 2 * sizeof record.sha256) return false;
  for (size_t i = 0; i < sizeof record.sha256; ++i) {
    const char* digits = text.data() + 2 * i;
    if (std::from_chars(digits, digits + 2, record.sha256[i], 16).ptr != digits + 2) return false;
  }
  return hex(record.sha256, sizeof record.sha256) == text;
}

}  // namespace

Result<Done> store_disassembly(const std::string& measurement_directory, const std::string& sha256,
                               const StoredDisassembly& disassembly) {
  record::Disassembly record;
  if (!parse_sha256(sha256, record))
    return Error{ErrorKind::usage, "not a SHA-256 in lower-case hexadecimal", sha256, ""};
  std::string path = measurement_directory + "/gpubins/" + sha256 + ".fathom";
  size_t size =
      sizeof record + 2 * sizeof(uint32_t) + disassembly.tool.size() + disassembly.text.size();
  if (size > record::kMaxChunkPayload)
    return Error{ErrorKind::cannot_answer,
                 format("a disassembly of %s is too long to keep",
                        human_bytes(double(disassembly.text.size())).c_str()),
                 path, "the analysis makes it anew each time"};
  std::string payload(reinterpret_cast<const char*>(&record), sizeof record);
  append_string(payload, disassembly.tool);
  append_string(payload, disassembly.text);
  return write_file(path, encode_chunk(record::ChunkType::disassembly, payload));
}

std::optional<StoredDisassembly> read_disassembly(const std::string& file,
                                                  const std::string& sha256, Bytes bytes,
                                                  std::vector<Warning>& warnings) {
  std::optional<StoredDisassembly> found;
  Complaints complaints(file);
  std::vector<Damage> damages;
  std::vector<Chunk> chunks = read_chunks(bytes, damages);
  for (const Damage& damage : damages) complaints.add(damage);
  auto use = [&](const record::Disassembly& record,
                 const Strings<record::Disassembly>& strings) -> const char* {
    if (hex(record.sha256, sizeof record.sha256) != sha256)
      return "the disassembly of another binary: left out";
    if (found) return "a second disassembly: left out";
    found = {std::string(strings[0]), std::string(strings[1])};
    return nullptr;
  };
  for (const Chunk& chunk : chunks) {
    if (!is_known_version(chunk, complaints)) continue;
    if (chunk.type == record::ChunkType::disassembly)
      for_each_record<record::Disassembly>(chunk, complaints, use);
    else
      note_unknown_type(chunk, complaints);
  }
  if (bytes.empty()) complaints.add("an empty file: it holds no disassembly", 0);
  complaints.report(warnings);
  return found;
}

}  // namespace fathom
