// The program that the tests measure: compiled with -fsanitize=thread, linked with the callbacks.
// The first argument says what to do. It prints the addresses that the test looks at.

#include "numa/test/program.h"

#include <pthread.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>

namespace numa_test {

void tell(const char* name, const volatile void* address) {
  std::printf("%s %llx\n", name,
              static_cast<unsigned long long>(reinterpret_cast<uintptr_t>(address)));
  std::fflush(stdout);
}

void* pages(size_t count) {
  void* at = nullptr;
  if (posix_memalign(&at, 4096, count * 4096) != 0) std::abort();
  return at;
}

void run(size_t count, void* (*work)(void*)) {
  pthread_t threads[256];
  for (size_t i = 0; i < count; ++i)
    if (pthread_create(&threads[i], nullptr, work, reinterpret_cast<void*>(i)) != 0) std::abort();
  for (size_t i = 0; i < count; ++i) pthread_join(threads[i], nullptr);
}

namespace {

volatile double* doubles;
volatile long* longs;
pthread_barrier_t barrier;

/// Main writes both pages; thread 0 reads all of the first one three times, thread 1 writes half of
/// the second one twice.
int exact() {
  doubles = static_cast<double*>(pages(2));
  tell("array", doubles);
  for (int i = 0; i < 1024; ++i) doubles[i] = i;
  run(2, [](void* which) -> void* {
    volatile double* array = doubles;
    if (which == nullptr) {
      double sum = 0;
      for (int round = 0; round < 3; ++round)
        for (int i = 0; i < 512; ++i) sum = sum + array[i];
    } else {
      for (int round = 0; round < 2; ++round)
        for (int i = 0; i < 256; ++i) array[512 + i] = 1;
    }
    return nullptr;
  });
  return 0;
}

/// Two threads write words of their own in one line, and both write a word of another line.
int sharing() {
  longs = static_cast<long*>(pages(1));
  tell("array", longs);
  run(2, [](void* which) -> void* {
    volatile long* array = longs;
    const auto me = reinterpret_cast<size_t>(which);
    for (int i = 0; i < 100000; ++i) array[me] = i;
    for (int i = 0; i < 50000; ++i) array[8] = i;
    return nullptr;
  });
  return 0;
}

/// In each of ten phases one of two threads writes a line that the other one has read before.
int ping_pong() {
  longs = static_cast<long*>(pages(1));
  tell("array", longs);
  pthread_barrier_init(&barrier, nullptr, 2);
  run(2, [](void* which) -> void* {
    volatile long* array = longs;
    const auto me = reinterpret_cast<size_t>(which);
    for (size_t phase = 0; phase < 10; ++phase) {
      if (phase % 2 == me) array[0] = 1;
      pthread_barrier_wait(&barrier);
    }
    return nullptr;
  });
  pthread_barrier_destroy(&barrier);
  return 0;
}

/// 200 threads read one page and write one of their own each.
int many() {
  doubles = static_cast<double*>(pages(201));
  tell("array", doubles);
  doubles[0] = 1;
  run(200, [](void* which) -> void* {
    volatile double* array = doubles;
    const auto me = reinterpret_cast<size_t>(which);
    double sum = 0;
    for (int i = 0; i < 100; ++i) sum = sum + array[i];
    for (int i = 0; i < 300; ++i) array[(me + 1) * 512 + static_cast<size_t>(i)] = 2;
    return nullptr;
  });
  return 0;
}

/// 3000 times two threads are started and joined that write a page of their own each.
int restarts() {
  doubles = static_cast<double*>(pages(2));
  tell("array", doubles);
  for (int i = 0; i < 3000; ++i)
    run(2, [](void* which) -> void* {
      volatile double* array = doubles + reinterpret_cast<size_t>(which) * 512;
      for (int word = 0; word < 100; ++word) array[word] = word;
      return nullptr;
    });
  return 0;
}

#ifdef _OPENMP
/// Four threads write words of their own in one line, in three regions.
int parallel_regions() {
  longs = static_cast<long*>(pages(1));
  tell("array", longs);
  volatile long* array = longs;
  for (int region = 0; region < 3; ++region) {
#pragma omp parallel num_threads(4)
    {
#pragma omp for schedule(dynamic, 1)
      for (int me = 0; me < 4; ++me)
        if (me < 2)
          for (int i = 0; i < 1000; ++i) array[me] = i;
#pragma omp barrier
    }
  }
  return 0;
}
#endif

volatile int flag = 0;

/// Thread 0 waits for thread 1 in a loop.
int spinning() {
  run(2, [](void* which) -> void* {
    if (which == nullptr) {
      while (flag == 0) {
      }
    } else {
      usleep(50000);
      flag = 1;
    }
    return nullptr;
  });
  return 0;
}

/// Memory that is mapped anew has a new first thread.
int remapped() {
  for (int round = 0; round < 2; ++round) {
    void* at =
        mmap(round == 0 ? nullptr : const_cast<double*>(doubles), 4096, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | (round == 0 ? 0 : MAP_FIXED), -1, 0);
    if (at == MAP_FAILED) return 1;
    doubles = static_cast<double*>(at);
    if (round == 0) {
      tell("array", doubles);
      for (int i = 0; i < 512; ++i) doubles[i] = i;
      munmap(at, 4096);
    } else {
      run(1, [](void*) -> void* {
        for (int i = 0; i < 512; ++i) doubles[i] = i;
        for (int i = 0; i < 512; ++i) doubles[i] = i;
        return nullptr;
      });
    }
  }
  return 0;
}

/// Writes for half a second; tells how often.
int lasting() {
  longs = static_cast<long*>(pages(1));
  tell("array", longs);
  timespec begin{}, now{};
  clock_gettime(CLOCK_MONOTONIC, &begin);
  uintptr_t times = 0;
  do {
    for (int i = 0; i < 1000; ++i) longs[i % 512] = i;
    times += 1000;
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while ((now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 500);
  tell("times", reinterpret_cast<void*>(times));
  return 0;
}

/// Blocks and structs that are copied as a whole.
struct Big {
  char bytes[4096];
};
Big* blocks;
int copies() {
  blocks = static_cast<Big*>(pages(2));
  tell("array", blocks);
  for (int i = 0; i < 10; ++i) {
    blocks[1] = blocks[0];
    asm volatile("" ::: "memory");
  }
  return 0;
}

/// All atomic operations of a size give what they should.
template <class T>
bool atomics_work() {
  std::atomic<T> value{T(5)};
  T expected = 4;
  bool good = !value.compare_exchange_strong(expected, T(9)) && expected == 5;
  good = good && value.compare_exchange_strong(expected, T(9)) && value.load() == 9;
  good =
      good && value.exchange(T(1)) == 9 && value.fetch_add(T(6)) == 1 && value.fetch_sub(T(2)) == 7;
  good =
      good && value.fetch_and(T(4)) == 5 && value.fetch_or(T(3)) == 4 && value.fetch_xor(T(1)) == 7;
  value.store(T(value.load() + 1));
  while (!value.compare_exchange_weak(expected, T(3))) {
  }
  return good && expected == 7 && value.load() == 3;
}
struct alignas(16) Pair {
  long a, b;
  bool operator==(const Pair&) const = default;
};
int atomics() {
  static __attribute__((aligned(16))) unsigned __int128 wide = 7;
  bool good = atomics_work<uint8_t>() && atomics_work<uint16_t>() && atomics_work<uint32_t>() &&
              atomics_work<uint64_t>();
  unsigned __int128 before = __atomic_load_n(&wide, __ATOMIC_SEQ_CST);
  good = good && before == 7 && __atomic_fetch_add(&wide, 3, __ATOMIC_SEQ_CST) == 7;
  before = 10;
  const unsigned __int128 after = static_cast<unsigned __int128>(1) << 100;
  good = good && __atomic_compare_exchange_n(&wide, &before, after, false, __ATOMIC_SEQ_CST,
                                             __ATOMIC_SEQ_CST);
  good = good && __atomic_exchange_n(&wide, 1, __ATOMIC_SEQ_CST) == after;
  return good ? 0 : 1;
}

const std::map<std::string, int (*)()>& scenarios() {
  static const std::map<std::string, int (*)()> all{
      {"exact", exact},
      {"sharing", sharing},
      {"ping_pong", ping_pong},
      {"many", many},
      {"restarts", restarts},
      {"spinning", spinning},
      {"remapped", remapped},
      {"copies", copies},
      {"atomics", atomics},
      {"lasting", lasting},
      {"objects", objects},
      {"locks", locks},
      {"waits", waits},
      {"c11", c11},
      {"errors", errors},
      {"fork", forks},
      {"exec", executes},
      {"longjmp", jumps},
      {"exits", exits},
      {"abort", aborts},
      {"quick_exit", leaves},
      {"killed", is_killed},
      {"memory", memory},
      {"small_stack", small_stack},
      {"main_leaves", main_leaves},
      {"cancels", cancels},
      {"signals", signals},
#ifdef _OPENMP
      {"parallel", parallel_regions},
#endif
  };
  return all;
}

}  // namespace
}  // namespace numa_test

int main(int count, char** arguments) {
  if (count < 2) return 2;
  const auto& all = numa_test::scenarios();
  const auto found = all.find(arguments[1]);
  return found == all.end() ? 2 : found->second();
}
