#pragma once
// Synthetic numa.fathom files.

#include "measurement/testing.h"

namespace fathom::testing {

/// One snapshot of a process. Ids and indices that the functions return are those in the records.
/// To be built in the order of the functions, because records of later ones refer to earlier ones.
class NumaBuilder {
 public:
  explicit NumaBuilder(ProcessBuilder& process) : file_(process.file("numa.fathom")) {}

  /// A call path node; `parent` is one that this returned before, or none.
  uint32_t frame(uint32_t parent, uint32_t module, uint64_t address);
  void module(uint32_t module);
  /// Fills `thread.index` in.
  uint32_t thread(record::NumaThread thread);
  /// Fills `object.id` in.
  uint32_t object(record::NumaObject object);
  uint32_t page(const record::NumaPage& page);
  void page_thread(const record::NumaPageThread& share);
  uint32_t line(const record::NumaLine& line);
  void line_thread(const record::NumaLineThread& share);
  void place(const record::NumaPlace& place);
  /// Ends the snapshot; the next records are of the next one.
  void snapshot(bool is_last = true, uint32_t sampling = 0);

 private:
  template <class Record>
  void add(record::ChunkType type, const Record& one) {
    file_.add(type, one);
    ++records_;
  }

  RecordFile& file_;
  uint64_t records_ = 0;
  uint32_t frames_ = 0, threads_ = 0, objects_ = 0, pages_ = 0, lines_ = 0, number_ = 0;
};

}  // namespace fathom::testing
