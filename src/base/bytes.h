#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

namespace fathom {

using Bytes = std::span<const uint8_t>;

/// Reads little-endian data without ever leaving the bytes that it was given. An overrun sets
/// `failed()` and yields zeros from then on, so that a parser can read a whole structure and check
/// once.
class ByteReader {
 public:
  explicit ByteReader(Bytes bytes, size_t position = 0) : bytes_(bytes), position_(position) {
    if (position_ > bytes_.size()) fail();
  }

  template <class T>
  T read() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value{};
    if (remaining() < sizeof(T)) {
      fail();
      return value;
    }
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }
  uint8_t u8() { return read<uint8_t>(); }
  uint16_t u16() { return read<uint16_t>(); }
  uint32_t u32() { return read<uint32_t>(); }
  uint64_t u64() { return read<uint64_t>(); }
  uint64_t uleb128();
  int64_t sleb128();
  /// A NUL-terminated string; fails where the terminator is missing.
  std::string_view c_string();
  /// A view of the next `size` bytes.
  Bytes take(size_t size);
  void skip(size_t size) { take(size); }
  void seek(size_t position) {
    if (position > bytes_.size()) return fail();
    position_ = position;
  }

  size_t position() const { return position_; }
  size_t remaining() const { return bytes_.size() - position_; }
  bool at_end() const { return position_ == bytes_.size(); }
  bool failed() const { return failed_; }
  void fail() {
    failed_ = true;
    position_ = bytes_.size();
  }

 private:
  Bytes bytes_;
  size_t position_ = 0;
  bool failed_ = false;
};

/// A part of `bytes`, or nothing where it would leave them.
std::optional<Bytes> slice(Bytes bytes, uint64_t offset, uint64_t size);

inline std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace fathom
