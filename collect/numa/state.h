#pragma once
// What every entry into the runtime asks first.

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace fathom::numa {

struct Thread;

/// Of the calling thread. `depth` is not 0 while the runtime works on its behalf: what it then
/// does itself is nobody's business.
struct ThisThread {
  Thread* thread;
  uint32_t depth;
  bool ended;  ///< it has handed in everything
};
extern constinit thread_local ThisThread this_thread __attribute__((tls_model("initial-exec")));

/// Whether accesses are recorded: between the start and the end of the measurement of this process.
extern std::atomic<bool> recording;
inline bool is_recording() {
  return recording.load(std::memory_order_acquire);
}

/// Accesses of threads that could not be tracked.
extern std::atomic<uint64_t> lost_accesses;

/// The runtime is at work for this thread; `errno` stays the program's.
class Inside {
 public:
  Inside() : errno_(errno) {
    ++this_thread.depth;
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Inside() {
    std::atomic_signal_fence(std::memory_order_seq_cst);
    --this_thread.depth;
    errno = errno_;
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  int errno_;
};

}  // namespace fathom::numa
