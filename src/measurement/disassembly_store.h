#pragma once
// The disassembly text that a measurement directory carries for a GPU binary, so that the next
// analysis, perhaps on a machine without the vendor's tools, need not make it again.

#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "model/profile.h"

namespace fathom {

struct StoredDisassembly {
  std::string tool;  ///< and its version
  std::string text;
};

/// Keeps `disassembly` as that of the binary with this SHA-256 (64 hexadecimal digits) in
/// gpubins/<sha256>.fathom; a reader sees the old file or the new one, never half of it.
/// Errors: the file cannot be written; the text is longer than a chunk can hold (64 MiB).
Result<Done> store_disassembly(const std::string& measurement_directory, const std::string& sha256,
                               const StoredDisassembly& disassembly);

/// Reads such a file, given as bytes. Nothing, and a warning that names `file`, where it is damaged
/// or belongs to another binary.
std::optional<StoredDisassembly> read_disassembly(const std::string& file,
                                                  const std::string& sha256, Bytes bytes,
                                                  std::vector<Warning>& warnings);

}  // namespace fathom
