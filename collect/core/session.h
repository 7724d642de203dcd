#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <cstdint>
#include <string>

#include "core/load_modules.h"
#include "core/lock.h"
#include "record/writer.h"

namespace fathom::collect {

/// The measurement of this process: its folder, its process.fathom and its modules. There is one,
/// and it is never destroyed, since threads may outlive the end of main().
class Session {
 public:
  static Session& get();

  /// Makes the folder below `directory` and starts recording. Says why on standard error and
  /// returns false if that fails.
  bool begin(const std::string& directory, uint64_t gpu_time_ns);
  /// False before begin(), after end() and in the child of a fork: then nothing may be recorded.
  bool active() const { return active_.load(std::memory_order_acquire); }
  /// Whether begin() was called by this very process and not by the one that it was forked from.
  bool is_own_process() const;

  const std::string& directory() const { return directory_; }
  const std::string& folder() const { return folder_; }
  LoadModules& modules() { return modules_; }

  /// Adds a record to process.fathom.
  template <class T>
  void add(record::ChunkType type, const T& record) {
    Locked locked(lock_);
    file_.add(type, record);
  }
  template <class T>
  void add_text(record::ChunkType type, const T& record,
                std::initializer_list<std::string_view> strings) {
    Locked locked(lock_);
    file_.add_text(type, record, strings);
  }

  /// Tells the user once: one line on standard error, and a Message record.
  void message(record::Severity severity, uint32_t code, const std::string& what,
               const std::string& hint);
  /// Tells of a file that could not be written; only the first time.
  void write_failed(const std::string& path, int error);

  /// Writes what waits for process.fathom.
  void flush();
  void end(record::EndReason reason, uint64_t gpu_time_ns);
  /// The child of a fork records nothing into its parent's files.
  void leave_to_parent() { active_.store(false, std::memory_order_release); }

 private:
  Session() = default;

  pthread_mutex_t lock_ = PTHREAD_MUTEX_INITIALIZER;
  record::ChunkWriter file_;
  LoadModules modules_;
  std::string directory_, folder_;
  std::atomic<bool> active_{false};
  std::atomic<bool> told_of_failure_{false};
  pid_t process_ = 0;
};

/// "fathom: what; hint" on standard error, in one write.
void say(const std::string& what, const std::string& hint);

/// Nanoseconds since 1970.
uint64_t unix_time_ns();

}  // namespace fathom::collect
