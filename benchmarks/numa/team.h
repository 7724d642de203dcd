#pragma once
// Threads for the benchmark programs: the same function in each, a part of the range for each.

#include <cstdio>
#include <cstdlib>
#include <thread>
#include <vector>

inline int threads_from(int argc, char** argv) {
  return argc > 1 ? std::atoi(argv[1]) : 2;
}

/// Calls work(from, to, thread) for each thread's part of [0, count).
template <class Work>
void share(int threads, long count, Work work) {
  std::vector<std::thread> team;
  for (int self = 1; self < threads; ++self)
    team.emplace_back(
        [=, &work] { work(count * self / threads, count * (self + 1) / threads, self); });
  work(0, count / threads, 0);
  for (std::thread& thread : team) thread.join();
}
