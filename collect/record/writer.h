#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "record/layout.h"

namespace fathom::record {

/// Writes one file of a measurement directory. Records wait in memory, one buffer for each chunk
/// type; flush() writes them as whole chunks in the order of the type numbers, so that names and
/// call paths come before the records that refer to them. Not thread-safe: the owner locks.
///
/// A failed write (no space, no permission) is remembered in error(), cuts the file back to its
/// last whole chunk and turns the writer off: later records are dropped. Nothing throws or ends the
/// program.
class ChunkWriter {
 public:
  ChunkWriter() = default;
  ~ChunkWriter() { close(); }
  ChunkWriter(const ChunkWriter&) = delete;
  ChunkWriter& operator=(const ChunkWriter&) = delete;

  /// Creates the file (or appends to it if `append`). False with error() set where that fails.
  bool open(const std::string& path, bool append = false);
  bool is_open() const { return file_ >= 0; }

  /// Adds a record of a chunk type that holds plain structs.
  template <class T>
  void add(ChunkType type, const T& record) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(type, &record, sizeof record, {});
  }
  /// Adds a record of a chunk type that holds a struct and strings.
  template <class T>
  void add_text(ChunkType type, const T& record, std::initializer_list<std::string_view> strings) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(type, &record, sizeof record, strings);
  }

  /// Hands everything to the system.
  void flush();
  void close();
  /// Closes the file without writing what waits: for the child of a fork.
  void abandon();

  /// The `errno` of the first failure; 0 if there was none.
  int error() const { return error_; }

 private:
  static constexpr size_t kTypes = static_cast<size_t>(ChunkType::launch_arguments) + 1;
  static constexpr size_t kFlushBytes = 64u << 10;
  static constexpr size_t kMaxString = 1u << 20;

  void append(ChunkType type, const void* record, size_t size,
              std::initializer_list<std::string_view> strings);
  bool write_all(const void* data, size_t size);
  void fail(int error);

  int file_ = -1;
  int error_ = 0;
  uint64_t whole_ = 0;                                ///< bytes of whole chunks in the file
  std::array<std::vector<uint8_t>, kTypes> pending_;  ///< each begins with room for a header
};

}  // namespace fathom::record
