// What programs do with the C library, while it is intercepted.

#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <threads.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "numa/test/program.h"

namespace numa_test {
namespace {

#define EXPECT(what)                               \
  do {                                             \
    if (!(what)) {                                 \
      std::fprintf(stderr, "failed: %s\n", #what); \
      return 1;                                    \
    }                                              \
  } while (false)

pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
pthread_spinlock_t spinlock;
pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
sem_t semaphore;
pthread_barrier_t barrier;
bool ready = false;

timespec soon(long ns) {
  timespec time{};
  clock_gettime(CLOCK_REALTIME, &time);
  time.tv_nsec += ns;
  if (time.tv_nsec >= 1000000000) ++time.tv_sec, time.tv_nsec -= 1000000000;
  return time;
}

void touch_all(void* block, size_t size) {
  for (size_t i = 0; i < size; i += 8) static_cast<volatile char*>(block)[i] = 1;
}

}  // namespace

/// Each function of the allocator once: 8 accesses for each 64 bytes of 8192 each.
int objects() {
  constexpr size_t kSize = 8192;
  void* blocks[9]{};
  blocks[0] = malloc(kSize);
  blocks[1] = calloc(8, kSize / 8);
  blocks[2] = realloc(malloc(10), kSize);
  EXPECT(posix_memalign(&blocks[3], 64, kSize) == 0);
  blocks[4] = aligned_alloc(64, kSize);
  blocks[5] = memalign(64, kSize);
  blocks[6] = valloc(kSize);
  blocks[7] = reallocarray(nullptr, 8, kSize / 8);
  blocks[8] = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  for (void* block : blocks) {
    EXPECT(block != nullptr && malloc_usable_size(blocks[0]) >= kSize);
    touch_all(block, kSize);
  }
  for (int i = 0; i < 100; ++i) touch_all(new char[48], 48);
  for (int i = 0; i < 8; ++i) free(blocks[i]);
  EXPECT(munmap(blocks[8], kSize) == 0);
  return 0;
}

/// Each kind of lock is found taken.
int locks() {
  pthread_spin_init(&spinlock, PTHREAD_PROCESS_PRIVATE);
  pthread_mutex_lock(&mutex);
  pthread_rwlock_wrlock(&rwlock);
  pthread_spin_lock(&spinlock);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        const timespec until = soon(10000000);
        if (pthread_mutex_trylock(&mutex) != EBUSY) std::abort();
        if (pthread_mutex_timedlock(&mutex, &until) != ETIMEDOUT) std::abort();
        if (pthread_rwlock_tryrdlock(&rwlock) != EBUSY) std::abort();
        if (pthread_rwlock_timedrdlock(&rwlock, &until) != ETIMEDOUT) std::abort();
        if (pthread_rwlock_timedwrlock(&rwlock, &until) != ETIMEDOUT) std::abort();
        if (pthread_spin_trylock(&spinlock) != EBUSY) std::abort();
        pthread_mutex_lock(&mutex);
        pthread_rwlock_rdlock(&rwlock);
        pthread_spin_lock(&spinlock);
        pthread_spin_unlock(&spinlock);
        pthread_rwlock_unlock(&rwlock);
        pthread_mutex_unlock(&mutex);
        return nullptr;
      },
      nullptr);
  usleep(100000);
  pthread_mutex_unlock(&mutex);
  usleep(50000);
  pthread_rwlock_unlock(&rwlock);
  usleep(50000);
  pthread_spin_unlock(&spinlock);
  EXPECT(pthread_join(thread, nullptr) == 0);
  return 0;
}

int waits() {
  sem_init(&semaphore, 0, 0);
  pthread_barrier_init(&barrier, nullptr, 2);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        pthread_mutex_lock(&mutex);
        const timespec until = soon(10000000);
        while (pthread_cond_timedwait(&condition, &mutex, &until) != ETIMEDOUT) {
        }
        while (!ready) pthread_cond_wait(&condition, &mutex);
        pthread_mutex_unlock(&mutex);
        if (sem_trywait(&semaphore) != -1 || errno != EAGAIN) std::abort();
        const timespec later = soon(10000000);
        if (sem_timedwait(&semaphore, &later) != -1 || errno != ETIMEDOUT) std::abort();
        if (sem_wait(&semaphore) != 0) std::abort();
        pthread_barrier_wait(&barrier);
        return nullptr;
      },
      nullptr);
  usleep(100000);
  pthread_mutex_lock(&mutex);
  ready = true;
  pthread_cond_signal(&condition);
  pthread_mutex_unlock(&mutex);
  usleep(100000);
  sem_post(&semaphore);
  pthread_barrier_wait(&barrier);
  EXPECT(pthread_join(thread, nullptr) == 0);
  return 0;
}

