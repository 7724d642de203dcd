// Counting with the default thresholds, by the fast path that instrumented code has: what the
// tables of threads make of it, and that it does not race. Runs under ThreadSanitizer as well.

#include <gtest/gtest.h>

#include <barrier>
#include <thread>
#include <vector>

#include "numa/callbacks.h"
#include "numa/lines.h"
#include "numa/options.h"
#include "numa/pages.h"
#include "numa/phases.h"
#include "numa/slots.h"
#include "numa/state.h"

namespace fathom::numa {
namespace {

constexpr size_t kWordsOfPage = 512, kPages = 2100;  // more than a table has slots

struct alignas(4096) Memory {
  uint64_t words[kPages * kWordsOfPage];
};

/// As the pass for clang has it: counts, looks whether the counter is barred, and takes it back.
void count_first(const void* pointer, uint32_t flags) {
  const auto address = reinterpret_cast<uintptr_t>(pointer);
  PageSlot& slot = slot_of(address);
  const uint64_t within =
      (address >> kLineBits) - __atomic_load_n(&slot.first_line, __ATOMIC_RELAXED);
  if (within < kLinesOfPage) {
    LineCounter& counter = slot.counts[within & slot.mask];
    uint32_t& count = (flags & kIsWrite) != 0 ? counter.writes : counter.reads;
    if ((++count & kBarred) == 0) return;
    --count;
  }
  __fathom_numa_access(address, 8 | flags);
}

class SlotsTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    before_ = options();
    options().page_threshold = Options{}.page_threshold;
    options().line_threshold = Options{}.line_threshold;
    adopt_thread(*prepare_thread(nullptr, record::ThreadKind::main, 0, record::kNone));
    recording = true;
  }
  static void TearDownTestSuite() {
    recording = false;
    end_thread(*this_thread.thread);
    this_thread.ended = false;
    options() = before_;
  }
  SlotsTest() { kept().push_back(memory_); }
  static std::vector<Memory*>& kept() {
    static auto* const all = new std::vector<Memory*>;
    return *all;
  }

  /// By one of the two fast paths, which agree.
  void read(size_t word) {
    if (is_turn_of_pass())
      count_first(&memory_->words[word], 0);
    else
      touch<8, false>(&memory_->words[word]);
  }
  void write(size_t word) {
    if (is_turn_of_pass())
      count_first(&memory_->words[word], kIsWrite);
    else
      touch<8, true>(&memory_->words[word]);
  }
  static bool is_turn_of_pass() {
    static thread_local uint32_t turn = 0;
    turn = turn * 1664525 + 1013904223;
    return turn >> 31 != 0;
  }
  uintptr_t address(size_t word) const {
    return reinterpret_cast<uintptr_t>(&memory_->words[word]);
  }

  /// Two threads that `work(number)`; `meet()` begins a phase of both.
  template <class Work>
  void run(Work work) {
    std::vector<std::thread> threads;
    std::vector<Thread*> records;
    for (size_t i = 0; i < 2; ++i) {
      Thread& main = *this_thread.thread;
      const uint32_t phase = before_create(main);
      Thread* thread = prepare_thread(&main, record::ThreadKind::pthread, 0, record::kNone);
      thread->phase = phase;
      thread->bound = phase;
      records.push_back(thread);
    }
    for (size_t i = 0; i < 2; ++i)
      threads.emplace_back([=, this] {
        adopt_thread(*records[i]);
        work(i);
        end_thread(*records[i]);
      });
    for (size_t i = 0; i < 2; ++i) {
      before_join(*this_thread.thread);
      threads[i].join();
      after_join(*this_thread.thread, records[i]);
    }
    first_ = records[0]->index;
  }
  void meet(uint32_t round) {
    Thread& thread = *this_thread.thread;
    arrive(thread, meeting_, round);
    barrier_.arrive_and_wait();
    leave(thread, meeting_, round);
  }

