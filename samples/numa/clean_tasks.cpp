// Clean: threads that take large tasks from a queue under a lock.
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

#include "sample.h"

namespace {

constexpr int kTasks = 16;
constexpr long kSteps = 12000000;

class Queue {
 public:
  void add(int task) { tasks_.push(task); }
  bool take(int& task) {
    std::lock_guard<std::mutex> held(mutex_);
    if (tasks_.empty()) return false;
    task = tasks_.front();
    tasks_.pop();
    return true;
  }

 private:
  std::mutex mutex_;
  std::queue<int> tasks_;
};

}  // namespace

int main(int argc, char** argv) {
  const int threads = threads_from(argc, argv);
  Queue queue;
  for (int task = 0; task < kTasks; ++task) queue.add(task);
  std::vector<unsigned long> sums(threads);
  std::vector<std::thread> team;
  for (int self = 0; self < threads; ++self)
    team.emplace_back([&, self] {
      unsigned long sum = 0;
      for (int task = 0; queue.take(task);) sum += scramble(task + 1, kSteps);
      sums[self] = sum;
    });
  for (std::thread& thread : team) thread.join();
  unsigned long sum = 0;
  for (unsigned long part : sums) sum += part;
  std::printf("checksum %lu\n", sum);
}
