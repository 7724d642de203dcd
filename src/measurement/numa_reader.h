#pragma once

#include <unordered_map>

#include "measurement/numa.h"
#include "measurement/records.h"

namespace fathom {

/// Puts the snapshots of one numa.fathom together and keeps the last whole one. A snapshot that
/// lacks a record is left out altogether: its numbers would not add up.
class NumaReader {
 public:
  using Ids = std::unordered_map<uint32_t, uint32_t>;  ///< an id in the records -> an index

  /// `modules` and `nodes` say what ids of modules and call-path nodes mean.
  NumaReader(const Ids& modules, const Ids& nodes) : modules_(modules), nodes_(nodes) {}

  /// True if the chunk is one of a snapshot's. Its bytes must stay until the next snapshot's end.
  bool add_chunk(const Chunk& chunk, Complaints& complaints);
  /// The last whole snapshot, and what must be known about it.
  NumaMeasurement finish(Complaints& complaints);

 private:
  void add_waiting(Complaints& complaints);
  void add_records(const Chunk& chunk, Complaints& complaints);
  template <class Record>
  void add_records_of(const Chunk& chunk, Complaints& complaints);

  // Each takes a record and returns what is wrong with it, or nullptr.
  const char* add(const record::NumaModule& module);
  const char* add(const record::NumaThread& thread);
  const char* add(const record::NumaObject& object);
  const char* add(const record::NumaPage& page);
  const char* add(const record::NumaPageThread& share);
  const char* add(const record::NumaLine& line);
  const char* add(const record::NumaLineThread& share);
  const char* add(const record::NumaPlace& place);
  const char* end(const record::NumaSnapshot& snapshot);

  /// A snapshot whose end was not met yet.
  struct Open {
    NumaMeasurement data;
    uint64_t records = 0;
    Ids threads, objects;
    std::vector<uint32_t> pages, lines;  ///< index of the record -> index in `data`, or kNoId
  };

  const Ids &modules_, &nodes_;
  std::vector<Chunk> waiting_;  ///< since the last snapshot's end
  Open open_;
  NumaMeasurement last_;
  bool lost_ = false;  ///< a snapshot after `last_` was not whole
};

}  // namespace fathom