  uint64_t counted(size_t page, uint32_t thread) const {
    uint64_t out = 0;
    for (auto* use = find_page(address(page * kWordsOfPage))->uses.load(); use; use = use->next)
      for (auto* share = use->shares.load(); share; share = share->next)
        if (share->thread == thread) out += share->read_count() + share->write_count();
    return out;
  }
  /// Who counts a page as one.
  uint32_t alone_thread(size_t page) const {
    for (auto* use = find_page(address(page * kWordsOfPage))->uses.load(); use; use = use->next)
      if (PageLines* lines = lines_of(*use).load())
        if (const uint16_t alone = lines->alone.load()) return alone - 1u;
    return kNobody;
  }
  /// What is expected of the threads that share a word's line.
  std::vector<LineForecast> forecasts(size_t word) const {
    std::vector<LineForecast> out;
    for (auto* use = find_page(address(word))->uses.load(); use; use = use->next) {
      PageLines* lines = lines_of(*use).load();
      SharedLine** shared = lines == nullptr ? nullptr : lines->shared.load();
      SharedLine* line = shared == nullptr ? nullptr : shared[word / 8 % kLinesOfPage];
      if (line == nullptr) continue;
      for (const auto& one : forecast(*line, {})) out.push_back(one);
    }
    return out;
  }
  double invalidations(size_t word) const {
    double out = 0;
    for (const auto& one : forecasts(word)) out += one.invalidations;
    return out;
  }

  static inline Options before_;
  Meeting meeting_{};
  std::barrier<> barrier_{2};
  Memory* memory_ = new Memory{};  // kept: each test needs pages that nobody has used
  uint32_t first_ = 0;
};

TEST_F(SlotsTest, PagesThatPushEachOtherOutLoseNothing) {
  run([&](size_t me) {
    for (size_t round = 0; round < 3; ++round)
      for (size_t page = 0; page < kPages; ++page) {
        read(page * kWordsOfPage + me * 100);
        write(page * kWordsOfPage + me * 100);
      }
  });
  for (size_t page = 0; page < kPages; ++page)
    for (uint32_t me = 0; me < 2; ++me) ASSERT_EQ(counted(page, first_ + me), 6u) << page;
}

TEST_F(SlotsTest, NothingIsLostWhenOthersClearTheTable) {
  std::atomic<bool> done{false};
  std::thread disturber([&] {
    while (!done) {
      next_epoch();
      clear_slots();
      std::this_thread::yield();
    }
  });
  run([&](size_t me) {
    for (size_t i = 0; i < 50000; ++i) write((i * 7 + me) % 1024);
  });
  done = true;
  disturber.join();
  for (uint32_t me = 0; me < 2; ++me)
    EXPECT_EQ(counted(0, first_ + me) + counted(1, first_ + me), 50000u);
}

TEST_F(SlotsTest, TheNextThreadTakesOverFromTheOneThatWasAloneWithALine) {
  run([&](size_t me) {
    for (uint32_t round = 0; round < 20; ++round) {
      if (me == 0 && round < 10)
        for (int i = 0; i < 30; ++i) write(0);
      if (me == 1 && round >= 10)
        for (int i = 0; i < 30; ++i) write(1);
      meet(round);
    }
  });
  EXPECT_DOUBLE_EQ(invalidations(0), 1);
}

TEST_F(SlotsTest, ALineThatTakesTurnsIsInvalidatedInEachTurn) {
  run([&](size_t me) {
    for (uint32_t round = 0; round < 40; ++round) {
      if (round / 4 % 2 == me)
        for (int i = 0; i < 30; ++i) write(8);
      meet(round);
    }
  });
  EXPECT_DOUBLE_EQ(invalidations(8), 9);
}

TEST_F(SlotsTest, ReadersLoseTheirCopiesToTheWriterOnce) {
  run([&](size_t me) {
    for (uint32_t round = 0; round < 30; ++round) {
      if (me == 0 || round < 3)
        for (int i = 0; i < 30; ++i) me == 0 && round % 10 == 9 ? write(16) : read(16);
      if (round == 0) write(24 + me);  // the page's lines are of interest
      meet(round);
    }
  });
  EXPECT_DOUBLE_EQ(invalidations(16), 1);
}

