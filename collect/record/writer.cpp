#include "record/writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "record/crc32c.h"

namespace fathom::record {

bool ChunkWriter::open(const std::string& path, bool append) {
  const int how = append ? O_APPEND : O_EXCL;
  do {
    file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | how, 0666);
  } while (file_ < 0 && errno == EINTR);
  if (file_ < 0) {
    fail(errno);
    return false;
  }
  struct stat status;
  whole_ = fstat(file_, &status) == 0 ? static_cast<uint64_t>(status.st_size) : 0;
  return true;
}

void ChunkWriter::append(ChunkType type, const void* record, size_t size,
                         std::initializer_list<std::string_view> strings) {
  if (file_ < 0) return;
  auto& buffer = pending_[static_cast<size_t>(type)];
  if (buffer.empty()) buffer.resize(sizeof(ChunkHeader));
  const auto put = [&buffer](const void* data, size_t bytes) {
    const auto* from = static_cast<const uint8_t*>(data);
    buffer.insert(buffer.end(), from, from + bytes);
  };
  put(record, size);
  for (const auto& text : strings) {
    const auto length = static_cast<uint32_t>(std::min(text.size(), kMaxString));
    put(&length, sizeof length);
    put(text.data(), length);
  }
  if (buffer.size() >= kFlushBytes) flush();
}

void ChunkWriter::flush() {
  const int saved = errno;
  for (size_t type = 0; type < kTypes && file_ >= 0; ++type) {
    auto& buffer = pending_[type];
    if (buffer.size() <= sizeof(ChunkHeader)) continue;
    ChunkHeader header{kChunkMagic, static_cast<uint16_t>(type), kFormatVersion,
                       static_cast<uint32_t>(buffer.size() - sizeof(ChunkHeader)), 0};
    header.crc32c = chunk_checksum(header, buffer.data() + sizeof header);
    std::memcpy(buffer.data(), &header, sizeof header);
    if (write_all(buffer.data(), buffer.size())) whole_ += buffer.size();
    buffer.clear();
  }
  errno = saved;
}

bool ChunkWriter::write_all(const void* data, size_t size) {
  const auto* at = static_cast<const uint8_t*>(data);
  while (size > 0) {
    const ssize_t written = ::write(file_, at, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      fail(written < 0 ? errno : ENOSPC);
      return false;
    }
    at += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

void ChunkWriter::fail(int error) {
  if (error_ == 0) error_ = error;
  if (file_ < 0) return;
  if (ftruncate(file_, static_cast<off_t>(whole_)) != 0) {
    // A pipe or a file system that is gone: readers take the whole chunks before the cut one.
  }
  abandon();
}

void ChunkWriter::close() {
  flush();
  abandon();
}

void ChunkWriter::abandon() {
  if (file_ >= 0) ::close(file_);
  file_ = -1;
  for (auto& buffer : pending_) buffer = {};
}

}  // namespace fathom::record