/// Threads, locks and condition variables of C11: each of their functions finds what it is for.
int c11() {
  static mtx_t mutex;
  static cnd_t condition;
  static bool called = false;
  EXPECT(mtx_init(&mutex, mtx_timed) == thrd_success && cnd_init(&condition) == thrd_success);
  EXPECT(mtx_lock(&mutex) == thrd_success);
  void* const memory = pages(1);
  tell("array", memory);
  thrd_t thread;
  EXPECT(thrd_create(
             &thread,
             [](void* array) -> int {
               const timespec until = soon(10000000);
               if (mtx_trylock(&mutex) != thrd_busy) std::abort();
               if (mtx_timedlock(&mutex, &until) != thrd_timedout) std::abort();
               if (mtx_lock(&mutex) != thrd_success) std::abort();
               const timespec later = soon(10000000);
               if (cnd_timedwait(&condition, &mutex, &later) != thrd_timedout) std::abort();
               while (!called)
                 if (cnd_wait(&condition, &mutex) != thrd_success) std::abort();
               mtx_unlock(&mutex);
               touch_all(array, 4096);
               return 42;
             },
             memory) == thrd_success);
  usleep(50000);
  EXPECT(mtx_unlock(&mutex) == thrd_success);
  usleep(100000);
  EXPECT(mtx_lock(&mutex) == thrd_success);
  called = true;
  EXPECT(cnd_signal(&condition) == thrd_success && mtx_unlock(&mutex) == thrd_success);
  int result = 0;
  EXPECT(thrd_join(thread, &result) == thrd_success && result == 42);
  EXPECT(mtx_trylock(&mutex) == thrd_success && mtx_unlock(&mutex) == thrd_success);
  return 0;
}

/// What calls return, and what they leave in errno, is as without a measurement.
int errors() {
  errno = 77;
  void* block = malloc(100000);
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  sem_init(&semaphore, 0, 1);
  sem_wait(&semaphore);
  touch_all(block, 100000);
  free(block);
  EXPECT(errno == 77);
  const volatile size_t huge = ~size_t(0) / 2;
  EXPECT(malloc(huge) == nullptr && errno == ENOMEM);
  EXPECT(reallocarray(nullptr, huge, 16) == nullptr && errno == ENOMEM);
  block = malloc(100000);
  std::memset(block, 3, 100000);
  EXPECT(realloc(block, huge) == nullptr && static_cast<char*>(block)[99999] == 3);
  block = realloc(block, 10000000);
  EXPECT(block != nullptr && static_cast<char*>(block)[99999] == 3);
  free(block);
  EXPECT(posix_memalign(&block, 3, 10) == EINVAL);
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
  pthread_mutex_t checked;
  pthread_mutex_init(&checked, &attributes);
  EXPECT(pthread_mutex_lock(&checked) == 0 && pthread_mutex_lock(&checked) == EDEADLK);
  EXPECT(pthread_mutex_unlock(&checked) == 0 && pthread_mutex_unlock(&checked) == EPERM);
  EXPECT(mmap(nullptr, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
  EXPECT(errno == EINVAL);
  return 0;
}

/// A stack as small as can be: the program did not reckon with the runtime.
int small_stack() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  EXPECT(pthread_attr_setstacksize(&attributes, 16384) == 0);
  pthread_t thread;
  EXPECT(pthread_create(
             &thread, &attributes,
             [](void*) -> void* {
               char buffer[4096];
               touch_all(buffer, sizeof buffer);
               free(malloc(100));
               return nullptr;
             },
             nullptr) == 0);
  EXPECT(pthread_join(thread, nullptr) == 0);
  size_t size = 0;
  EXPECT(pthread_attr_getstacksize(&attributes, &size) == 0 && size == 16384);
  return 0;
}

/// Allocates until there is nothing left.
int memory() {
  size_t got = 0;
  while (void* block = malloc(1 << 20)) {
    touch_all(block, 1 << 20);
    ++got;
  }
  EXPECT(got > 16);
  return 0;
}

}  // namespace numa_test
