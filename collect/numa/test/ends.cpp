// The ways in which programs begin, go on elsewhere and end.

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "numa/test/program.h"

namespace numa_test {
namespace {

volatile long counter[8];
void* before_main = nullptr;

__attribute__((constructor)) void allocate_before_main() {
  before_main = malloc(5000);
  counter[1] = 1;
}
__attribute__((destructor)) void allocate_after_main() {
  free(before_main);
  free(malloc(5000));
  counter[2] = 1;
}

void count(int times) {
  for (int i = 0; i < times; ++i) counter[0] = i;
}

void at_end() {
  free(malloc(100000));
  count(1000);
}

}  // namespace

int forks() {
  tell("counter", counter);
  count(1000);
  const pid_t child = fork();
  if (child == 0) {
    count(5000);
    free(malloc(100000));
    run(2, [](void*) -> void* {
      free(malloc(1000));
      return nullptr;
    });
    std::exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  count(1000);
  return status;
}

int executes() {
  tell("counter", counter);
  count(1000);
  execl("/proc/self/exe", "program", "exact", static_cast<char*>(nullptr));
  return 1;
}

int jumps() {
  tell("counter", counter);
  static jmp_buf place;
  volatile int rounds = 0;
  if (setjmp(place) < 100) {
    count(10);
    rounds = rounds + 1;
    longjmp(place, rounds);
  }
  return rounds == 100 ? 0 : 1;
}

int exits() {
  tell("counter", counter);
  std::atexit(at_end);
  count(1000);
  return 0;
}

int aborts() {
  tell("counter", counter);
  count(1000);
  std::abort();
}

int leaves() {
  tell("counter", counter);
  count(1000);
  std::quick_exit(3);
}

/// The process ends with the last of its other threads.
int main_leaves() {
  tell("counter", counter);
  pthread_t thread;
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        usleep(50000);
        count(1000);
        return nullptr;
      },
      nullptr);
  pthread_detach(thread);
  pthread_exit(nullptr);
}

/// A thread is cancelled while it waits, and another one while it joins it.
int cancels() {
  pthread_t threads[2];
  pthread_create(
      &threads[0], nullptr,
      [](void*) -> void* {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
        pthread_mutex_lock(&mutex);
        for (;;) pthread_cond_wait(&condition, &mutex);
      },
      nullptr);
  pthread_create(
      &threads[1], nullptr,
      [](void* other) -> void* {
        pthread_join(*static_cast<pthread_t*>(other), nullptr);
        return nullptr;
      },
      &threads[0]);
  usleep(50000);
  void* result = nullptr;
  for (int i = 1; i >= 0; --i) {
    pthread_cancel(threads[i]);
    if (pthread_join(threads[i], &result) != 0 || result != PTHREAD_CANCELED) return 1;
  }
  return 0;
}

/// Handlers interrupt whatever goes on, the runtime included.
int signals() {
  struct sigaction action {};
  action.sa_handler = [](int) { counter[4] = counter[4] + 1; };
  sigaction(SIGALRM, &action, nullptr);
  ualarm(100, 100);
  for (int round = 0; round < 300; ++round) {
    auto* block = static_cast<volatile char*>(malloc(100000));
    for (int i = 0; i < 100000; i += 64) block[i] = 1;
    free(const_cast<char*>(block));
  }
  ualarm(0, 0);
  return counter[4] > 0 ? 0 : 1;
}

int is_killed() {
  tell("counter", counter);
  count(1000);
  for (int i = 0; i < 65; ++i) {
    usleep(100000);
    count(1);
  }
  raise(SIGKILL);
  return 1;
}

}  // namespace numa_test
