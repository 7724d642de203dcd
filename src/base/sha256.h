#pragma once

#include <string>

#include "base/bytes.h"

namespace fathom {

/// SHA-256 (FIPS 180-4) as 64 lower-case hexadecimal digits.
std::string sha256_hex(Bytes bytes);

}  // namespace fathom
