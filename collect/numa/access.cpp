// The interface of abi.h: from an access to a slot of the thread's table.

#include <algorithm>

#include "numa/objects.h"
#include "numa/options.h"
#include "numa/page_table.h"
#include "numa/pages.h"
#include "numa/phases.h"
#include "numa/slots.h"
#include "numa/state.h"
#include "numa/thread.h"

#define FATHOM_EXPORT __attribute__((visibility("default")))
#define FATHOM_COLD __attribute__((noinline, cold))

namespace fathom::numa {
namespace {

constexpr uint32_t kWidestAccess = 16;      ///< anything wider is a copy of a block
constexpr uint64_t kMostAtOnce = 1u << 24;  ///< that a slot's counters take up
constexpr uint32_t kSamplePeriod = 31;      ///< lines for each sample of places

/// A page that comes into the table is worth so many lines: the first ones after a look around are
/// all sampled.
constexpr uint32_t kLinesOfASlot = 4, kSampledSlots = 64;

/// Whether this millisecond is one that counts.
bool is_sampled() {
  const uint32_t sampling = options().sampling;
  const uint64_t now = interval.load(std::memory_order_relaxed);
  return sampling == 0 || (now & ((uint64_t(1) << sampling) - 1)) == 0;
}

/// Something has changed, or time has passed. False: the measurement is over.
FATHOM_COLD bool look_around(Thread& thread) {
  const uint64_t now = epoch.load(std::memory_order_acquire);
  if (now == kClosed) return false;
  Work& work = *thread.work;
  const int saved = errno;
  work.epoch = now;
  work.slots_filled = 0;
  look_around_slots(thread);
  work.counting = is_sampled();
  errno = saved;
  return true;
}

void sample_place(Work& work, const Share& share, uintptr_t place, bool is_write, uint64_t lines) {
  if (lines < work.until_sample) {
    work.until_sample -= static_cast<uint32_t>(lines);
    return;
  }
  work.until_sample = kSamplePeriod;
  work.places.add(share.object, place - 1, is_write, std::max<uint64_t>(lines / kSamplePeriod, 1));
}

/// Accesses that begin in one line, or in one page: `stride` bytes apart.
struct Run {
  uintptr_t address;
  uint32_t size;
  bool is_write;
  uint64_t count;
  int64_t stride;
};

void add(LineCounter& counter, bool is_write, uint64_t count) {
  (is_write ? counter.writes : counter.reads) += static_cast<uint32_t>(count);
}

uint32_t weight_of_slot(Work& work) {
  return ++work.slots_filled <= kSampledSlots ? kSamplePeriod : kLinesOfASlot;
}

/// A page of which no line is of interest need not have a slot at once: where a program jumps about
/// in much memory, it would push out another page for one access. And a table that has some of what
/// a program jumps about in would have the processor guess, each time, whether it has the next.
constexpr uint32_t kWorthASlot = 16;
/// Nor if another page has its slot, and has not been in the way for long.
constexpr uint8_t kMostWaits = 32;

/// Whether a page that has been accessed so often need not have a slot yet.
bool waits_for_slot(Work& work, uintptr_t address, uint32_t accesses) {
  SlotUse& use = work.slots->uses[address >> kPageBits & (kCachedPages - 1)];
  if (use.share != nullptr && use.page == address >> kPageBits) return false;  // it has one
  return accesses < kWorthASlot || (use.share != nullptr && ++use.challenges < kMostWaits);
}

/// The page's entry if the run may be counted there.
PageEntry* entry_for(Work& work, const Run& run) {
  PageEntry* entry = work.shares.find_entry(run.address);
  const bool may = entry != nullptr && entry->may_count(run.is_write) && run.count <= kMostAtOnce &&
                   waits_for_slot(work, run.address, entry->counts.reads + entry->counts.writes);
  return may ? entry : nullptr;
}

bool count_without_slot(Thread& thread, const Run& run, uintptr_t place) {
  constexpr uint32_t kUnsampled = 64;
  PageEntry* entry = entry_for(*thread.work, run);
  Share* share = entry == nullptr ? nullptr : entry->share();
  if (share == nullptr) return false;
  count_in_entry(thread, *entry, run.is_write, run.count);
  if (++thread.work->simple_misses % kUnsampled == 0)
    sample_place(*thread.work, *share, place, run.is_write, kSamplePeriod);
  return true;
}

/// Adds to counts that are there already; the run is in one page.
bool count_again(const Run& run) {
  const ThisThread& me = this_thread;
  if (me.depth > 0 || me.thread == nullptr) return false;
  Work& work = *me.thread->work;
  if (epoch.load(std::memory_order_relaxed) != work.epoch) return false;
  PageEntry* entry = entry_for(work, run);
  if (entry == nullptr || (entry->counts.reads | entry->counts.writes) == 0) return false;
  work.spin.other_access();
  add(entry->counts, run.is_write, run.count);
  return true;
}

/// Counts a run in one line.
void count_in_line(Thread& thread, const Run& run, uintptr_t place) {
  Share* share = share_for(thread, run.address);
  if (share == nullptr) return thread.not_counted.add(run.count);
  Work& work = *thread.work;
  const uint64_t line = run.address >> kLineBits;
  if (run.is_write) share->write_phase = thread.phase.load(std::memory_order_relaxed) + 1;
  consider_lines(thread, *share, run.is_write);
  if (is_hot(*share, line)) {
    sample_place(work, *share, place, run.is_write, 1);
    if (work.counting)
      count_words(thread, *share, run.address, run.size, run.is_write, run.count, run.stride);
    return;
  }
  sample_place(work, *share, place, run.is_write,
               share->granules != nullptr ? 1 : weight_of_slot(work));
  mark_entry(thread, run.address, *share);
  if (run.count <= kMostAtOnce && !is_taken(thread, run.address, *share))
    if (LineCounter* counter = take_up(thread, run.address, *share))
      return add(*counter, run.is_write, run.count);
  if (work.counting)
    count_into(thread, *share, line, run.is_write ? 0 : run.count, run.is_write ? run.count : 0);
}

/// How many steps fit into `room` bytes.
uint32_t steps_in(uint32_t room, uint32_t step) {
  return (step & (step - 1)) == 0 ? room >> __builtin_ctz(step) : room / step;
}

/// How many of `left` accesses, `stride` apart, begin in the same piece of 2^bits bytes as the
/// first.
uint64_t run_within(unsigned bits, uintptr_t address, int64_t stride, uint64_t left) {
  const auto last = static_cast<uint32_t>((1u << bits) - 1);
  const auto at = static_cast<uint32_t>(address) & last;
  const uint64_t step = stride > 0 ? static_cast<uint64_t>(stride) : -static_cast<uint64_t>(stride);
  if (step > last) return 1;
  if (step == 0) return left;
  const uint32_t room = stride > 0 ? last - at : at;
  return std::min<uint64_t>(left, steps_in(room, static_cast<uint32_t>(step)) + uint64_t(1));
}

/// Steps that divide a line's size, upwards within a page: most loops'.
bool count_simple_run(const Run& run) {
  const auto step = static_cast<uint64_t>(run.stride);
  if (step - 1 >= 1u << kLineBits || (step & (step - 1)) != 0 || run.count > 1u << kPageBits)
    return false;
  const uintptr_t last = run.address + (run.count - 1) * step;
  PageSlot& slot = slot_of(run.address);
  if (page_in(slot) != run.address >> kPageBits || last >> kPageBits != run.address >> kPageBits)
    return false;
  uint64_t line = run.address >> kLineBits & (kLinesOfPage - 1);
  const uint64_t end = last >> kLineBits & (kLinesOfPage - 1);
  const uint64_t range = ~uint64_t(0) << line & ~uint64_t(0) >> (kLinesOfPage - 1 - end);
  if ((range & ~(run.is_write ? slot.writable : slot.readable)) != 0) return false;
  if (slot.mask == 0) {
    add(slot.counts[0], run.is_write, run.count);
    return true;
  }
  const auto shift = static_cast<unsigned>(__builtin_ctzll(step));
  const uint64_t each = (1u << kLineBits) >> shift;
  uint64_t left = run.count;
  uint64_t here = ((~run.address & ((1u << kLineBits) - 1)) >> shift) + 1;
  for (; line < end; ++line, left -= here, here = each) add(slot.counts[line], run.is_write, here);
  add(slot.counts[end], run.is_write, left);
  return true;
}

/// Adds the accesses that the thread's table has a place for, up to the first that it has none for.
/// Leaves those to come in `run`.
void count_known(Run& run) {
  while (run.count > 0) {
    PageSlot& slot = slot_of(run.address);
    if (page_in(slot) != run.address >> kPageBits) return;
    const uint64_t ready = run.is_write ? slot.writable : slot.readable;
    const uint64_t in_page = run_within(kPageBits, run.address, run.stride, run.count);
    for (uint64_t left = in_page; left > 0;) {
      const uint64_t line = run.address >> kLineBits;
      if ((ready & bit_of(line)) == 0) return;
      const uint64_t here =
          slot.mask == 0 ? left : run_within(kLineBits, run.address, run.stride, left);
      if (here > kMostAtOnce) return;
      add(slot.counts[line & slot.mask], run.is_write, here);
      run.address += here * static_cast<uint64_t>(run.stride);
      run.count -= here;
      left -= here;
    }
  }
}

void count_strided(Thread& thread, Run run, uintptr_t place) {
  while (run.count > 0) {
    Run here = run;
    here.count = run_within(kLineBits, run.address, run.stride, run.count);
    count_in_line(thread, here, place);
    run.address += here.count * static_cast<uint64_t>(run.stride);
    run.count -= here.count;
    count_known(run);
  }
}

/// Nothing is measured, or not of this thread, or not now: the program shall lose little time.
FATHOM_COLD void pass_by(uintptr_t address, uint64_t count) {
  const ThisThread& me = this_thread;
  if (me.depth > 0) {  // a signal handler has interrupted the runtime
    if (me.thread != nullptr) me.thread->not_counted.add(count);
    return;
  }
  if (is_recording()) {
    lost_accesses.fetch_add(count, std::memory_order_relaxed);
    return;
  }
  if (has_page_table() || begin_passing_by()) pass_page_by(address);
}

Thread* working_thread() {
  const ThisThread& me = this_thread;
  if (me.depth > 0) return nullptr;
  if (me.thread == nullptr) {
    if (!is_recording() || me.ended) return nullptr;
    const Inside inside;
    if (current_thread() == nullptr) return nullptr;
  }
  return this_thread.thread;
}

/// Reads that only wait are not work.
bool is_spin_read(Thread& thread, uintptr_t address, uint32_t flags, uintptr_t place) {
  SpinWatch& spin = thread.work->spin;
  const bool is_read = (flags & (kIsAtomic | kIsWrite)) == kIsAtomic;
  if ((flags & kIsSpinning) != 0) return true;
  if (!is_read) {
    spin.other_access();
    return false;
  }
  return spin.is_spinning(address, flags & kSizeMask, place, *thread.work->slots);
}

bool is_in_page(const Run& run) {
  return run_within(kPageBits, run.address, run.stride, run.count) == run.count;
}

/// A copy of a block counts as one access for each 8 bytes.
Run run_of(uintptr_t address, uint32_t flags) {
  const uint32_t size = flags & kSizeMask;
  const bool is_write = (flags & kIsWrite) != 0;
  if (size <= kWidestAccess) return {address, size, is_write, 1, 0};
  return {address, 8, is_write, (size + 7) / 8, 8};
}

void count_run(Thread& thread, const Run& run, uintptr_t place) {
  if (!is_in_page(run) || !count_without_slot(thread, run, place))
    count_strided(thread, run, place);
}

void access(uintptr_t address, uint32_t flags, uintptr_t place) {
  const Run run = run_of(address, flags);
  Thread* thread = working_thread();
  if (__builtin_expect(thread == nullptr, 0)) return pass_by(address, run.count);
  {
    const Working working(*thread);
    if (__builtin_expect(epoch.load(std::memory_order_relaxed) == thread->work->epoch, 1) ||
        look_around(*thread)) {
      if (is_spin_read(*thread, address, flags, place)) return thread->spin_reads.add(1);
      count_run(*thread, run, place);
      thread->work->spin.counted(*thread->work->slots);
      return;
    }
  }
  pass_by(address, run.count);
}

__attribute__((noinline)) void strided(const Run& run, uintptr_t place) {
  Thread* thread = working_thread();
  if (thread == nullptr) return pass_by(run.address, run.count);
  const Working working(*thread);
  if (epoch.load(std::memory_order_relaxed) != thread->work->epoch && !look_around(*thread)) return;
  thread->work->spin.other_access();
  count_run(*thread, run, place);
}

}  // namespace

std::atomic<uint64_t> lost_accesses{0};

}  // namespace fathom::numa

using namespace fathom::numa;

extern "C" {

FATHOM_EXPORT void __fathom_numa_access(uintptr_t address, uint32_t size_and_flags) {
  // A line that is new here is likely to be new to the processor's cache as well, and the program
  // is about to wait for it.
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  if ((size_and_flags & (kIsAtomic | kIsSpinning)) == 0) {
    const Run run = run_of(address, size_and_flags);
    if (run.count == 1 ? count_again(run)
                       : count_simple_run(run) || (is_in_page(run) && count_again(run)))
      return;
  }
  access(address, size_and_flags, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

FATHOM_EXPORT void __fathom_numa_access_at(uintptr_t address, uint32_t size_and_flags,
                                           uintptr_t place) {
  access(address, size_and_flags, place);
}

FATHOM_EXPORT void __fathom_numa_strided(uintptr_t address, uint32_t size_and_flags, uint64_t count,
                                         int64_t stride) {
  Run run{address, size_and_flags & kSizeMask, (size_and_flags & kIsWrite) != 0, count, stride};
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  if (count == 0 || count_simple_run(run)) return;
  count_known(run);
  if (run.count == 0) return;
  if (is_in_page(run) && count_again(run)) return;
  strided(run, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
}
