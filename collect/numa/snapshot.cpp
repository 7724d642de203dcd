#include "numa/snapshot.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "core/session.h"
#include "numa/lines.h"
#include "numa/modules.h"
#include "numa/objects.h"
#include "numa/options.h"
#include "numa/pages.h"
#include "numa/recorder.h"
#include "numa/thread.h"

namespace fathom::numa {
namespace {

using record::ChunkType;

struct Totals {
  uint64_t reads = 0, writes = 0, remote = 0;
};

class Snapshot {
 public:
  void write(bool is_last);

 private:
  template <class T>
  void add(ChunkType type, const T& record) {
    Held held(recorder().lock());
    recorder().out().add(type, record);
    ++records_;
  }
  void add_modules();
  void add_threads();
  void add_thread(const Thread& thread);
  void add_page(uint64_t number, Page& page);
  void add_use(const Page& page, const Use& use);
  void add_lines(Page& page, uint64_t number, const PageLines& lines, bool mixed);
  void add_line(Page& page, uint64_t address, unsigned line, const SharedLine& shared,
                const std::vector<const Share*>& shares);
  void add_objects();
  void add_places();

  std::vector<Totals> totals_ = std::vector<Totals>(kMaxObjects);
  uint64_t records_ = 0;
  uint64_t not_counted_ = 0;
  uint32_t pages_ = 0, lines_ = 0, last_phase_ = 0;
};

void Snapshot::add_modules() {
  std::vector<uint32_t> ids;
  unsigned number = 0;
  while (const void* address = instrumented_module(number++)) {
    const auto place = collect::Session::get().modules().find(reinterpret_cast<uintptr_t>(address));
    if (place.module != record::kNone) ids.push_back(place.module);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  for (const uint32_t id : ids) add(ChunkType::numa_module, record::NumaModule{id, 0});
}

void Snapshot::add_thread(const Thread& thread) {
  record::NumaThread out{};
  out.index = thread.index;
  out.thread_id = thread.thread_id;
  out.parent = thread.parent;
  out.kind = thread.kind;
  out.start_module = record::kNone;
  if (const uintptr_t start = thread.start_address.load(std::memory_order_relaxed); start != 0) {
    const auto place = collect::Session::get().modules().find(start);
    out.start_module = place.module;
    out.start_address = place.address;
  }
  out.created_at = thread.created_at;
  out.stack_low = thread.stack_low;
  out.stack_high = thread.stack_high;
  out.start_ns = thread.start_ns;
  out.end_ns = thread.end_ns.load(std::memory_order_acquire);
  const bool runs = out.end_ns == 0;
  if (runs) out.end_ns = time_ns();
  out.cpu_ns = busy_ns(thread);
  out.parallel_accesses = parallel_accesses(thread);
  out.reads = thread.reads.get();
  out.writes = thread.writes.get();
  out.spin_reads = thread.spin_reads.get();
  out.contended_locks = thread.contended_locks.get();
  out.condition_waits = thread.condition_waits.get();
  out.barrier_waits = thread.barrier_waits.get();
  out.semaphore_waits = thread.semaphore_waits.get();
  out.wait_ns = thread.wait_ns.get();
  out.parallel_ns = thread.parallel_ns.get() + (runs ? parallel_ns() - thread.parallel_start : 0);
  add(ChunkType::numa_thread, out);
  not_counted_ += thread.not_counted.get();
  last_phase_ = std::max(last_phase_, thread.phase.load(std::memory_order_relaxed));
}

void Snapshot::add_threads() {
  for (uint32_t i = 0, n = thread_count(); i < n; ++i)
    if (const Thread* thread = thread_at(i)) add_thread(*thread);
}

/// The page's first thread; of a page that was given back, the one that it had.
uint32_t first_thread(const Page& page) {
  if (const uint32_t first = page.first.load(std::memory_order_acquire); first != 0)
    return first - 1;
  for (const auto* use = page.uses.load(); use != nullptr; use = use->next)
    for (const auto* share = use->shares.load(); share != nullptr; share = share->next)
      if (share->local.load(std::memory_order_relaxed)) return share->thread;
  return record::kNone;
}

void Snapshot::add_use(const Page& page, const Use& use) {
  record::NumaPage out{};
  for (const auto* share = use.shares.load(std::memory_order_acquire); share != nullptr;
       share = share->next) {
    const uint64_t reads = share->read_count();
    const uint64_t writes = share->write_count();
    if (reads + writes == 0) continue;
    out.reads += reads;
    out.writes += writes;
    out.remote_reads += share->reads[1].get();
    out.remote_writes += share->writes[1].get();
    ++out.threads;
  }
  if (out.threads == 0) return;
  Totals& total = totals_[use.object];
  total.reads += out.reads;
  total.writes += out.writes;
  total.remote += out.remote_reads + out.remote_writes;
  if (out.reads + out.writes < options().page_threshold) return;

  out.address = use.number << kPageBits;
  out.object = use.object;
  out.first_thread = first_thread(page);
  out.reads_after_last_write = use.reads_after.load(std::memory_order_relaxed);
  out.remote_after_last_write = use.remote_after.load(std::memory_order_relaxed);
  add(ChunkType::numa_page, out);
  for (const auto* share = use.shares.load(std::memory_order_acquire); share != nullptr;
       share = share->next) {
    const uint64_t reads = share->read_count();
    const uint64_t writes = share->write_count();
    if (reads + writes > 0)
      add(ChunkType::numa_page_thread,
          record::NumaPageThread{pages_, share->thread, reads, writes});
  }
  ++pages_;
}

void Snapshot::add_line(Page& page, uint64_t address, unsigned line, const SharedLine& shared,
                        const std::vector<const Share*>& shares) {
  record::NumaLine out{};
  out.address = address;
  out.object = shared.object;
  std::vector<LineForecast> threads;
  {
    Held held(page.lock);
    out.reads = shared.reads;
    out.writes = shared.writes;
    std::vector<LineEntry> more;
    for (const Share* share : shares) {
      const LineCount& count = share->lines.load(std::memory_order_acquire)[line];
      if (!count.any()) continue;
      more.push_back({nullptr, share->thread, share->phase, count.read_count(), count.write_count(),
                      counts_of_phase(*share, line)});
      if (share->handed_in) continue;
      out.reads += count.read_count();
      out.writes += count.write_count();
    }
    threads = forecast(shared, more);
  }
  if (threads.size() < 2 || out.writes < std::max(options().line_threshold, 1u)) return;
  for (const auto& one : threads) {
    out.true_invalidations += one.true_invalidations;
    out.false_invalidations += one.invalidations - one.true_invalidations;
  }
  if (out.true_invalidations + out.false_invalidations <= 0) return;
  out.threads = static_cast<uint32_t>(threads.size());
  add(ChunkType::numa_line, out);
  for (const auto& one : threads) {
    record::NumaLineThread by_thread{lines_, one.thread, {}, {}};
    std::copy(std::begin(one.words.reads), std::end(one.words.reads), by_thread.reads);
    std::copy(std::begin(one.words.writes), std::end(one.words.writes), by_thread.writes);
    add(ChunkType::numa_line_thread, by_thread);
  }
  ++lines_;
}

void Snapshot::add_lines(Page& page, uint64_t number, const PageLines& lines, bool mixed) {
  SharedLine** shared = lines.shared.load(std::memory_order_acquire);
  if (shared == nullptr) return;
  std::vector<const Share*> shares;
  for (auto* use = page.uses.load(std::memory_order_acquire); use != nullptr; use = use->next)
    if (use->mixed == mixed && lines_of(*use).load(std::memory_order_acquire) == &lines)
      for (auto* share = use->shares.load(std::memory_order_acquire); share != nullptr;
           share = share->next)
        if (share->lines.load(std::memory_order_acquire) != nullptr) shares.push_back(share);
  for (unsigned line = 0; line < kLinesOfPage; ++line) {
    const SharedLine* one;
    {
      Held held(page.lock);
      one = shared[line];
    }
    if (one != nullptr)
      add_line(page, number << kPageBits | uint64_t(line) << kLineBits, line, *one, shares);
  }
}

void Snapshot::add_page(uint64_t number, Page& page) {
  for (auto* use = page.uses.load(std::memory_order_acquire); use != nullptr; use = use->next) {
    add_use(page, *use);
    if (use->mixed) continue;
    if (const auto* lines = use->lines.load(std::memory_order_acquire))
      add_lines(page, number, *lines, false);
  }
  if (const auto* lines = page.mixed_lines.load(std::memory_order_acquire))
    add_lines(page, number, *lines, true);
}

void Snapshot::add_objects() {
  for (uint32_t id = 0, n = object_count(); id < n; ++id) {
    Object& object = object_at(id);
    const Totals& total = totals_[id];
    record::NumaObject out{};
    out.id = id;
    out.kind = object.kind;
    out.call_path = object.call_path;
    out.module = object.module;
    out.thread = object.thread;
    {
      Held held(object.lock);
      out.address = object.address;
      out.size = object.size;
    }
    out.count = object.count.load(std::memory_order_relaxed);
    out.total_bytes = object.total_bytes.load(std::memory_order_relaxed);
    out.reads = total.reads;
    out.writes = total.writes;
    out.remote_accesses = total.remote;
    if (out.reads + out.writes > 0) add(ChunkType::numa_object, out);
  }
}

void Snapshot::add_places() {
  std::map<std::tuple<uint32_t, uintptr_t, uint32_t>, uint64_t> all;
  const auto gather = [&](const Places& places) {
    places.for_each([&](const Places::Entry& entry) {
      all[{entry.object, entry.place, entry.is_write}] += entry.samples;
    });
  };
  gather(all_places());
  for_each_running([&](const Thread& thread) { gather(thread.work->places); });
  for (const auto& [key, samples] : all) {
    const auto place = collect::Session::get().modules().find(std::get<1>(key));
    add(ChunkType::numa_place, record::NumaPlace{std::get<0>(key), place.module, place.address,
                                                 samples, std::get<2>(key), 0});
  }
}

void Snapshot::write(bool is_last) {
  static uint32_t number = 0;
  add_modules();
  add_threads();
  visit_pages(
      0, ~uintptr_t(0),
      [](uint64_t page_number, Page& page, void* self) {
        static_cast<Snapshot*>(self)->add_page(page_number, page);
      },
      this);
  add_objects();
  add_places();
  record::NumaSnapshot out{};
  out.time_ns = time_ns();
  out.records = records_;
  out.accesses_not_counted = not_counted_ + lost_accesses.load(std::memory_order_relaxed);
  out.number = ++number;
  out.sampling = options().sampling;
  out.is_last = is_last ? 1 : 0;
  out.page_threshold = options().page_threshold;
  out.line_threshold = options().line_threshold;
  out.epochs = last_phase_ / kPhaseStep + 1;
  Held held(recorder().lock());
  recorder().out().flush();
  recorder().out().add(ChunkType::numa_snapshot, out);
  recorder().out().flush();
}

}  // namespace

void write_snapshot(bool is_last) {
  Snapshot snapshot;
  snapshot.write(is_last);
}

}  // namespace fathom::numa