TEST_F(SlotsTest, MemoryThatIsGivenBackIsNotSharedWithItsNextUser) {
  std::atomic<bool> first_is_done{false};
  run([&](size_t me) {
    if (me == 1)
      while (!first_is_done) std::this_thread::yield();
    for (size_t i = 0; i < 20000; ++i) write(i % kWordsOfPage);
    reset_pages(address(0), address(kWordsOfPage), true);
    if (me == 0) first_is_done = true;
  });
  for (size_t word = 0; word < kWordsOfPage; word += 8) EXPECT_DOUBLE_EQ(invalidations(word), 0);
  for (uint32_t me = 0; me < 2; ++me) EXPECT_EQ(counted(0, first_ + me), 20000u);
}

/// The main thread sets the page up, thread 0 has it alone for 20 phases; then thread 1 comes.
TEST_F(SlotsTest, APageThatOneThreadHasAloneIsCountedAsOneUntilAnotherComes) {
  constexpr uint32_t kAlone = 20, kTogether = 5;
  constexpr int kEach = 100;
  for (const size_t word : {8u, 16u}) write(word);
  bool was_alone = false, is_alone = true;
  run([&](size_t me) {
    for (uint32_t round = 0; round < kAlone + kTogether; ++round) {
      if (me == 0 || round >= kAlone)
        for (int i = 0; i < kEach; ++i) write(8 + me), write(16 + me);
      if (me == 0 && round + 1 == kAlone) was_alone = alone_thread(0) == this_thread.thread->index;
      if (me == 0) is_alone = alone_thread(0) != kNobody;
      meet(round);
    }
  });
  EXPECT_TRUE(was_alone);
  EXPECT_FALSE(is_alone);
  EXPECT_EQ(counted(0, first_), 2u * kEach * (kAlone + kTogether));
  EXPECT_EQ(counted(0, first_ + 1), 2u * kEach * kTogether);
  // Each phase together costs either thread half of its accesses. The first one may be missed: if
  // thread 0 was done with it when the other came.
  for (const size_t word : {8u, 16u}) {
    EXPECT_GE(invalidations(word), 2 * (kEach / 2.0) * (kTogether - 1));
    EXPECT_LE(invalidations(word), 2 * (kEach / 2.0) * (kTogether + 1));
  }
}

TEST_F(SlotsTest, TheWordsOfALineAreLearnedAndThenLeftAlone) {
  run([&](size_t me) {
    for (uint32_t round = 0; round < 100; ++round) {
      for (int i = 0; i < 100; ++i) write(me);
      meet(round);
    }
  });
  EXPECT_EQ(counted(0, first_) + counted(0, first_ + 1), 20000u);
  ASSERT_EQ(forecasts(0).size(), 2u);
  for (const auto& one : forecasts(0)) {
    EXPECT_GE(one.words.writes[(one.thread - first_) * 2], 100u);
    EXPECT_LE(one.words.writes[(one.thread - first_) * 2], 200u);
    EXPECT_EQ(one.words.writes[(first_ + 1 - one.thread) * 2], 0u);
    EXPECT_EQ(one.true_invalidations, 0);
  }
}

/// A thread that reads much while nobody writes has learned nothing of what it does when others do.
TEST_F(SlotsTest, WordsAreLearnedWhereThreadsTakeTheLineFromEachOther) {
  run([&](size_t me) {
    for (uint32_t round = 0; round < 40; ++round) {
      if (round % 2 == 0)
        for (int i = 0; i < 100; ++i) write(me);
      else if (me == 0)
        for (int i = 0; i < 2000; ++i) read(i % 8);
      next_epoch();
      meet(round);
    }
  });
  ASSERT_EQ(forecasts(0).size(), 2u);
  for (const auto& one : forecasts(0)) {
    EXPECT_GE(one.words.writes[(one.thread - first_) * 2], 8u);
    EXPECT_LE(one.true_invalidations, one.invalidations * 0.05);
  }
}

}  // namespace
}  // namespace fathom::numa
