#pragma once
// Programs with planted issues, as a recording would describe them: for tests.

#include <functional>
#include <string>
#include <vector>

#include "measurement/measurement.h"
#include "measurement/numa_testing.h"

namespace fathom::testing {

/// What `fathom record -e numa` would have left behind. The main thread (number 0) starts the
/// workers (1 and so on). Each worker has 100 ms of processor time, and so has the main thread.
class NumaProgram {
 public:
  explicit NumaProgram(uint32_t workers);

  /// An array of some pages for each worker, set up by the main thread. Each worker reads and
  /// writes its own part.
  void blocks();
  /// An array that the main thread sets up. Each worker reads and writes all of it.
  void interleaved();
  /// The same, but the workers only read.
  void table();
  /// An array of which each worker touches its part first.
  void local_blocks();
  /// One long for each worker, side by side on the heap.
  void counters();
  /// A struct for each worker, side by side on the heap, of two fields of 8 bytes. The code says
  /// that it accesses the one at byte `told` of a struct of `size` bytes; the workers write the
  /// second.
  void structs(uint32_t told, uint32_t size);
  /// A global struct: the first worker writes its field `hits`, the others `misses`.
  void global_struct();
  /// A global counter that all workers write.
  void shared_counter();
  /// Workers that wait all the time. With `sharing`, neighbours use the same pages.
  void waits(bool sharing);
  /// Half of the workers are of another type, with `times` as many accesses.
  void stages(double times);
  /// The last worker is of another type, with hardly any accesses.
  void helper();
  /// Three tables: one from a function that returns void*, two from one that returns double* and is
  /// called twice.
  void allocate_by_helpers();
  void sampling(uint32_t log2) { sampling_ = log2; }

  /// The recording by its files' paths; to be called once.
  std::map<std::string, std::string> files();
  /// Writes and reads it; to be called once.
  Measurement read();

 private:
  void write(NumaBuilder& numa);
  uint32_t site(NumaBuilder& numa, uint64_t address, const char* function, uint32_t line);
  uint32_t heap(NumaBuilder& numa, uint32_t site, uint64_t address, uint64_t bytes, uint64_t each,
                uint64_t accessed_at = 0x30);
  void later(std::function<void(NumaBuilder&)> add) { later_.push_back(std::move(add)); }

  uint32_t workers_;
  uint32_t sampling_ = 0;
  MeasurementBuilder builder_{"./app"};
  ProcessBuilder& process_ = builder_.add_process("/project/app");
  uint32_t app_, libc_, libstdcpp_;
  std::vector<record::NumaThread> threads_;
  std::vector<std::function<void(NumaBuilder&)>> later_;  ///< in need of the threads
};

}  // namespace fathom::testing
