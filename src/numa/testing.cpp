#include "numa/testing.h"

#include "base/text.h"

namespace fathom::testing {
namespace {

constexpr char kApp[] = "/project/app";
constexpr char kSource[] = "/project/app.cpp";
constexpr uint64_t kBias = 0x550000000000;  // of the program's data and code
constexpr uint64_t kData = 0x4000;          // of its variables, in the file
constexpr uint64_t kHeap = 0x7f0000000000;
constexpr uint64_t kPage = 4096, kLine = 64;
constexpr uint64_t kPagesEach = 8;
constexpr uint64_t kAccessesEach = 1'000'000;  ///< of a worker to each array
constexpr uint32_t kWritesEach = 100'000;      ///< of a worker to a shared line
constexpr uint64_t kSetUp = 512;               ///< writes of the main thread to a page

struct Users {
  std::vector<uint32_t> threads;
  uint64_t reads_each = 0, writes_each = 0;
};

/// A page that `first` sets up and `users` work with.
void add_page(NumaBuilder& numa, uint32_t object, uint64_t address, uint32_t first,
              const Users& users) {
  record::NumaPage page{};
  page.address = address;
  page.object = object;
  page.first_thread = first;
  page.writes = kSetUp;
  page.threads = uint32_t(users.threads.size()) + 1;
  for (uint32_t user : users.threads) {
    page.reads += users.reads_each;
    page.writes += users.writes_each;
    if (user == first) continue;
    page.remote_reads += users.reads_each;
    page.remote_writes += users.writes_each;
  }
  if (users.writes_each == 0) {
    page.reads_after_last_write = page.reads;
    page.remote_after_last_write = page.remote_reads;
  }
  uint32_t index = numa.page(page);
  bool is_first_a_user = false;
  for (uint32_t user : users.threads) {
    uint64_t set_up = user == first ? kSetUp : 0;
    is_first_a_user = is_first_a_user || user == first;
    numa.page_thread({index, user, users.reads_each, users.writes_each + set_up});
  }
  if (!is_first_a_user) numa.page_thread({index, first, 0, kSetUp});
}

/// A line in which each thread writes words of its own: its number, the first and how many.
struct Part {
  uint32_t thread, word, words;
};
void add_line(NumaBuilder& numa, uint32_t object, uint64_t address, const std::vector<Part>& parts,
              double false_invalidations, double true_invalidations) {
  record::NumaLine line{};
  line.address = address;
  line.object = object;
  line.threads = uint32_t(parts.size());
  line.false_invalidations = false_invalidations;
  line.true_invalidations = true_invalidations;
  line.writes = kWritesEach * parts.size();
  uint32_t index = numa.line(line);
  for (const Part& part : parts) {
    record::NumaLineThread share{};
    share.line = index;
    share.thread = part.thread;
    for (uint32_t i = 0; i < part.words; ++i) share.writes[part.word + i] = kWritesEach;
    numa.line_thread(share);
  }
}

std::vector<uint32_t> numbers(uint32_t first, uint32_t last) {
  std::vector<uint32_t> out;
  for (uint32_t i = first; i <= last; ++i) out.push_back(i);
  return out;
}

}  // namespace

NumaProgram::NumaProgram(uint32_t workers) : workers_(workers) {
  app_ = process_.module(kApp, kBias, kBias + 0x10000, kBias);
  libc_ = process_.module("/lib/x86_64-linux-gnu/libc.so.6", 0x7fff00000000, 0x7fff00100000);
  libstdcpp_ =
      process_.module("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0x7ffe00000000, 0x7ffe00100000);
  builder_.symbol("/usr/lib/x86_64-linux-gnu/libstdc++.so.6", 0x100, "_Znwm", "new_op.cc", 50);
  builder_.symbol(kApp, 0x10, "main", kSource, 90);
  builder_.symbol(kApp, 0x20, "_Z4workPv", kSource, 30);
  builder_.symbol(kApp, 0x21, "_Z5drainPv", kSource, 60);
  builder_.symbol(kApp, 0x30, "_Z4workPv", kSource, 34);
  record::NumaThread thread{};
  thread.end_ns = thread.cpu_ns = 100'000'000;
  thread.parallel_ns = 90'000'000;
  thread.start_module = thread.created_at = record::kNone;
  threads_.push_back(thread);
  thread.kind = record::ThreadKind::pthread;
  thread.start_module = app_;
  thread.start_address = 0x20;
  thread.reads = thread.writes = kAccessesEach;
  thread.parallel_accesses = 2 * kAccessesEach;
  for (uint32_t i = 1; i <= workers; ++i) threads_.push_back(thread);
}

/// The call path of an allocation in a function of the program, through operator new.
uint32_t NumaProgram::site(NumaBuilder& numa, uint64_t address, const char* function,
                           uint32_t line) {
  builder_.symbol(kApp, address, function, kSource, line);
  uint32_t main = numa.frame(record::kNone, app_, 0x10);
  uint32_t caller = numa.frame(main, app_, address);
  return numa.frame(numa.frame(caller, libstdcpp_, 0x100), libc_, 0x200);
}

uint32_t NumaProgram::heap(NumaBuilder& numa, uint32_t site, uint64_t address, uint64_t bytes,
                           uint64_t each, uint64_t accessed_at) {
  record::NumaObject object{};
  object.call_path = site;
  object.module = record::kNone;
  object.address = address;
  object.size = object.total_bytes = bytes;
  object.count = 1;
  object.reads = object.remote_accesses = workers_ * each;
  uint32_t id = numa.object(object);
  numa.place({id, app_, accessed_at, 70, 0, 0});
  numa.place({id, app_, accessed_at, 30, 1, 0});
  return id;
}

void NumaProgram::blocks() {
  later([this](NumaBuilder& numa) {
    uint64_t pages = workers_ * kPagesEach;
    uint32_t id =
        heap(numa, site(numa, 0x100, "_Z10make_fieldv", 12), kHeap, pages * kPage, kAccessesEach);
    uint64_t each = kAccessesEach / kPagesEach / 2;
    for (uint64_t i = 0; i < pages; ++i)
      add_page(numa, id, kHeap + i * kPage, 0, {{uint32_t(1 + i / kPagesEach)}, each, each});
  });
}

void NumaProgram::interleaved() {
  later([this](NumaBuilder& numa) {
    constexpr uint64_t kPages = 16, kStart = kHeap + (1 << 20);
    uint32_t id =
        heap(numa, site(numa, 0x110, "_Z9make_gridv", 14), kStart, kPages * kPage, kAccessesEach);
    uint64_t each = kAccessesEach / kPages / 2;
    for (uint64_t i = 0; i < kPages; ++i)
      add_page(numa, id, kStart + i * kPage, 0, {numbers(1, workers_), each, each});
  });
}

void NumaProgram::table() {
  later([this](NumaBuilder& numa) {
    constexpr uint64_t kPages = 16, kStart = kHeap + (2 << 20);
    uint32_t id =
        heap(numa, site(numa, 0x120, "_Z10make_tablev", 16), kStart, kPages * kPage, kAccessesEach);
    for (uint64_t i = 0; i < kPages; ++i)
      add_page(numa, id, kStart + i * kPage, 0, {numbers(1, workers_), kAccessesEach / kPages, 0});
  });
}

void NumaProgram::local_blocks() {
  later([this](NumaBuilder& numa) {
    uint64_t pages = workers_ * kPagesEach, start = kHeap + (3 << 20);
    record::NumaObject object{};
    object.call_path = site(numa, 0x130, "_Z10make_localv", 18);
    object.module = record::kNone;
    object.address = start;
    object.size = object.total_bytes = pages * kPage;
    object.count = 1;
    object.reads = workers_ * kAccessesEach;
    uint32_t id = numa.object(object);
    for (uint64_t i = 0; i < pages; ++i) {
      uint32_t owner = uint32_t(1 + i / kPagesEach);
      add_page(numa, id, start + i * kPage, owner, {{owner}, kAccessesEach / kPagesEach, 0});
    }
  });
}

void NumaProgram::counters() {
  later([this](NumaBuilder& numa) {
    constexpr uint64_t kStart = kHeap + (4 << 20);
    uint32_t id =
        heap(numa, site(numa, 0x140, "_Z13make_countersv", 20), kStart, 8 * workers_, kWritesEach);
    for (uint32_t first = 1; first <= workers_; first += 8) {
      std::vector<Part> parts;
      for (uint32_t i = first; i <= workers_ && i < first + 8; ++i)
        parts.push_back({i, 2 * ((i - 1) % 8), 2});
      add_line(numa, id, kStart + (first - 1) / 8 * kLine, parts,
               0.6 * double(parts.size() * kWritesEach), 0);
    }
  });
}

void NumaProgram::structs(uint32_t told, uint32_t size) {
  constexpr uint64_t kCode = 0x38;
  builder_.symbol(kApp, kCode, "_Z4workPv", kSource, 42, 0);
  builder_.symbol(kApp, kCode,
                  format("__fathom_numa_type %u %u tally {first:0:8, count:8:8}", told, size),
                  kSource, 42, 1);
  later([this](NumaBuilder& numa) {
    constexpr uint64_t kStart = kHeap + (6 << 20);
    uint32_t id = heap(numa, site(numa, 0x180, "_Z12make_talliesv", 22), kStart, 16 * workers_,
                       kWritesEach, kCode);
    for (uint32_t first = 1; first <= workers_; first += 4) {
      std::vector<Part> parts;
      for (uint32_t i = first; i <= workers_ && i < first + 4; ++i)
        parts.push_back({i, 4 * ((i - 1) % 4) + 2, 2});
      add_line(numa, id, kStart + (first - 1) / 4 * kLine, parts,
               0.6 * double(parts.size() * kWritesEach), 0);
    }
  });
}

void NumaProgram::global_struct() {
  builder_.variable(kApp, {kData, 16, 5, 0}, "stats", kSource, "statistics {hits:0:8, misses:8:8}");
  builder_.variable(kApp, {kData + 256, 2048, 7, 1}, "buffer", kSource, "char [2048]");
  later([this](NumaBuilder& numa) {
    record::NumaObject object{};
    object.kind = record::ObjectKind::module_data;
    object.call_path = record::kNone;
    object.module = app_;
    object.address = kBias + kData;
    object.size = object.total_bytes = kPage;
    object.count = 1;
    object.writes = 3'000'000;
    object.remote_accesses = 1'000'000;
    uint32_t id = numa.object(object);
    record::NumaPage page{};
    page.address = kBias + kData;
    page.object = id;
    page.first_thread = 1;
    page.writes = 2'000'000;
    page.remote_writes = 900'000;
    numa.page(page);
    std::vector<Part> parts = {{1, 0, 2}};
    for (uint32_t i = 2; i <= workers_; ++i) parts.push_back({i, 2, 2});
    add_line(numa, id, kBias + kData, parts, double(workers_ * kWritesEach) / 2, 0);
  });
}

void NumaProgram::shared_counter() {
  builder_.variable(kApp, {kData + kPage, 8, 9, 0}, "_ZN3app5totalE", kSource, "long");
  later([this](NumaBuilder& numa) {
    record::NumaObject object{};
    object.kind = record::ObjectKind::module_data;
    object.call_path = record::kNone;
    object.module = app_;
    object.address = kBias + kData;
    object.count = 1;
    object.writes = workers_ * kWritesEach;
    uint32_t id = numa.object(object);
    std::vector<Part> parts;
    for (uint32_t i = 1; i <= workers_; ++i) parts.push_back({i, 0, 2});
    add_line(numa, id, kBias + kData + kPage, parts, 0, double(workers_ * kWritesEach) / 2);
  });
}

void NumaProgram::waits(bool sharing) {
  builder_.symbol(kApp, 0x31, "_Z4workPv", kSource, 36);
  builder_.symbol(kApp, 0x32, "_Z4workPv", kSource, 38);
  for (record::NumaThread& thread : threads_)
    if (thread.kind == record::ThreadKind::pthread)
      thread.contended_locks = 40, thread.condition_waits = 5, thread.barrier_waits = 5;
  later([this, sharing](NumaBuilder& numa) {
    numa.place({record::kNone, app_, 0x32, 10 * workers_, 0, 0});
    numa.place({record::kNone, app_, 0x31, 40 * workers_, 0, 0});
    record::NumaObject object{};
    object.call_path = object.module = record::kNone;
    uint32_t id = numa.object(object);
    for (uint32_t i = 1; i <= workers_; ++i) {
      uint32_t next = i < workers_ ? i + 1 : i - 1;
      std::vector<uint32_t> users = {i};
      if (sharing) users.push_back(next);
      add_page(numa, id, kHeap + (5 << 20) + i * kPage, i, {users, 1000, 1000});
    }
  });
}

void NumaProgram::stages(double times) {
  for (uint32_t i = 1; i <= workers_; ++i) {
    if (i <= (workers_ + 1) / 2) continue;
    threads_[i].start_address = 0x21;
    threads_[i].reads = threads_[i].writes = uint64_t(times * kAccessesEach);
  }
}

void NumaProgram::helper() {
  threads_[workers_].start_address = 0x21;
  threads_[workers_].reads = threads_[workers_].writes = 1000;
}

void NumaProgram::allocate_by_helpers() {
  builder_.pointer_function(kApp, "grab", true);
  builder_.pointer_function(kApp, "_Z5tablei", false);
  builder_.symbol(kApp, 0x160, "grab", kSource, 2);
  builder_.symbol(kApp, 0x161, "_Z5tablei", kSource, 3);
  for (uint32_t i = 1; i <= 3; ++i) builder_.symbol(kApp, 0x170 + i, "_Z5setupv", kSource, 40 + i);
  later([this](NumaBuilder& numa) {
    uint32_t main = numa.frame(record::kNone, app_, 0x10);
    for (uint32_t i = 1; i <= 3; ++i) {
      uint32_t helper = numa.frame(numa.frame(main, app_, 0x170 + i), app_, i == 1 ? 0x160 : 0x161);
      constexpr uint64_t kPages = 4;
      uint64_t start = kHeap + (uint64_t{6 + i} << 20);
      uint32_t id =
          heap(numa, numa.frame(helper, libc_, 0x200), start, kPages * kPage, kAccessesEach);
      for (uint64_t page = 0; page < kPages; ++page)
        add_page(numa, id, start + page * kPage, 0,
                 {numbers(1, workers_), kAccessesEach / kPages, 0});
    }
  });
}

void NumaProgram::write(NumaBuilder& numa) {
  uint32_t created = numa.frame(numa.frame(record::kNone, app_, 0x10), libc_, 0x300);
  numa.module(app_);
  for (record::NumaThread& thread : threads_) {
    if (thread.kind == record::ThreadKind::pthread) thread.created_at = created;
    numa.thread(thread);
  }
  for (const auto& add : later_) add(numa);
  numa.snapshot(true, sampling_);
}

std::map<std::string, std::string> NumaProgram::files() {
  NumaBuilder numa(process_);
  write(numa);
  return builder_.files();
}

Measurement NumaProgram::read() {
  TemporaryDirectory directory;
  write_files(directory.path(), files());
  Result<Measurement> measurement = read_measurement(directory.path());
  FATHOM_INVARIANT(measurement.ok());
  return std::move(measurement).value();
}

}  // namespace fathom::testing
