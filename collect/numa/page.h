#pragma once
// What is known of each page of the program's memory.
//
//   Page            one for each page that was accessed or allocated in: its first thread, its Uses
//   Use             what happened to one object in this page
//   Share           what one thread did in a Use
//   PageLines       the cache lines of a page that several threads use and at least one writes
//   SharedLine      one of them that several threads accessed
//
// A Share's counters are changed by its thread alone. Lists grow at their heads and never shrink.
// Everything else is guarded by the page's lock.

#include <atomic>
#include <cstdint>

#include "numa/abi.h"
#include "numa/lock.h"

namespace fathom::numa {

inline constexpr uint32_t kNobody = 0xffffffffu;
inline constexpr uint16_t kShared = 0xffff;
inline constexpr unsigned kGranuleBits = 4;  ///< small objects are told apart by 16 bytes
inline constexpr unsigned kGranules = 1u << (kPageBits - kGranuleBits);

struct Use;
struct Share;
struct PageLines;
struct SharedLine;
struct LineWords;

/// Which object each 16 bytes of a page belong to; 0: unknown.
struct Granules {
  std::atomic<uint16_t> objects[kGranules];
  std::atomic<uint32_t> changes;  ///< how often memory has become another object's
  Granules* next;                 ///< spare one
};

struct Page {
  SpinLock lock;
  std::atomic<uint32_t> first;  ///< thread's index + 1; 0: nobody since it was mapped
  std::atomic<Use*> current;    ///< of the object that covers all of it; null: must be looked up
  std::atomic<Use*> uses;
  std::atomic<Granules*> granules;      ///< where small objects lie
  std::atomic<PageLines*> mixed_lines;  ///< of a page of small objects
  std::atomic<bool> several;            ///< threads accessed it
  std::atomic<bool> written;            ///< since several threads access it
};

struct Use {
  Use* next;
  Page* page;
  uint64_t number;  ///< of the page: address >> kPageBits
  uint32_t object;
  bool mixed;  ///< other objects lie in the same page
  std::atomic<Share*> shares;
  std::atomic<PageLines*> lines;
  uint32_t last_write_phase;                        ///< + 1; 0: never written
  std::atomic<uint64_t> reads_after, remote_after;  ///< the last phase that wrote
};

/// Of a line in the present phase; saturating. One word, so that a page's are quickly copied.
class LineCount {
 public:
  uint32_t read_count() const { return static_cast<uint32_t>(get()); }
  uint32_t write_count() const { return static_cast<uint32_t>(get() >> 32); }
  bool any() const { return get() != 0; }
  void clear() { both_.store(0, std::memory_order_relaxed); }
  void set(const LineCounter& counter) {
    const uint64_t reads = counter.reads & ~kBarred, writes = counter.writes & ~kBarred;
    both_.store(writes << 32 | reads, std::memory_order_relaxed);
  }
  void add(uint64_t reads, uint64_t writes) {
    both_.store(both(read_count() + reads, write_count() + writes), std::memory_order_relaxed);
  }

 private:
  uint64_t get() const { return both_.load(std::memory_order_relaxed); }
  static uint64_t both(uint64_t reads, uint64_t writes) {
    constexpr uint64_t kMost = 0xffffffff;
    return (writes < kMost ? writes : kMost) << 32 | (reads < kMost ? reads : kMost);
  }
  std::atomic<uint64_t> both_;
};

/// The first cache line has what each access needs that no slot has.
struct alignas(64) Share {
  Counter reads[2], writes[2];    ///< [0]: local, [1]: remote ones
  std::atomic<LineCount*> lines;  ///< kLinesOfPage, of a page that is tracked in detail
  const Granules* granules;       ///< null: all of the page belongs to the object
  uint16_t object;
  uint16_t thread;
  uint32_t phase;             ///< that lines and the present counts are of
  bool dirty;                 ///< touched in this phase
  std::atomic<bool> local;    ///< the thread is the page's first
  std::atomic<bool> several;  ///< as the page's, or likely to become so
  std::atomic<bool> written;  ///< as the page's
  bool handed_in;             ///< that phase is over; guarded by the page's lock
  uint8_t phases_alone;       ///< in which the thread owned all lines, one after the other

  PageLines* page_lines;         ///< set together with lines
  uint64_t touched;              ///< bit i: line i has counts
  std::atomic<uint64_t> worded;  ///< bit i: line i has counts by words in this phase
  uint64_t learned;              ///< bit i: enough is known of which words of line i it accesses
  uint32_t life;                 ///< of the page, that the counts by lines are of
  uint32_t write_phase;          ///< + 1: the last in which the thread wrote; 0: none
  Use* use;
  Share* next;                           ///< of the Use
  Share* next_dirty;                     ///< of the thread
  std::atomic<LineWords*> words;         ///< kLinesOfPage
  uint64_t reads_before, writes_before;  ///< this phase

  uint64_t read_count() const { return reads[0].get() + reads[1].get(); }
  uint64_t write_count() const { return writes[0].get() + writes[1].get(); }
};

struct PageLines {
  std::atomic<uint64_t> hot;         ///< bit i: line i is tracked by words
  std::atomic<SharedLine**> shared;  ///< kLinesOfPage
  uint64_t kept;                     ///< bit i: the owner of line i held it before its last phase
  uint64_t copies;                   ///< bit i: others hold copies of line i, which has an owner
  std::atomic<uint32_t> life;        ///< how often the memory has been given back
  std::atomic<uint16_t> alone;   ///< index + 1 of the thread that counts the page as one (alone.h)
  uint32_t owned_since;          ///< the last phase in which a line got an owner
  uint16_t owner[kLinesOfPage];  ///< index + 1 of the thread that is alone with it; or kShared
  uint64_t of_main_owner;        ///< bit i: main_owner owns line i. Not all such lines, perhaps
  uint16_t main_owner;

  void set_owner(unsigned line, uint16_t whose) {
    const uint64_t bit = uint64_t(1) << line;
    owner[line] = whose;
    of_main_owner &= ~bit;
    if (whose == 0 || whose == kShared) return;
    if (of_main_owner == 0) main_owner = whose;
    if (main_owner == whose) of_main_owner |= bit;
  }
};

/// The page record of an address; makes it. Null if memory is short.
Page* make_page(uintptr_t address);
/// Null if there is none.
Page* find_page(uintptr_t address);
/// Calls visit(page number, page, data) for the pages in [low, high) that have records. A hole
/// costs nothing.
void visit_pages(uintptr_t low, uintptr_t high, void (*visit)(uint64_t, Page&, void*), void* data);

}  // namespace fathom::numa
