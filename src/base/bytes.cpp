#include "base/bytes.h"

namespace fathom {

uint64_t ByteReader::uleb128() {
  uint64_t value = 0;
  for (unsigned shift = 0;; shift += 7) {
    uint8_t byte = u8();
    if (failed_) return 0;
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    if (!(byte & 0x80)) return value;
  }
}

int64_t ByteReader::sleb128() {
  uint64_t value = 0;
  unsigned shift = 0;
  uint8_t byte = 0;
  do {
    byte = u8();
    if (failed_) return 0;
    if (shift < 64) value |= uint64_t(byte & 0x7f) << shift;
    shift += 7;
  } while (byte & 0x80);
  if (shift < 64 && (byte & 0x40)) value |= ~uint64_t{0} << shift;
  return static_cast<int64_t>(value);
}

std::string_view ByteReader::c_string() {
  const char* start = reinterpret_cast<const char*>(bytes_.data()) + position_;
  const void* end = remaining() ? std::memchr(start, 0, remaining()) : nullptr;
  if (!end) {
    fail();
    return {};
  }
  std::string_view text(start, static_cast<const char*>(end) - start);
  position_ += text.size() + 1;
  return text;
}

Bytes ByteReader::take(size_t size) {
  if (remaining() < size) {
    fail();
    return {};
  }
  Bytes part = bytes_.subspan(position_, size);
  position_ += size;
  return part;
}

std::optional<Bytes> slice(Bytes bytes, uint64_t offset, uint64_t size) {
  if (offset > bytes.size() || size > bytes.size() - offset) return std::nullopt;
  return bytes.subspan(offset, size);
}

}  // namespace fathom
