#include "measurement/numa_testing.h"

namespace fathom::testing {

using record::ChunkType;

uint32_t NumaBuilder::frame(uint32_t parent, uint32_t module, uint64_t address) {
  uint32_t id = frames_++;
  file_.add(ChunkType::call_path_node, record::CallPathNode{id, parent, module, 0, address});
  return id;
}

void NumaBuilder::module(uint32_t module) {
  add(ChunkType::numa_module, record::NumaModule{module, 0});
}

uint32_t NumaBuilder::thread(record::NumaThread thread) {
  thread.index = threads_;
  add(ChunkType::numa_thread, thread);
  return threads_++;
}

uint32_t NumaBuilder::object(record::NumaObject object) {
  object.id = objects_;
  add(ChunkType::numa_object, object);
  return objects_++;
}

uint32_t NumaBuilder::page(const record::NumaPage& page) {
  add(ChunkType::numa_page, page);
  return pages_++;
}

void NumaBuilder::page_thread(const record::NumaPageThread& share) {
  add(ChunkType::numa_page_thread, share);
}

uint32_t NumaBuilder::line(const record::NumaLine& line) {
  add(ChunkType::numa_line, line);
  return lines_++;
}

void NumaBuilder::line_thread(const record::NumaLineThread& share) {
  add(ChunkType::numa_line_thread, share);
}

void NumaBuilder::place(const record::NumaPlace& place) {
  add(ChunkType::numa_place, place);
}

void NumaBuilder::snapshot(bool is_last, uint32_t sampling) {
  record::NumaSnapshot one{};
  one.time_ns = 1'000'000'000;
  one.records = records_;
  one.number = ++number_;
  one.sampling = sampling;
  one.is_last = is_last;
  one.page_threshold = 128;
  one.line_threshold = 16;
  one.epochs = 3;
  file_.add(ChunkType::numa_snapshot, one);
  file_.end_chunk();
  records_ = 0;
  threads_ = objects_ = pages_ = lines_ = 0;
}

}  // namespace fathom::testing
