#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "record/layout.h"

namespace fathom::record {

/// CRC-32C (Castagnoli, reflected polynomial 0x82f63b78), by slices of eight bytes.
class Crc32c {
 public:
  void add(const void* data, size_t size) {
    const auto* at = static_cast<const uint8_t*>(data);
    for (; size >= 8; at += 8, size -= 8) {
      uint32_t low = state_ ^ load(at), high = load(at + 4);
      state_ = kTables[7][low & 255] ^ kTables[6][low >> 8 & 255] ^ kTables[5][low >> 16 & 255] ^
               kTables[4][low >> 24] ^ kTables[3][high & 255] ^ kTables[2][high >> 8 & 255] ^
               kTables[1][high >> 16 & 255] ^ kTables[0][high >> 24];
    }
    for (; size; ++at, --size) state_ = kTables[0][(state_ ^ *at) & 255] ^ state_ >> 8;
  }
  uint32_t value() const { return ~state_; }

 private:
  using Tables = std::array<std::array<uint32_t, 256>, 8>;
  static constexpr Tables make_tables() {
    Tables tables{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t value = i;
      for (int bit = 0; bit < 8; ++bit) value = value >> 1 ^ (value & 1 ? 0x82f63b78u : 0);
      tables[0][i] = value;
    }
    for (uint32_t i = 0; i < 256; ++i)
      for (int k = 1; k < 8; ++k)
        tables[k][i] = tables[k - 1][i] >> 8 ^ tables[0][tables[k - 1][i] & 255];
    return tables;
  }
  static uint32_t load(const uint8_t* at) {
    return uint32_t(at[0]) | uint32_t(at[1]) << 8 | uint32_t(at[2]) << 16 | uint32_t(at[3]) << 24;
  }
  static const Tables kTables;
  uint32_t state_ = ~0u;
};

inline constexpr Crc32c::Tables Crc32c::kTables = Crc32c::make_tables();

/// The checksum of a chunk: the header's type, version and size, then the payload.
inline uint32_t chunk_checksum(const ChunkHeader& header, const void* payload) {
  Crc32c crc;
  crc.add(&header.type, sizeof header.type + sizeof header.version + sizeof header.size);
  crc.add(payload, header.size);
  return crc.value();
}

}  // namespace fathom::record
