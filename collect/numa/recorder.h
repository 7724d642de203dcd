#pragma once

#include <string>

#include "core/call_paths.h"
#include "numa/lock.h"
#include "record/writer.h"

namespace fathom::numa {

/// numa.fathom: call paths as they come, and snapshots.
class Recorder {
 public:
  bool open(const std::string& path);
  /// The id of a call path.
  uint32_t intern(const collect::CallStack& stack);
  /// The time of writing is the holder's: nobody else writes meanwhile.
  SpinLock& lock() { return lock_; }
  record::ChunkWriter& out() { return out_; }

 private:
  SpinLock lock_;
  record::ChunkWriter out_;
  collect::CallPaths paths_;
  uint32_t generation_ = 0;
};

/// There is one, and it is never destroyed.
Recorder& recorder();

}  // namespace fathom::numa
