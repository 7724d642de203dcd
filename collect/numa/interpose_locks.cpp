// Locks: those found taken are counted. The call itself is as without us.

#include <pthread.h>

#include "numa/real.h"
#include "numa/waits.h"

namespace fathom::numa {
namespace {

FATHOM_REAL(pthread_mutex_lock);
FATHOM_REAL(pthread_mutex_trylock);
FATHOM_REAL(pthread_mutex_timedlock);
FATHOM_REAL(pthread_mutex_clocklock);
FATHOM_REAL(pthread_rwlock_rdlock);
FATHOM_REAL(pthread_rwlock_wrlock);
FATHOM_REAL(pthread_rwlock_tryrdlock);
FATHOM_REAL(pthread_rwlock_trywrlock);
FATHOM_REAL(pthread_rwlock_timedrdlock);
FATHOM_REAL(pthread_rwlock_timedwrlock);
FATHOM_REAL(pthread_rwlock_clockrdlock);
FATHOM_REAL(pthread_rwlock_clockwrlock);
FATHOM_REAL(pthread_spin_lock);
FATHOM_REAL(pthread_spin_trylock);

}  // namespace
}  // namespace fathom::numa

using namespace fathom::numa;

FATHOM_HOOK int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_mutex_trylock(mutex); },
      [&] { return real_pthread_mutex_lock(mutex); });
}

FATHOM_HOOK int pthread_mutex_trylock(pthread_mutex_t* mutex) noexcept {
  return try_counted(FATHOM_CALLER, [&] { return real_pthread_mutex_trylock(mutex); });
}

FATHOM_HOOK int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* until) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_mutex_trylock(mutex); },
      [&] { return real_pthread_mutex_timedlock(mutex, until); });
}

FATHOM_HOOK int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                        const timespec* until) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_mutex_trylock(mutex); },
      [&] { return real_pthread_mutex_clocklock(mutex, clock, until); });
}

FATHOM_HOOK int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_rwlock_tryrdlock(lock); },
      [&] { return real_pthread_rwlock_rdlock(lock); });
}

FATHOM_HOOK int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_rwlock_trywrlock(lock); },
      [&] { return real_pthread_rwlock_wrlock(lock); });
}

FATHOM_HOOK int pthread_rwlock_tryrdlock(pthread_rwlock_t* lock) noexcept {
  return try_counted(FATHOM_CALLER, [&] { return real_pthread_rwlock_tryrdlock(lock); });
}

FATHOM_HOOK int pthread_rwlock_trywrlock(pthread_rwlock_t* lock) noexcept {
  return try_counted(FATHOM_CALLER, [&] { return real_pthread_rwlock_trywrlock(lock); });
}

FATHOM_HOOK int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_rwlock_tryrdlock(lock); },
      [&] { return real_pthread_rwlock_timedrdlock(lock, until); });
}

FATHOM_HOOK int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* until) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_rwlock_trywrlock(lock); },
      [&] { return real_pthread_rwlock_timedwrlock(lock, until); });
}

FATHOM_HOOK int pthread_rwlock_clockrdlock(pthread_rwlock_t* lock, clockid_t clock,
                                           const timespec* until) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_rwlock_tryrdlock(lock); },
      [&] { return real_pthread_rwlock_clockrdlock(lock, clock, until); });
}

FATHOM_HOOK int pthread_rwlock_clockwrlock(pthread_rwlock_t* lock, clockid_t clock,
                                           const timespec* until) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_rwlock_trywrlock(lock); },
      [&] { return real_pthread_rwlock_clockwrlock(lock, clock, until); });
}

FATHOM_HOOK int pthread_spin_lock(pthread_spinlock_t* lock) noexcept {
  return lock_counted(
      FATHOM_CALLER, [&] { return real_pthread_spin_trylock(lock); },
      [&] { return real_pthread_spin_lock(lock); });
}

FATHOM_HOOK int pthread_spin_trylock(pthread_spinlock_t* lock) noexcept {
  return try_counted(FATHOM_CALLER, [&] { return real_pthread_spin_trylock(lock); });
}
