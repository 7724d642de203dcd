// Locks and condition variables of C11, which the C library makes of its own without calling the
// functions of the same purpose that are intercepted.

#include <threads.h>

#include <cerrno>

#include "numa/real.h"
#include "numa/waits.h"

namespace fathom::numa {
namespace {

FATHOM_REAL(mtx_lock);
FATHOM_REAL(mtx_trylock);
FATHOM_REAL(mtx_timedlock);
FATHOM_REAL(cnd_wait);
FATHOM_REAL(cnd_timedwait);

/// Results as those who count know them: no other of C11's is EBUSY.
int attempt(mtx_t* mutex) {
  const int result = real_mtx_trylock(mutex);
  return result == thrd_busy ? EBUSY : result;
}

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

FATHOM_HOOK int mtx_lock(mtx_t* mutex) {
  return lock_counted(
      FATHOM_CALLER, [&] { return attempt(mutex); }, [&] { return real_mtx_lock(mutex); });
}

FATHOM_HOOK int mtx_trylock(mtx_t* mutex) {
  const int result = try_counted(FATHOM_CALLER, [&] { return attempt(mutex); });
  return result == EBUSY ? static_cast<int>(thrd_busy) : result;
}

FATHOM_HOOK int mtx_timedlock(mtx_t* mutex, const timespec* until) {
  return lock_counted(
      FATHOM_CALLER, [&] { return attempt(mutex); },
      [&] { return real_mtx_timedlock(mutex, until); });
}

FATHOM_HOOK int cnd_wait(cnd_t* condition, mtx_t* mutex) {
  const auto wait = [&] { return real_cnd_wait(condition, mutex); };
  return counts_waits(FATHOM_CALLER) ? wait_counted(&Thread::condition_waits, FATHOM_CALLER, wait)
                                     : wait();
}

FATHOM_HOOK int cnd_timedwait(cnd_t* condition, mtx_t* mutex, const timespec* until) {
  const auto wait = [&] { return real_cnd_timedwait(condition, mutex, until); };
  return counts_waits(FATHOM_CALLER) ? wait_counted(&Thread::condition_waits, FATHOM_CALLER, wait)
                                     : wait();
}
