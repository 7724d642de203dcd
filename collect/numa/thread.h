#pragma once

#include <pthread.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "core/unwinder.h"
#include "numa/abi.h"
#include "numa/lock.h"
#include "numa/page.h"
#include "numa/places.h"
#include "numa/share_table.h"
#include "numa/slab.h"
#include "numa/spin.h"
#include "numa/state.h"
#include "record/layout.h"

namespace fathom::numa {

inline constexpr uint32_t kMaxThreads = 0xfffe;

/// Phases are even; the odd number before one is what a thread does alone between two threads that
/// it creates.
inline constexpr uint32_t kPhaseStep = 2;

struct Region;
struct SlotTable;

/// What a thread needs while it runs; the next thread gets it.
struct Work {
  Work* next;
  uint64_t epoch;
  uint64_t waited_in;  ///< epoch
  bool counting;       ///< false: this interval is not sampled
  uint32_t until_sample;
  uint32_t slots_filled;  ///< since it looked around
  uint32_t simple_misses;
  ShareTable shares;
  SlotTable* slots;
  Share* dirty;  ///< touched in this phase
  Slab slab;
  Places places;
  SpinWatch spin;
  collect::Unwinder* unwinder;
  collect::CallStack* stack;
};

/// Threads that one creator starts and joins one after the other, in the same function, count as
/// one: programs do so that start their threads anew for each piece of work.
struct Thread {
  uint32_t index, thread_id, parent;
  record::ThreadKind kind;
  std::atomic<uintptr_t> start_address;
  uint32_t created_at;
  uintptr_t stack_low, stack_high;
  uint32_t stack_object;  ///< 0: none yet
  Thread* successors;     ///< that it has created and joined, by their numbers: who is next
  Thread* next_successor;
  uint64_t start_ns;
  std::atomic<uint64_t> end_ns;  ///< 0: it runs
  clockid_t cpu_clock;
  Counter final_cpu_ns, idle_cpu_ns;
  uint64_t parallel_start;
  Counter parallel_ns;
  Counter serial_accesses;    ///< all until the parallel part that it is in
  Counter parallel_accesses;  ///< in the parallel parts before

  Counter reads, writes, spin_reads, not_counted;
  Counter contended_locks, condition_waits, barrier_waits, semaphore_waits, wait_ns;

  std::atomic<uint32_t> phase;
  std::atomic<uint32_t> bound;    ///< it will do nothing in an earlier phase
  bool creating;                  ///< since the last boundary it has created threads, and no other
  std::atomic<bool> in_parallel;  ///< others run as well, as far as the program's logic goes
  std::atomic<uint32_t> busy;     ///< it changes what is counted
  SpinLock slots_lock;            ///< while another thread reads or clears the slots
  std::atomic<PageSlot*> slots;   ///< null: it has ended
  Work* work;
  std::atomic<pthread_t> handle;
  std::atomic<bool> joinable;
  Region* region;         ///< that it executes
  uint32_t region_round;  ///< barriers since its start
  uint64_t barrier_start_ns, barrier_start_cpu;
  Counter idle_since;  ///< CPU time at which it fell idle; 0: it works
};

/// The calling thread's record, made when it is first needed. Null: it cannot be tracked.
Thread* current_thread();
/// The runtime is at work for a thread of the program. Whoever closes the measurement waits for it.
class Working {
 public:
  explicit Working(Thread& thread) : thread_(thread) {
    ++this_thread.depth;
    thread_.busy.store(1, std::memory_order_relaxed);
    std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  ~Working() {
    thread_.busy.store(0, std::memory_order_release);
    --this_thread.depth;
  }
  Working(const Working&) = delete;
  Working& operator=(const Working&) = delete;

 private:
  Thread& thread_;
};

/// What an intercepted call does beside the call itself: null where nothing is measured or the
/// runtime itself calls.
class Hook {
 public:
  Hook();
  ~Hook();
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  explicit operator bool() const { return thread_ != nullptr; }
  Thread* operator->() const { return thread_; }
  Thread& operator*() const { return *thread_; }

 private:
  int errno_;
  Thread* thread_ = nullptr;
};

/// Nothing is measured: the calling thread gets a table in which its accesses count for nobody, and
/// soon, since code that has begun without one comes to the runtime with each access. False if it
/// has none.
bool begin_passing_by();

/// What the parent prepares for a thread that it creates. Null if memory is short.
Thread* prepare_thread(Thread* parent, record::ThreadKind kind, uintptr_t start,
                       uint32_t created_at);
/// The one of the threads that `parent` has joined which the next one counts as; else null.
Thread* take_successor(Thread& parent, record::ThreadKind kind, uintptr_t start);
/// `parent` has joined the thread.
void note_joined(Thread& parent, Thread& joined);
/// The thread that was prepared did not come to be.
void discard_thread(Thread& thread);
/// The calling thread is this one from now on.
void adopt_thread(Thread& thread);
/// The calling thread hands in everything and is not tracked any longer.
void end_thread(Thread& thread);

uint32_t thread_count();
/// The processor time that it has used so far, idle waiting left out; final once it has ended.
uint64_t busy_ns(const Thread& thread);
/// record::NumaThread::parallel_accesses, until now.
uint64_t parallel_accesses(const Thread& thread);
/// What the thread has handed in so far was done alone, or while others ran; what comes is
/// `parallel` or not.
void set_parallel(Thread& thread, bool parallel);

/// Null while it is being made.
Thread* thread_at(uint32_t index);
/// The thread that pthread_join will wait for. Null if it is unknown.
Thread* find_joinable(pthread_t handle);

/// The first phase that some thread may still do something in.
uint32_t first_open_phase();

/// Calls visit(thread) for each thread that runs; it stays alive meanwhile.
template <class Visit>
void for_each_running(Visit visit) {
  for (uint32_t i = 0, n = thread_count(); i < n; ++i) {
    Thread* thread = thread_at(i);
    if (thread == nullptr || thread->slots.load(std::memory_order_acquire) == nullptr) continue;
    Held held(thread->slots_lock);
    if (thread->slots.load(std::memory_order_acquire) != nullptr) visit(*thread);
  }
}

/// Since the process started.
uint64_t time_ns();
uint64_t cpu_time_ns(clockid_t clock);
/// How long several threads have been running.
uint64_t parallel_ns();
/// One thread more or less runs.
void count_running(int change);

/// All threads look up anew what the pages in [low, high) belong to.
void forget_shares(uintptr_t low, uintptr_t high);
/// Has each thread come to the runtime soon, at its next access to one of many pages that it uses:
/// to those whose turn it is in this epoch.
void call_threads(uint64_t now);
/// Has the slots of all threads be of no page, so that each comes to the runtime at its next
/// access.
void clear_slots();
/// The same for the pages that overlap [low, high).
void clear_slots(uintptr_t low, uintptr_t high);

}  // namespace fathom::numa
