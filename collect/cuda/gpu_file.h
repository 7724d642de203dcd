#pragma once

#include <pthread.h>

#include <string>

#include "core/lock.h"
#include "core/node_map.h"
#include "record/writer.h"

namespace fathom::collect::cuda {

/// gpu.fathom: what the GPU did. Written by whichever thread CUPTI delivers records on; hold lock()
/// around the other calls.
class GpuFile {
 public:
  pthread_mutex_t& lock() { return lock_; }
  bool open(const std::string& path);
  const std::string& path() const { return path_; }
  record::ChunkWriter& out() { return file_; }
  /// The id of a name, written as a String record when it is first seen.
  uint32_t name(const char* text);

 private:
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  record::ChunkWriter file_;
  std::string path_;
  NodeMap names_;
  uint32_t next_name_ = 0;
};

}  // namespace fathom::collect::cuda
