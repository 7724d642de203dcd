#pragma once

#include <string>

#include "base/bytes.h"
#include "base/result.h"

namespace fathom {

/// A file mapped for reading: only what is looked at takes memory, and the system can take it back.
/// A file that another program shortens meanwhile ends the process (SIGBUS).
class MappedFile {
 public:
  /// Errors name the path and the system's reason; a directory or a pipe is no file.
  static Result<MappedFile> open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  Bytes bytes() const { return bytes_; }
  /// Gives back the memory of a part that is not needed for now; reading it again is allowed.
  void release(Bytes part) const;

 private:
  explicit MappedFile(Bytes bytes) : bytes_(bytes) {}
  Bytes bytes_;
};

}  // namespace fathom
