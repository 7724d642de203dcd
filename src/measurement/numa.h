#pragma once
// What memory accesses of instrumented code say about NUMA and sharing, as recorded; see
// collect/record/layout.h (NumaSnapshot and what follows) and docs/numa.md.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "model/profile.h"

namespace fathom {

enum class NumaThreadKind : uint8_t { main, pthread, openmp };
struct NumaThread {
  uint32_t index = 0;      ///< as the program's threads are numbered: 0 is the main one
  uint32_t thread_id = 0;  ///< the system's
  uint32_t parent = 0;     ///< NumaThread::index of its creator
  NumaThreadKind kind = NumaThreadKind::main;
  uint32_t start_module = kNoId;  ///< index in Process::modules
  uint64_t start_address = 0;     ///< of the start routine or region, relative to the bias
  uint32_t created_at = kNoId;    ///< index in Process::call_paths
  uint64_t stack_low = 0, stack_high = 0;
  uint64_t start_ns = 0, end_ns = 0;  ///< since the process started
  uint64_t cpu_ns = 0;
  uint64_t reads = 0, writes = 0, spin_reads = 0;
  uint64_t contended_locks = 0, condition_waits = 0, barrier_waits = 0, semaphore_waits = 0;
  uint64_t wait_ns = 0, parallel_ns = 0;
  uint64_t parallel_accesses = 0;  ///< where others ran as well
};

enum class NumaObjectKind : uint8_t { heap, mapping, module_data, stack, unknown };
struct NumaObject {
  NumaObjectKind kind = NumaObjectKind::unknown;
  uint32_t call_path = kNoId;  ///< index in Process::call_paths: the allocation
  uint32_t module = kNoId;     ///< index in Process::modules: of module_data
  uint32_t thread = kNoId;  ///< index in NumaMeasurement::threads: first allocator, stack's owner
  uint64_t address = 0, size = 0;  ///< of the largest one
  uint64_t count = 0, total_bytes = 0;
  uint64_t reads = 0, writes = 0, remote_accesses = 0;
};

struct NumaPageShare {
  uint32_t thread = kNoId;  ///< index in NumaMeasurement::threads
  uint64_t reads = 0, writes = 0;
};
/// An object's part of a page. Remote accesses are never more than accesses.
struct NumaPage {
  uint64_t address = 0;
  uint32_t object = 0;            ///< index in NumaMeasurement::objects
  uint32_t first_thread = kNoId;  ///< index in NumaMeasurement::threads
  uint64_t reads = 0, writes = 0;
  uint64_t remote_reads = 0, remote_writes = 0;
  uint64_t reads_after_last_write = 0, remote_after_last_write = 0;
  std::vector<NumaPageShare> shares;
};

inline constexpr size_t kWordsOfLine = 16;
inline constexpr uint64_t kBytesOfWord = 4, kBytesOfLine = 64, kBytesOfPage = 4096;
struct NumaLineShare {
  uint32_t thread = kNoId;  ///< index in NumaMeasurement::threads
  std::array<uint32_t, kWordsOfLine> reads{}, writes{};
};
struct NumaLine {
  uint64_t address = 0;
  uint32_t object = 0;                                     ///< index in NumaMeasurement::objects
  double false_invalidations = 0, true_invalidations = 0;  ///< expected; finite, not negative
  uint64_t reads = 0, writes = 0;
  std::vector<NumaLineShare> shares;
};

struct NumaPlace {
  uint32_t object = 0;      ///< index in NumaMeasurement::objects
  uint32_t module = kNoId;  ///< index in Process::modules
  uint64_t address = 0;     ///< relative to the module's bias
  uint64_t samples = 0;
  bool is_write = false;
};

/// The last whole snapshot of a process; without one, `number` is 0 and all is empty.
struct NumaMeasurement {
  uint32_t number = 0;
  uint64_t time_ns = 0;
  bool is_last = false;  ///< taken at the end of the process
  uint64_t accesses_not_counted = 0;
  uint32_t sampling = 0;  ///< one of 2^sampling intervals was counted
  uint32_t page_threshold = 0, line_threshold = 0, epochs = 0;
  std::vector<uint32_t> modules;  ///< indices in Process::modules: with instrumented code
  std::vector<NumaThread> threads;
  std::vector<NumaObject> objects;
  std::vector<NumaPage> pages;
  std::vector<NumaLine> lines;
  std::vector<NumaPlace> places;
  std::vector<NumaPlace> waits;  ///< where threads wait, and how often; `object` is kNoId
};

/// A global or static variable.
struct DataVariable {
  uint64_t address = 0, size = 0;  ///< in the file
  std::string name;                ///< mangled
  SourceLocation at;               ///< its declaration
  std::string type;                ///< a struct's with its fields: "pair {first:0:8, second:8:8}"
  uint32_t element_size = 0;       ///< of an array's elements; 0 if it is none
};

}  // namespace fathom
