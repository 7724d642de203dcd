#pragma once

#include <pthread.h>

#include <string>

#include "core/call_paths.h"
#include "core/unwinder.h"
#include "record/writer.h"

namespace fathom::collect {

/// What one thread of the program records. The thread appends under a lock that nobody else wants,
/// but for the collector's thread, which writes out now and then what has gathered.
class ThreadChannel {
 public:
  /// The calling thread's channel, made when it is first needed; null if nothing may be recorded.
  static ThreadChannel* of_this_thread();
  /// Writes out what all threads have gathered.
  static void flush_all();

  /// Records a call into a GPU runtime together with the stack that it came from.
  void record_call(uint32_t correlation, record::ApiKind kind, uint32_t context, uint64_t time_ns);
  /// Records how long this thread waited for the GPU.
  void record_wait(const record::Synchronization& wait);
  /// Records what a launch was given.
  void record_arguments(const record::LaunchArguments& arguments);

 private:
  ThreadChannel() = default;
  ~ThreadChannel() = default;
  static void close(void* channel);
  bool open();
  void flush();

  ThreadChannel* next_ = nullptr;
  ThreadChannel* previous_ = nullptr;
  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;  ///< guards file_
  record::ChunkWriter file_;
  std::string path_;
  Unwinder unwinder_;
  CallPaths paths_;
  CallStack stack_;
  uint32_t generation_ = 0;
  bool busy_ = false;
};

}  // namespace fathom::collect
