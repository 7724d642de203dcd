#pragma once

#include <sched.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace fathom::numa {

/// Four bytes, and none of the program's locks: those are intercepted.
class SpinLock {
 public:
  void lock() {
    for (uint32_t tries = 0; taken_.exchange(1, std::memory_order_acquire) != 0; ++tries)
      wait(tries);
  }
  bool try_lock() { return taken_.exchange(1, std::memory_order_acquire) == 0; }
  void unlock() { taken_.store(0, std::memory_order_release); }

 private:
  static void wait(uint32_t tries) {
    if (tries < 16) return __builtin_ia32_pause();
    const int saved = errno;
    if (tries < 64) {
      sched_yield();
    } else {  // a holder of a lower priority needs the processor
      const timespec nap{0, 50'000};
      clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, nullptr);
    }
    errno = saved;
  }
  std::atomic<uint32_t> taken_{0};
};

class Held {
 public:
  explicit Held(SpinLock& lock) : lock_(lock) { lock_.lock(); }
  ~Held() { lock_.unlock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  SpinLock& lock_;
};

/// A number that one thread changes and others may read.
class Counter {
 public:
  void add(uint64_t n) { value_.store(get() + n, std::memory_order_relaxed); }
  uint64_t get() const { return value_.load(std::memory_order_relaxed); }
  void set(uint64_t n) { value_.store(n, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

}  // namespace fathom::numa
