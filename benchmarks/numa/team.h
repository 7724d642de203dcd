#pragma once
// Threads for the benchmark programs: the same function in each, a part of the range for each.

#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

/// PROGRAM [THREADS [restart]]: threads that live as long as the program and meet at barriers, as
/// in most programs; with "restart", new ones for each piece of work.
class Team {
 public:
  Team(int argc, char** argv)
      : size_(argc > 1 ? std::atoi(argv[1]) : 2),
        restarts_(argc > 2 && std::strcmp(argv[2], "restart") == 0) {
    if (restarts_) return;
    pthread_barrier_init(&barrier_, nullptr, static_cast<unsigned>(size_));
    for (int self = 1; self < size_; ++self) threads_.emplace_back([this, self] { serve(self); });
  }
  ~Team() {
    if (restarts_) return;
    work_ = nullptr;
    pthread_barrier_wait(&barrier_);
    for (std::thread& thread : threads_) thread.join();
    pthread_barrier_destroy(&barrier_);
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return size_; }

  /// Calls work(from, to, thread) for each thread's part of [0, count).
  template <class Work>
  void share(long count, Work work) {
    const auto part = [&, count](int self) {
      work(count * self / size_, count * (self + 1) / size_, self);
    };
    if (restarts_) return start_and_join(part);
    work_ = part;
    pthread_barrier_wait(&barrier_);
    part(0);
    pthread_barrier_wait(&barrier_);
  }

 private:
  void serve(int self) {
    for (;;) {
      pthread_barrier_wait(&barrier_);
      if (!work_) return;
      work_(self);
      pthread_barrier_wait(&barrier_);
    }
  }
  template <class Part>
  void start_and_join(const Part& part) const {
    std::vector<std::thread> threads;
    for (int self = 1; self < size_; ++self) threads.emplace_back([&part, self] { part(self); });
    part(0);
    for (std::thread& thread : threads) thread.join();
  }

  int size_;
  bool restarts_;
  pthread_barrier_t barrier_;
  std::function<void(int)> work_;
  std::vector<std::thread> threads_;
};
