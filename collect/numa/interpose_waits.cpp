// Condition variables, semaphores and barriers.

#include <pthread.h>
#include <semaphore.h>

#include <cerrno>
#include <map>

#include "numa/phases.h"
#include "numa/real.h"
#include "numa/waits.h"

namespace fathom::numa {
namespace {

FATHOM_REAL_VERSION(pthread_cond_wait, "GLIBC_2.3.2");
FATHOM_REAL_VERSION(pthread_cond_timedwait, "GLIBC_2.3.2");
FATHOM_REAL(pthread_cond_clockwait);
FATHOM_REAL(sem_wait);
FATHOM_REAL(sem_trywait);
FATHOM_REAL(sem_timedwait);
FATHOM_REAL(sem_clockwait);
FATHOM_REAL(pthread_barrier_init);
FATHOM_REAL(pthread_barrier_destroy);
FATHOM_REAL(pthread_barrier_wait);

struct Barrier {
  uint32_t threads = 0;
  std::atomic<uint64_t> arrivals{0};
  Meeting meeting{};
};

/// Never destroyed: threads may outlive the end of main().
struct Barriers {
  SpinLock lock;
  std::map<const pthread_barrier_t*, Barrier> all;
};

Barriers& barriers() {
  static auto* const barriers = new Barriers;
  return *barriers;
}

/// A wait for a semaphore that is at zero. It may be cancelled even where it need not wait.
template <class Wait>
int wait_for_semaphore(const void* caller, sem_t* semaphore, Wait wait) {
  if (!counts_waits(caller)) return wait();
  pthread_testcancel();
  const int saved = errno;
  if (real_sem_trywait(semaphore) == 0) return 0;
  errno = saved;
  return wait_counted(&Thread::semaphore_waits, caller, wait);
}

Barrier* find_barrier(const pthread_barrier_t* barrier) {
  Barriers& known = barriers();
  Held held(known.lock);
  const auto at = known.all.find(barrier);
  return at == known.all.end() ? nullptr : &at->second;
}

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

FATHOM_HOOK int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  const auto wait = [&] { return real_pthread_cond_wait(condition, mutex); };
  return counts_waits(FATHOM_CALLER) ? wait_counted(&Thread::condition_waits, FATHOM_CALLER, wait)
                                     : wait();
}

FATHOM_HOOK int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                       const timespec* until) {
  const auto wait = [&] { return real_pthread_cond_timedwait(condition, mutex, until); };
  return counts_waits(FATHOM_CALLER) ? wait_counted(&Thread::condition_waits, FATHOM_CALLER, wait)
                                     : wait();
}

FATHOM_HOOK int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                       clockid_t clock, const timespec* until) {
  const auto wait = [&] { return real_pthread_cond_clockwait(condition, mutex, clock, until); };
  return counts_waits(FATHOM_CALLER) ? wait_counted(&Thread::condition_waits, FATHOM_CALLER, wait)
                                     : wait();
}

FATHOM_HOOK int sem_wait(sem_t* semaphore) {
  return wait_for_semaphore(FATHOM_CALLER, semaphore, [&] { return real_sem_wait(semaphore); });
}

FATHOM_HOOK int sem_timedwait(sem_t* semaphore, const timespec* until) {
  return wait_for_semaphore(FATHOM_CALLER, semaphore,
                            [&] { return real_sem_timedwait(semaphore, until); });
}

FATHOM_HOOK int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* until) {
  return wait_for_semaphore(FATHOM_CALLER, semaphore,
                            [&] { return real_sem_clockwait(semaphore, clock, until); });
}

FATHOM_HOOK int pthread_barrier_init(pthread_barrier_t* barrier,
                                     const pthread_barrierattr_t* attributes,
                                     unsigned threads) noexcept {
  const int result = real_pthread_barrier_init(barrier, attributes, threads);
  const Hook hook;
  if (result != 0 || !hook) return result;
  Barriers& known = barriers();
  Held held(known.lock);
  known.all.erase(barrier);
  known.all[barrier].threads = threads;
  return result;
}

FATHOM_HOOK int pthread_barrier_destroy(pthread_barrier_t* barrier) noexcept {
  const int result = real_pthread_barrier_destroy(barrier);
  const Hook hook;
  if (result != 0 || !hook) return result;
  Barriers& known = barriers();
  Held held(known.lock);
  known.all.erase(barrier);
  return result;
}

FATHOM_HOOK int pthread_barrier_wait(pthread_barrier_t* barrier) noexcept {
  if (!counts_waits(FATHOM_CALLER)) return real_pthread_barrier_wait(barrier);
  Barrier* known = nullptr;
  uint32_t round = 0;
  {
    const Hook hook;
    if (hook) known = find_barrier(barrier);
    if (known != nullptr) {
      round = static_cast<uint32_t>(known->arrivals.fetch_add(1) / known->threads);
      arrive(*hook, known->meeting, round);
    } else if (hook) {
      hand_in_phase(*hook, hook->phase.load(std::memory_order_relaxed));
    }
  }
  const int result = wait_counted(&Thread::barrier_waits, FATHOM_CALLER,
                                  [&] { return real_pthread_barrier_wait(barrier); });
  const Hook hook;
  if (!hook) return result;
  // The thread that is told that it is the one may destroy the barrier at once, and so free ours:
  // then all have left the wait, and this one's phase is known by the others' as well.
  if (known != nullptr && find_barrier(barrier) == known)
    leave(*hook, known->meeting, round);
  else
    enter_phase(*hook, hook->phase.load(std::memory_order_relaxed) + kPhaseStep);
  return result;
}
