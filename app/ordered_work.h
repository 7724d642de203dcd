#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace fathom {

/// Calls `make(i)` for each i below `count` on `threads` threads, and `take(i, result)` on this
/// one, in order, so that the outcome does not depend on who was faster. Ends early where `take`
/// gives false. Only a few results wait at a time.
template <class Make, class Take>
void make_in_order(size_t count, size_t threads, Make make, Take take) {
  using Made = decltype(make(size_t{}));
  const size_t ahead = threads * 4;
  std::mutex guard;
  std::condition_variable changed;
  std::map<size_t, Made> waiting;
  size_t next = 0, taken = 0;
  auto work = [&] {
    std::unique_lock lock(guard);
    for (;;) {
      changed.wait(lock, [&] { return next >= count || next < taken + ahead; });
      if (next >= count) return;
      const size_t mine = next++;
      lock.unlock();
      Made made = make(mine);
      lock.lock();
      waiting.emplace(mine, std::move(made));
      changed.notify_all();
    }
  };
  std::vector<std::thread> workers;
  for (size_t i = 0; i < threads && i < count; ++i) workers.emplace_back(work);
  for (std::unique_lock lock(guard); taken < count;) {
    changed.wait(lock, [&] { return waiting.count(taken) == 1; });
    Made made = std::move(waiting.extract(taken).mapped());
    lock.unlock();
    const bool go_on = take(taken, std::move(made));
    lock.lock();
    if (!go_on) next = count;
    taken = go_on ? taken + 1 : count;
    changed.notify_all();
  }
  for (std::thread& worker : workers) worker.join();
}

}  // namespace fathom
