#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>

#include "record/layout.h"

namespace fathom::numa {

/// Starts and ends the measurement of the process, and has a thread of its own that keeps time and
/// writes. There is one, and it is never destroyed.
class Collector {
 public:
  static Collector& get();

  /// Called once, before the program's own code.
  void start();
  /// Has a snapshot written; waits no longer than `seconds`.
  void flush(double seconds);
  /// The same, the last one: nothing is measured from then on.
  void finish(record::EndReason reason, double seconds);

 private:
  static void* run(void* self);
  bool start_thread();
  void tick();
  void close();
  void ask(std::atomic<uint32_t>& wanted, const std::atomic<uint32_t>& done, double seconds);
  void wait_for_request(uint64_t ns);

  std::atomic<bool> has_thread_{false};
  std::atomic<uint32_t> requests_{0};  ///< a futex
  std::atomic<uint32_t> flush_wanted_{0}, flush_done_{0}, end_wanted_{0}, end_done_{0};
  std::atomic<record::EndReason> reason_{record::EndReason::exit};
  uint64_t next_snapshot_ns_ = 0;
};

}  // namespace fathom::numa
