#include "numa/thread.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <new>

#include "numa/objects.h"
#include "numa/page_table.h"
#include "numa/pages.h"
#include "numa/phases.h"
#include "numa/slots.h"
#include "numa/state.h"

namespace fathom::numa {

constinit thread_local ThisThread this_thread{};
std::atomic<bool> recording{false};

namespace {

std::atomic<Thread*> threads[kMaxThreads];
std::atomic<uint32_t> count{0};

SpinLock registry_lock;  // guards what follows
Slab registry_slab;
Work* spare_work = nullptr;

SpinLock parallel_lock;
int running = 0;
uint64_t parallel_total = 0, parallel_since = 0;

// Ends a thread after its other thread-specific data have gone.
pthread_key_t end_key;
pthread_once_t end_key_once = PTHREAD_ONCE_INIT;
constexpr uintptr_t kRounds = 3;

void on_thread_end(void* rounds) {
  const auto left = reinterpret_cast<uintptr_t>(rounds);
  Inside inside;
  if (left > 1) {
    pthread_setspecific(end_key, reinterpret_cast<void*>(left - 1));
    return;
  }
  if (this_thread.thread != nullptr) end_thread(*this_thread.thread);
  this_thread.ended = true;
  give_back_page_table();
}

void hear_of_end() {
  pthread_once(&end_key_once, [] { pthread_key_create(&end_key, on_thread_end); });
  pthread_setspecific(end_key, reinterpret_cast<void*>(kRounds));
}

uint64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

Work* take_work() {
  Held held(registry_lock);
  if (Work* work = spare_work; work != nullptr) {
    spare_work = work->next;
    return work;
  }
  void* memory = registry_slab.take(sizeof(Work));
  void* slots = map_memory(sizeof(SlotTable));
  if (memory == nullptr || slots == nullptr) return nullptr;
  auto* work = new (memory) Work{};
  work->slots = static_cast<SlotTable*>(slots);
  return work;
}

void give_back(Work* work) {
  work->shares.clear();
  drop_slots(*work->slots, __fathom_numa_table);
  work->dirty = nullptr;
  work->spin = {};
  delete work->unwinder;
  delete work->stack;
  work->unwinder = nullptr;
  work->stack = nullptr;
  all_places().take(work->places);
  Held held(registry_lock);
  work->next = spare_work;
  spare_work = work;
}

void find_stack(Thread& thread) {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return;
  void* low = nullptr;
  size_t size = 0;
  if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
    thread.stack_low = reinterpret_cast<uintptr_t>(low);
    thread.stack_high = thread.stack_low + size;
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

uint64_t time_ns() {
  static const uint64_t start = monotonic_ns();
  return monotonic_ns() - start;
}

uint64_t cpu_time_ns(clockid_t clock) {
  timespec now{};
  if (clock_gettime(clock, &now) != 0) return 0;
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

void count_running(int change) {
  Held held(parallel_lock);
  const uint64_t now = time_ns();
  if (running >= 2) parallel_total += now - parallel_since;
  parallel_since = now;
  running += change;
}

uint64_t parallel_ns() {
  Held held(parallel_lock);
  return parallel_total + (running >= 2 ? time_ns() - parallel_since : 0);
}

Thread* prepare_thread(Thread* parent, record::ThreadKind kind, uintptr_t start,
                       uint32_t created_at) {
  Held held(registry_lock);
  const uint32_t index = count.load(std::memory_order_relaxed);
  if (index == kMaxThreads) return nullptr;
  void* memory = registry_slab.take(sizeof(Thread));
  if (memory == nullptr) return nullptr;
  auto* thread = new (memory) Thread{};
  thread->index = index;
  thread->parent = parent == nullptr ? 0 : parent->index;
  thread->kind = kind;
  thread->start_address = start;
  thread->created_at = created_at;
  thread->start_ns = time_ns();
  const uint32_t phase = parent == nullptr ? 0 : parent->phase.load(std::memory_order_relaxed);
  thread->phase = phase;
  thread->bound = phase;
  thread->in_parallel = index > 0;
  threads[index].store(thread, std::memory_order_release);
  count.store(index + 1, std::memory_order_release);
  return thread;
}

void note_joined(Thread& parent, Thread& joined) {
  if (joined.parent != parent.index || joined.end_ns.load(std::memory_order_acquire) == 0) return;
  Thread** at = &parent.successors;
  while (*at != nullptr && (*at)->index < joined.index) at = &(*at)->next_successor;
  joined.next_successor = *at;
  *at = &joined;
}

Thread* take_successor(Thread& parent, record::ThreadKind kind, uintptr_t start) {
  for (Thread** at = &parent.successors; *at != nullptr; at = &(*at)->next_successor) {
    Thread& thread = **at;
    if (thread.kind != kind || thread.start_address.load(std::memory_order_relaxed) != start)
      continue;
    *at = thread.next_successor;
    thread.next_successor = nullptr;
    return &thread;
  }
  return nullptr;
}

void adopt_thread(Thread& thread) {
  Inside inside;
  thread.work = take_page_table() ? take_work() : nullptr;
  if (thread.work == nullptr) {
    this_thread.ended = true;
    thread.end_ns = time_ns();
    thread.bound = kNobody;
    return;
  }
  thread.thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
  pthread_getcpuclockid(pthread_self(), &thread.cpu_clock);
  thread.handle = pthread_self();
  find_stack(thread);
  add_stack(thread);
  if (thread.end_ns.load(std::memory_order_relaxed) == 0) thread.start_ns = time_ns();
  thread.end_ns.store(0, std::memory_order_release);
  thread.parallel_start = parallel_ns();
  count_running(1);
  thread.work->epoch = thread.work->waited_in = 0;  // looks around at its first access
  thread.work->counting = true;
  thread.slots.store(__fathom_numa_table, std::memory_order_release);
  hear_of_end();
  this_thread.thread = &thread;
}

bool begin_passing_by() {
  if (this_thread.ended) return false;
  const Inside inside;
  if (!take_page_table()) return false;
  hear_of_end();
  return true;
}

void discard_thread(Thread& thread) {
  thread.bound.store(kNobody, std::memory_order_release);
  // If it goes on with another's numbers, those stay.
  if (thread.end_ns.load(std::memory_order_acquire) == 0)
    threads[thread.index].store(nullptr, std::memory_order_release);
}

void end_thread(Thread& thread) {
  Inside inside;
  if (this_thread.thread != &thread) return;
  this_thread.thread = nullptr;
  this_thread.ended = true;
  thread.busy.store(1, std::memory_order_release);
  if (is_recording()) hand_in_phase(thread, thread.phase.load(std::memory_order_relaxed));
  {
    Held held(thread.slots_lock);
    thread.slots.store(nullptr, std::memory_order_release);
  }
  thread.bound.store(kNobody, std::memory_order_release);
  const uint64_t cpu = cpu_time_ns(CLOCK_THREAD_CPUTIME_ID);
  thread.final_cpu_ns.add(cpu);
  if (const uint64_t since = thread.idle_since.get(); since != 0)
    thread.idle_cpu_ns.add(cpu > since ? cpu - since : 0);
  else
    count_running(-1);
  thread.idle_since.set(0);
  thread.parallel_ns.add(parallel_ns() - thread.parallel_start);
  thread.end_ns.store(std::max<uint64_t>(time_ns(), 1), std::memory_order_release);
  remove_stack(thread);
  give_back(thread.work);
  thread.work = nullptr;
  thread.busy.store(0, std::memory_order_release);
}

Thread* current_thread() {
  if (this_thread.thread != nullptr || this_thread.ended || !is_recording())
    return this_thread.thread;
  Thread* first = thread_at(0);
  Thread* thread = prepare_thread(
      first, first == nullptr ? record::ThreadKind::main : record::ThreadKind::pthread, 0,
      record::kNone);
  if (thread == nullptr) {
    this_thread.ended = true;
    return nullptr;
  }
  adopt_thread(*thread);
  return this_thread.thread;
}

Hook::Hook() : errno_(errno) {
  if (this_thread.depth > 0 || !is_recording()) return;
  {
    const Inside inside;
    thread_ = current_thread();
  }
  if (thread_ == nullptr) return;
  ++this_thread.depth;
  thread_->busy.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (epoch.load(std::memory_order_relaxed) != kClosed) return;
  thread_->busy.store(0, std::memory_order_release);
  thread_ = nullptr;
  --this_thread.depth;
}

Hook::~Hook() {
  if (thread_ == nullptr) return;
  thread_->busy.store(0, std::memory_order_release);
  --this_thread.depth;
  errno = errno_;
}

uint64_t busy_ns(const Thread& thread) {
  const bool runs = thread.slots.load(std::memory_order_acquire) != nullptr;
  const uint64_t now = runs ? cpu_time_ns(thread.cpu_clock) : 0;
  uint64_t idle = thread.idle_cpu_ns.get();
  if (const uint64_t since = thread.idle_since.get(); since != 0 && now > since)
    idle += now - since;
  const uint64_t cpu = thread.final_cpu_ns.get() + now;
  return cpu > idle ? cpu - idle : 0;
}

uint64_t parallel_accesses(const Thread& thread) {
  const uint64_t now = thread.reads.get() + thread.writes.get();
  const uint64_t begun = thread.serial_accesses.get();
  const bool more = thread.in_parallel && now > begun;
  return thread.parallel_accesses.get() + (more ? now - begun : 0);
}

void set_parallel(Thread& thread, bool parallel) {
  if (parallel == thread.in_parallel) return;
  thread.parallel_accesses.set(parallel_accesses(thread));
  thread.serial_accesses.set(thread.reads.get() + thread.writes.get());
  thread.in_parallel = parallel;
}

uint32_t thread_count() {
  return count.load(std::memory_order_acquire);
}

Thread* thread_at(uint32_t index) {
  return index < kMaxThreads ? threads[index].load(std::memory_order_acquire) : nullptr;
}

Thread* find_joinable(pthread_t handle) {
  for (uint32_t i = thread_count(); i-- > 0;) {
    Thread* thread = thread_at(i);
    if (thread != nullptr && thread->joinable.load(std::memory_order_acquire) &&
        thread->handle.load(std::memory_order_relaxed) == handle)
      return thread;
  }
  return nullptr;
}

uint32_t first_open_phase() {
  uint32_t first = kNobody;
  for (uint32_t i = 0, n = thread_count(); i < n; ++i)
    if (const Thread* thread = thread_at(i))
      first = std::min(first, thread->bound.load(std::memory_order_acquire));
  return first;
}

void call_threads(uint64_t now) {
  for_each_running([=](Thread& thread) {
    PageSlot* slots = thread.slots.load(std::memory_order_acquire);
    const UsedSlots& used = thread.work->slots->used;
    for (uint32_t n = 0, size = used.size(); n < size; ++n)
      if (is_turn(used[n], now))
        __atomic_store_n(&slots[used[n].index].first_line, 0, __ATOMIC_RELAXED);
  });
}

void clear_slots() {
  for_each_running([](Thread& thread) {
    PageSlot* slots = thread.slots.load(std::memory_order_acquire);
    for (unsigned i = 0; i < kCachedPages; ++i)  // most have never been written, nor shall be here
      if (__atomic_load_n(&slots[i].first_line, __ATOMIC_SEQ_CST) != 0)
        __atomic_store_n(&slots[i].first_line, 0, __ATOMIC_RELAXED);
  });
}

void forget_shares(uintptr_t low, uintptr_t high) {
  for_each_running([=](Thread& thread) { thread.work->shares.erase(low, high); });
}

void clear_slots(uintptr_t low, uintptr_t high) {
  // At the end all slots are cleared already, and the collector holds the lock of the thread whose
  // counts it hands in.
  if (!is_recording()) return;
  const uint64_t first = low >> kPageBits, last = (high - 1) >> kPageBits;
  if (last - first >= kCachedPages) return clear_slots();
  for_each_running([=](Thread& thread) {
    PageSlot* slots = thread.slots.load(std::memory_order_acquire);
    for (uint64_t page = first; page <= last; ++page) {
      uint64_t* line = &slots[page % kCachedPages].first_line;
      if (__atomic_load_n(line, __ATOMIC_SEQ_CST) == page << (kPageBits - kLineBits))
        __atomic_store_n(line, 0, __ATOMIC_RELAXED);
    }
    thread.work->shares.unmark(low, high);
  });
}

}  // namespace fathom::numa
