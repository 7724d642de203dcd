#include "measurement/numa_reader.h"

#include <algorithm>
#include <cmath>

namespace fathom {
namespace {

using record::ChunkType;

constexpr char kLostObject[] = "accesses to an object that is not in the file: left out";

uint32_t find(const NumaReader::Ids& ids, uint32_t id) {
  auto known = ids.find(id);
  return known == ids.end() ? kNoId : known->second;
}

bool is_count(double value) {
  return std::isfinite(value) && value >= 0;
}

/// a <= b + c, which may be more than 64 bits hold.
bool at_most_sum(uint64_t a, uint64_t b, uint64_t c) {
  return a <= b || a - b <= c;
}

}  // namespace

template <class Record>
void NumaReader::add_records_of(const Chunk& chunk, Complaints& complaints) {
  for_each_record<Record>(chunk, complaints, [this](const Record& one) {
    ++open_.records;
    return this->add(one);
  });
}

bool NumaReader::add_chunk(const Chunk& chunk, Complaints& complaints) {
  if (chunk.type == ChunkType::numa_snapshot) {
    add_waiting(complaints);
    for_each_record<record::NumaSnapshot>(
        chunk, complaints, [this](const record::NumaSnapshot& one) { return end(one); });
    return true;
  }
  if (chunk.type < ChunkType::numa_thread || chunk.type > ChunkType::numa_module) return false;
  waiting_.push_back(chunk);
  return true;
}

/// A writer flushes full buffers first. What others refer to has the lower type number.
void NumaReader::add_waiting(Complaints& complaints) {
  std::stable_sort(waiting_.begin(), waiting_.end(),
                   [](const Chunk& a, const Chunk& b) { return a.type < b.type; });
  for (const Chunk& chunk : waiting_) add_records(chunk, complaints);
  waiting_.clear();
}

void NumaReader::add_records(const Chunk& chunk, Complaints& complaints) {
  switch (chunk.type) {
    case ChunkType::numa_module:
      return add_records_of<record::NumaModule>(chunk, complaints);
    case ChunkType::numa_thread:
      return add_records_of<record::NumaThread>(chunk, complaints);
    case ChunkType::numa_object:
      return add_records_of<record::NumaObject>(chunk, complaints);
    case ChunkType::numa_page:
      return add_records_of<record::NumaPage>(chunk, complaints);
    case ChunkType::numa_page_thread:
      return add_records_of<record::NumaPageThread>(chunk, complaints);
    case ChunkType::numa_line:
      return add_records_of<record::NumaLine>(chunk, complaints);
    case ChunkType::numa_line_thread:
      return add_records_of<record::NumaLineThread>(chunk, complaints);
    default:
      return add_records_of<record::NumaPlace>(chunk, complaints);
  }
}

const char* NumaReader::add(const record::NumaModule& module) {
  uint32_t index = find(modules_, module.module);
  if (index == kNoId) return "an instrumented module that is not in the file: left out";
  open_.data.modules.push_back(index);
  return nullptr;
}

const char* NumaReader::add(const record::NumaThread& thread) {
  if (thread.kind > record::ThreadKind::openmp) return "a thread of an unknown kind: left out";
  if (thread.end_ns < thread.start_ns) return "a thread that ends before it starts: left out";
  if (!open_.threads.emplace(thread.index, uint32_t(open_.data.threads.size())).second)
    return "a thread with the number of another: left out";
  NumaThread& out = open_.data.threads.emplace_back();
  out.index = thread.index;
  out.thread_id = thread.thread_id;
  out.parent = thread.parent;
  out.kind = NumaThreadKind(thread.kind);
  out.start_module = find(modules_, thread.start_module);
  out.start_address = thread.start_address;
  out.created_at = find(nodes_, thread.created_at);
  out.stack_low = thread.stack_low;
  out.stack_high = thread.stack_high;
  out.start_ns = thread.start_ns;
  out.end_ns = thread.end_ns;
  out.cpu_ns = thread.cpu_ns;
  out.reads = thread.reads;
  out.writes = thread.writes;
  out.spin_reads = thread.spin_reads;
  out.contended_locks = thread.contended_locks;
  out.condition_waits = thread.condition_waits;
  out.barrier_waits = thread.barrier_waits;
  out.semaphore_waits = thread.semaphore_waits;
  out.wait_ns = thread.wait_ns;
  out.parallel_ns = thread.parallel_ns;
  out.parallel_accesses = thread.parallel_accesses;
  return nullptr;
}

const char* NumaReader::add(const record::NumaObject& object) {
  if (object.kind > record::ObjectKind::unknown) return "an object of an unknown kind: left out";
  if (!at_most_sum(object.remote_accesses, object.reads, object.writes))
    return "an object with more remote accesses than accesses: left out";
  if (!open_.objects.emplace(object.id, uint32_t(open_.data.objects.size())).second)
    return "an object with the id of another: left out";
  NumaObject& out = open_.data.objects.emplace_back();
  out.kind = NumaObjectKind(object.kind);
  out.call_path = find(nodes_, object.call_path);
  out.module = find(modules_, object.module);
  out.thread = find(open_.threads, object.thread);
  out.address = object.address;
  out.size = object.size;
  out.count = object.count;
  out.total_bytes = object.total_bytes;
  out.reads = object.reads;
  out.writes = object.writes;
  out.remote_accesses = object.remote_accesses;
  return nullptr;
}

const char* NumaReader::add(const record::NumaPage& page) {
  open_.pages.push_back(kNoId);
  uint32_t object = find(open_.objects, page.object);
  if (object == kNoId) return kLostObject;
  if (page.remote_reads > page.reads || page.remote_writes > page.writes ||
      page.reads_after_last_write > page.reads ||
      page.remote_after_last_write > page.reads_after_last_write)
    return "a page with more remote or late accesses than accesses: left out";
  open_.pages.back() = uint32_t(open_.data.pages.size());
  NumaPage& out = open_.data.pages.emplace_back();
  out.address = page.address;
  out.object = object;
  out.first_thread = find(open_.threads, page.first_thread);
  out.reads = page.reads;
  out.writes = page.writes;
  out.remote_reads = page.remote_reads;
  out.remote_writes = page.remote_writes;
  out.reads_after_last_write = page.reads_after_last_write;
  out.remote_after_last_write = page.remote_after_last_write;
  return nullptr;
}

const char* NumaReader::add(const record::NumaPageThread& share) {
  if (share.page >= open_.pages.size())
    return "a share of a page that is not in the file: left out";
  uint32_t page = open_.pages[share.page];
  if (page != kNoId)
    open_.data.pages[page].shares.push_back(
        {find(open_.threads, share.thread), share.reads, share.writes});
  return nullptr;
}

const char* NumaReader::add(const record::NumaLine& line) {
  open_.lines.push_back(kNoId);
  uint32_t object = find(open_.objects, line.object);
  if (object == kNoId) return kLostObject;
  if (!is_count(line.false_invalidations) || !is_count(line.true_invalidations))
    return "a line with an impossible number of invalidations: left out";
  open_.lines.back() = uint32_t(open_.data.lines.size());
  NumaLine& out = open_.data.lines.emplace_back();
  out.address = line.address;
  out.object = object;
  out.false_invalidations = line.false_invalidations;
  out.true_invalidations = line.true_invalidations;
  out.reads = line.reads;
  out.writes = line.writes;
  return nullptr;
}

const char* NumaReader::add(const record::NumaLineThread& share) {
  if (share.line >= open_.lines.size())
    return "a share of a line that is not in the file: left out";
  uint32_t line = open_.lines[share.line];
  if (line == kNoId) return nullptr;
  NumaLineShare& out = open_.data.lines[line].shares.emplace_back();
  out.thread = find(open_.threads, share.thread);
  std::copy(std::begin(share.reads), std::end(share.reads), out.reads.begin());
  std::copy(std::begin(share.writes), std::end(share.writes), out.writes.begin());
  return nullptr;
}

const char* NumaReader::add(const record::NumaPlace& place) {
  if (place.object == record::kNone) {
    open_.data.waits.push_back(
        {kNoId, find(modules_, place.module), place.address, place.samples, false});
    return nullptr;
  }
  uint32_t object = find(open_.objects, place.object);
  if (object == kNoId) return kLostObject;
  open_.data.places.push_back(
      {object, find(modules_, place.module), place.address, place.samples, place.is_write != 0});
  return nullptr;
}

const char* NumaReader::end(const record::NumaSnapshot& snapshot) {
  Open ended = std::move(open_);
  open_ = {};
  lost_ = ended.records != snapshot.records;
  if (lost_) return "a snapshot of memory accesses that lacks records: left out";
  constexpr uint32_t kMostSampling = 32;
  if (snapshot.sampling > kMostSampling) {
    lost_ = true;
    return "a snapshot of memory accesses with impossible sampling: left out";
  }
  last_ = std::move(ended.data);
  last_.number = snapshot.number == 0 ? 1 : snapshot.number;
  last_.time_ns = snapshot.time_ns;
  last_.is_last = snapshot.is_last != 0;
  last_.accesses_not_counted = snapshot.accesses_not_counted;
  last_.sampling = snapshot.sampling;
  last_.page_threshold = snapshot.page_threshold;
  last_.line_threshold = snapshot.line_threshold;
  last_.epochs = snapshot.epochs;
  return nullptr;
}

NumaMeasurement NumaReader::finish(Complaints& complaints) {
  lost_ = lost_ || !waiting_.empty();
  if (lost_ && last_.number == 0)
    complaints.add("no snapshot of memory accesses is whole: they are unknown", 0);
  else if (last_.number != 0 && (lost_ || !last_.is_last))
    complaints.add("memory accesses after the last whole snapshot are unknown", 0,
                   WarningSeverity::warning, "the program was killed, or the file is cut");
  return std::move(last_);
}

}  // namespace fathom
