#pragma once

#include "numa/openmp.h"
#include "numa/thread.h"

namespace fathom::numa {

/// Whether waiting is counted: the program itself waits, and is measured.
inline bool counts_waits(const void* caller) {
  return is_recording() && this_thread.depth == 0 && !is_openmp_runtime(caller);
}

/// One more wait by the instrumented code that `caller` is, or that is behind it.
void note_wait(Thread& thread, const void* caller);
/// What a thread has counted is put down before it waits: it may not come back.
void begin_wait(Counter Thread::*waits, const void* caller);
void end_wait(uint64_t since_ns);

/// Waits by `block()`, counted. No state is kept in this frame that a cancellation would leave.
template <class Block>
int wait_counted(Counter Thread::*waits, const void* caller, Block block) {
  begin_wait(waits, caller);
  const uint64_t since = time_ns();
  const int result = block();
  end_wait(since);
  return result;
}

/// Takes a lock that may be taken: first `attempt()`, which returns EBUSY if it is, then `block()`.
template <class Attempt, class Block>
int lock_counted(const void* caller, Attempt attempt, Block block) {
  if (!counts_waits(caller)) return block();
  const int result = attempt();
  if (result != EBUSY) return result;
  return wait_counted(&Thread::contended_locks, caller, block);
}

/// A lock that is only tried.
template <class Attempt>
int try_counted(const void* caller, Attempt attempt) {
  const int result = attempt();
  if (result != EBUSY || !counts_waits(caller)) return result;
  const Hook hook;
  if (!hook) return result;
  hook->contended_locks.add(1);
  note_wait(*hook, caller);
  return result;
}

}  // namespace fathom::numa

#define FATHOM_CALLER __builtin_return_address(0)
