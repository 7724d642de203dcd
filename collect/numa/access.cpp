// The interface of abi.h: from an access to a slot of the thread's table.

#include <algorithm>

#include "numa/objects.h"
#include "numa/options.h"
#include "numa/pages.h"
#include "numa/phases.h"
#include "numa/state.h"
#include "numa/thread.h"

#define FATHOM_EXPORT __attribute__((visibility("default")))
#define FATHOM_COLD __attribute__((noinline, cold))

namespace fathom::numa {
namespace {

constexpr uint32_t kWidestAccess = 16;  ///< anything wider is a copy of a block
/// Accesses of a thread to a page that others use, of which each comes to the runtime: a write that
/// follows a read to the same line must be seen early.
constexpr uint8_t kProbation = 16;
constexpr uint32_t kSamplePeriod = 31;  ///< lines for each sample of places
constexpr uint64_t kMostAtOnce = 1u << 24;     ///< that a slot's counters take up
constexpr uint64_t kOnlyReads = uint64_t(1) << 60;  ///< in a page's tag: writes have to come here
constexpr uint32_t kPageHits = 16;  ///< until one of them looks at the line as well
constexpr uint64_t kLinesByThemselves = 8;     ///< of a page; more do not come into the table

void set_tag(LineSlot& slot, uint64_t tag) {
  __atomic_store_n(&slot.tag, tag, __ATOMIC_RELAXED);
}

LineSlot& slot_of(uintptr_t address) {
  return __fathom_numa_lines[(address >> kLineBits) % kCachedLines];
}

uint32_t words_of(uintptr_t address, uint32_t size) {
  const unsigned begin = address & ((1u << kLineBits) - 1);
  const unsigned end = std::min(begin + std::max(size, 1u), 1u << kLineBits) - 1;
  const uint32_t up_to = (2u << (end >> kWordBits)) - 1, below = (1u << (begin >> kWordBits)) - 1;
  return (up_to & ~below) & 0xffff;
}

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
  flush_slots(thread, __fathom_numa_lines);
  look_for_hot_lines(thread);
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

/// A page of which no line is of interest, nor will be before its state changes.
bool is_simple(const Share& share) {
  if (share.granules != nullptr || share.lines.load(std::memory_order_relaxed) != nullptr)
    return false;
  return !share.several.load(std::memory_order_relaxed) || share.probation >= kProbation;
}

constinit thread_local uint32_t page_hits __attribute__((tls_model("initial-exec"))) = 0;

/// Adds to a page that the thread's table has. Now and then it does not, so that lines that are
/// used often get slots of their own, and samples are taken.
bool count_in_known_page(uintptr_t address, uint64_t count, bool is_write) {
  const uint64_t page = address >> kPageBits;
  LineSlot& slot = __fathom_numa_lines[page_slot(page)];
  const uint64_t tag = __atomic_load_n(&slot.tag, __ATOMIC_RELAXED);
  if ((is_write ? tag : tag & ~kOnlyReads) != page || count > kMostAtOnce) return false;
  if (++page_hits % kPageHits == 0) return false;
  (is_write ? slot.writes : slot.reads) += static_cast<uint32_t>(count);
  return true;
}

/// A slot takes up a page.
void fill_page_slot(Thread& thread, uint64_t page, Share& share) {
  LineSlot& slot = __fathom_numa_lines[page_slot(page)];
  SlotUse& use = thread.work->slot_uses[page_slot(page)];
  if (use.line != page || use.share != &share) {
    if ((slot.reads | slot.writes) != 0 && use.share != nullptr && thread.work->counting)
      count_in_page(thread, *use.share, slot.reads, slot.writes);
    slot.reads = slot.writes = 0;
    use = {page, &share};
  }
  set_tag(slot, share.several.load(std::memory_order_relaxed) ? page | kOnlyReads : page);
}

/// The slot takes up the line of an address, whose counts go to `share`.
LineSlot& fill_slot(Thread& thread, uintptr_t address, Share& share) {
  const uint64_t line = address >> kLineBits;
  LineSlot& slot = slot_of(address);
  SlotUse& use = thread.work->slot_uses[line % kCachedLines];
  if (use.line != line || use.share != &share) {
    if ((slot.reads | slot.writes) != 0 && use.share != nullptr && thread.work->counting)
      count_into(thread, *use.share, use.line, slot.reads, slot.writes);
    slot.reads = slot.writes = 0;
    use = {line, &share};
  }
  set_tag(slot, line);
  return slot;
}

/// Accesses that begin in one line, `stride` apart.
struct Run {
  uintptr_t address;
  uint32_t size;
  bool is_write;
  uint64_t count;
  int64_t stride;
};

void count_in_line(Thread& thread, const Run& run, Share& share) {
  const uint64_t line = run.address >> kLineBits;
  consider_lines(thread, share, run.is_write);
  if (is_hot(share, line)) {
    for (uint64_t i = 0; thread.work->counting && i < run.count; ++i) {
      const uintptr_t at = run.address + i * static_cast<uint64_t>(run.stride);
      count_words(thread, share, line, words_of(at, run.size), run.is_write);
    }
    return;
  }
  LineSlot& slot = fill_slot(thread, run.address, share);
  if (share.several.load(std::memory_order_relaxed) && share.probation < kProbation &&
      share.lines.load(std::memory_order_relaxed) == nullptr) {
    ++share.probation;
    set_tag(slot, 0);
  }
  if (run.count > kMostAtOnce) {
    if (thread.work->counting)
      count_into(thread, share, line, run.is_write ? 0 : run.count, run.is_write ? run.count : 0);
  } else {
    (run.is_write ? slot.writes : slot.reads) += static_cast<uint32_t>(run.count);
  }
}

void count_access(Thread& thread, uintptr_t address, uint32_t size, bool is_write,
                  uintptr_t place) {
  Share* share = share_for(thread, address);
  if (share == nullptr) return thread.not_counted.add(1);
  sample_place(*thread.work, *share, place, is_write, 1);
  count_in_line(thread, {address, size, is_write, 1, 0}, *share);
  if (is_simple(*share)) fill_page_slot(thread, address >> kPageBits, *share);
}

/// How many of `left` accesses, `stride` apart, begin in the same piece of 2^bits bytes as the first.
uint64_t run_within(unsigned bits, uintptr_t address, int64_t stride, uint64_t left) {
  const auto last = static_cast<uint32_t>((1u << bits) - 1);
  const auto at = static_cast<uint32_t>(address) & last;
  const uint64_t step = stride > 0 ? static_cast<uint64_t>(stride) : -static_cast<uint64_t>(stride);
  if (step > last) return 1;
  if (step == 0) return left;
  const uint32_t room = stride > 0 ? last - at : at;
  return std::min<uint64_t>(left, room / static_cast<uint32_t>(step) + 1);
}

/// Adds the accesses whose lines the thread's table has, up to the first that it does not have.
/// Leaves those to come in `run`.
void count_known(Run& run) {
  while (run.count > 0) {
    LineSlot& slot = slot_of(run.address);
    if (__atomic_load_n(&slot.tag, __ATOMIC_RELAXED) != run.address >> kLineBits) return;
    const uint64_t here = run_within(kLineBits, run.address, run.stride, run.count);
    if (here > kMostAtOnce) return;
    (run.is_write ? slot.writes : slot.reads) += static_cast<uint32_t>(here);
    run.address += here * static_cast<uint64_t>(run.stride);
    run.count -= here;
  }
}

/// Counts the first accesses of `run`: those in a line, or in a page of which no line is of
/// interest. Returns how many.
uint64_t count_first(Thread& thread, const Run& run, uintptr_t place) {
  const uint64_t here = run_within(kLineBits, run.address, run.stride, run.count);
  Share* share = share_for(thread, run.address);
  if (share == nullptr) {
    thread.not_counted.add(here);
    return here;
  }
  Work& work = *thread.work;
  sample_place(work, *share, place, run.is_write, 1);
  consider_lines(thread, *share, run.is_write);
  if (share->granules == nullptr && share->lines.load(std::memory_order_relaxed) == nullptr) {
    const uint64_t all = run_within(kPageBits, run.address, run.stride, run.count);
    if (all > kLinesByThemselves * here) {
      if (work.counting)
        count_in_page(thread, *share, run.is_write ? 0 : all, run.is_write ? all : 0);
      return all;
    }
  }
  count_in_line(thread, {run.address, run.size, run.is_write, here, run.stride}, *share);
  if (is_simple(*share)) fill_page_slot(thread, run.address >> kPageBits, *share);
  return here;
}

void count_strided(Thread& thread, Run run, uintptr_t place) {
  while (run.count > 0) {
    const uint64_t done = count_first(thread, run, place);
    run.address += done * static_cast<uint64_t>(run.stride);
    run.count -= done;
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
  set_tag(slot_of(address), address >> kLineBits);
  set_tag(__fathom_numa_lines[page_slot(address >> kPageBits)], address >> kPageBits);
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
  return spin.is_spinning(address, flags & kSizeMask, place, __fathom_numa_lines);
}

inline void access(uintptr_t address, uint32_t flags, uintptr_t place) {
  constexpr uint32_t kUnusual = kIsAtomic | kIsSpinning;
  if ((flags & kUnusual) == 0 && (flags & kSizeMask) <= kWidestAccess &&
      count_in_known_page(address, 1, (flags & kIsWrite) != 0))
    return;
  // A line that is new here is likely to be new to the processor's cache as well, and the program
  // is about to wait for it.
  __builtin_prefetch(reinterpret_cast<const void*>(address));
  const uint32_t size = flags & kSizeMask;
  Thread* thread = working_thread();
  const bool is_block = size > kWidestAccess;
  const uint64_t count = is_block ? (size + 7) / 8 : 1;
  if (__builtin_expect(thread == nullptr, 0)) return pass_by(address, count);
  {
    const Working working(*thread);
    if (__builtin_expect(epoch.load(std::memory_order_relaxed) == thread->work->epoch, 1) ||
        look_around(*thread)) {
      if (is_spin_read(*thread, address, flags, place)) return thread->spin_reads.add(1);
      const bool is_write = (flags & kIsWrite) != 0;
      if (is_block)
        count_strided(*thread, {address, 8, is_write, count, 8}, place);
      else
        count_access(*thread, address, size, is_write, place);
      thread->work->spin.counted(__fathom_numa_lines);
      return;
    }
  }
  set_tag(slot_of(address), address >> kLineBits);
}

__attribute__((noinline)) void strided(const Run& run, uintptr_t place) {
  Thread* thread = working_thread();
  if (thread == nullptr) return pass_by(run.address, run.count);
  const Working working(*thread);
  if (epoch.load(std::memory_order_relaxed) != thread->work->epoch && !look_around(*thread)) return;
  thread->work->spin.other_access();
  count_strided(*thread, run, place);
}

}  // namespace

std::atomic<uint64_t> lost_accesses{0};

}  // namespace fathom::numa

using namespace fathom::numa;

extern "C" {

FATHOM_EXPORT void __fathom_numa_access(uintptr_t address, uint32_t size_and_flags) {
  access(address, size_and_flags, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}

FATHOM_EXPORT void __fathom_numa_access_at(uintptr_t address, uint32_t size_and_flags,
                                           uintptr_t place) {
  access(address, size_and_flags, place);
}

FATHOM_EXPORT void __fathom_numa_strided(uintptr_t address, uint32_t size_and_flags, uint64_t count,
                                         int64_t stride) {
  Run run{address, size_and_flags & kSizeMask, (size_and_flags & kIsWrite) != 0, count, stride};
  count_known(run);
  if (run.count == 0) return;
  if (run_within(kPageBits, run.address, stride, run.count) == run.count &&
      count_in_known_page(run.address, run.count, run.is_write))
    return;
  strided(run, reinterpret_cast<uintptr_t>(__builtin_return_address(0)));
}
}
