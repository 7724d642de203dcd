#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace fathom {

/// How an image in a fat binary is stored. CUDA up to 12.7, and --compress-mode=speed since, write
/// LZ4 blocks; the other modes write Zstandard; what is too large for a block becomes an LZ4 frame.
enum class Compression : uint8_t { none, lz4_block, lz4_frame, zstd, unknown };
const char* name_of(Compression compression);

/// Unpacks `packed` to exactly `size` bytes. Memory grows with what the input really yields, not
/// with what it claims. Errors: damaged or cut off, another size, a scheme that is not known.
Result<std::vector<uint8_t>> decompress(Compression compression, Bytes packed, uint64_t size,
                                        const std::string& where);

}  // namespace fathom
