#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace fathom::collect {

/// SHA-256 (FIPS 180-4).
std::array<uint8_t, 32> sha256(const void* data, size_t size);
/// The same without the processor's own instructions for it.
std::array<uint8_t, 32> sha256_portable(const void* data, size_t size);

}  // namespace fathom::collect
