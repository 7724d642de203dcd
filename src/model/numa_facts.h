#pragma once
// What an analysis says of the threads and the memory of one process; docs/numa.md defines the
// terms.

#include <cstdint>
#include <string>
#include <vector>

#include "model/finding.h"

namespace fathom {

struct NumaThreadFacts {
  uint32_t index = 0;  ///< 0: the main thread
  std::string kind;    ///< "main", "pthread", "openmp"
  std::string start;   ///< function that it starts in (demangled); may be empty
  SourceLocation at;   ///< where that function is
  uint64_t reads = 0, writes = 0, spin_reads = 0;
  uint64_t contended_locks = 0, condition_waits = 0, barrier_waits = 0, semaphore_waits = 0;
  double wait_seconds = 0;  ///< in those
  double cpu_seconds = 0;   ///< processor time
  double seconds = 0;       ///< from its start to its end
};

/// A variable, a thread's stack, or all memory that one call path allocated.
struct NumaObjectFacts {
  std::string name;
  std::string kind;   ///< "heap", "mapping", "variable", "stack", "unknown"
  SourceLocation at;  ///< of the allocation or declaration
  uint64_t count = 0;
  uint64_t bytes = 0;  ///< of all of them together
  uint64_t reads = 0, writes = 0;
  uint64_t remote = 0;  ///< of the reads and writes
  uint64_t local() const { return reads + writes - remote; }
  double false_invalidations = 0, true_invalidations = 0;
  double remote_score = 0, false_score = 0, true_score = 0;
};

struct NumaFacts {
  std::string program;  ///< file name of the executable
  uint32_t process = 0;
  uint64_t threads = 0;       ///< that ran
  double time_ms = 0;         ///< the "time" of the scores
  double parallel_share = 0;  ///< of the run's time in which several threads ran
  double migration_score = 0;
  uint32_t phases = 0;
  uint32_t sampling = 0;  ///< one of 2^sampling intervals was counted
  uint64_t accesses_not_counted = 0;
  std::string topology;  ///< that gains were estimated for: "2x16:1,1.6"
  std::vector<NumaThreadFacts> thread_facts;
  std::vector<NumaObjectFacts> objects;  ///< most remote accesses and invalidations first
};

}  // namespace fathom
