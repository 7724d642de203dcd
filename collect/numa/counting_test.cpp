// Threads of the test itself as measured ones: what they count, and that they do not race. Runs
// under ThreadSanitizer as well.

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "numa/lines.h"
#include "numa/options.h"
#include "numa/pages.h"
#include "numa/phases.h"
#include "numa/state.h"

namespace fathom::numa {
namespace {

struct alignas(4096) Memory {
  uint64_t words[4 * 512];
};

/// A measurement without a file: threads are made and ended as the interposed calls do it.
class CountingTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    options().page_threshold = 0;
    options().line_threshold = 0;
    adopt_thread(*prepare_thread(nullptr, record::ThreadKind::main, 0, record::kNone));
    recording = true;
  }
  static void TearDownTestSuite() {
    recording = false;
    end_thread(*this_thread.thread);
  }

  CountingTest() { kept().push_back(memory_); }
  static std::vector<Memory*>& kept() {
    static auto* const all = new std::vector<Memory*>;
    return *all;
  }
  void reset() { reset_pages(address(0), address(0) + sizeof(Memory), true); }
  uintptr_t address(size_t word) const {
    return reinterpret_cast<uintptr_t>(&memory_->words[word]);
  }
  void read(size_t word, int times = 1) {
    for (int i = 0; i < times; ++i) __fathom_numa_access(address(word), 8);
  }
  void write(size_t word, int times = 1) {
    for (int i = 0; i < times; ++i) __fathom_numa_access(address(word), 8 | kIsWrite);
  }
  /// Runs threads that `work(number)`, and joins them.
  template <class Work>
  void run(size_t count, Work work) {
    std::vector<std::thread> threads;
    std::vector<Thread*> records;
    for (size_t i = 0; i < count; ++i) {
      Thread& main = *this_thread.thread;
      const uint32_t phase = before_create(main);
      Thread* thread = prepare_thread(&main, record::ThreadKind::pthread, 0, record::kNone);
      thread->phase = phase;
      thread->bound = phase;
      records.push_back(thread);
      threads.emplace_back([=] {
        adopt_thread(*thread);
        work(i);
        end_thread(*thread);
      });
    }
    for (size_t i = 0; i < count; ++i) {
      before_join(*this_thread.thread);
      threads[i].join();
      after_join(*this_thread.thread, records[i]);
    }
    first_ = records.front()->index;
  }

  struct Sums {
    uint64_t reads = 0, writes = 0, remote = 0;
  };
  Sums of_page(size_t page, uint32_t thread = kNobody) const {
    Sums out;
    for (auto* use = find_page(address(page * 512))->uses.load(); use; use = use->next)
      for (auto* share = use->shares.load(); share; share = share->next) {
        if (thread != kNobody && share->thread != thread) continue;
        out.reads += share->read_count();
        out.writes += share->write_count();
        out.remote += share->reads[1].get() + share->writes[1].get();
      }
    return out;
  }
  double invalidations(size_t word) const {
    double out = 0;
    for (auto* use = find_page(address(word))->uses.load(); use; use = use->next) {
      PageLines* lines = lines_of(*use).load();
      SharedLine** shared = lines == nullptr ? nullptr : lines->shared.load();
      SharedLine* line = shared == nullptr ? nullptr : shared[word / 8 % 64];
      if (line == nullptr) continue;
      for (const auto& one : forecast(*line, {})) out += one.invalidations;
    }
    return out;
  }

  Memory* memory_ = new Memory{};  // kept: each test needs pages that nobody has used
  uint32_t first_ = 0;             ///< index of the first thread of the last run
};

TEST_F(CountingTest, EveryAccessIsCountedOnce) {
  reset();
  write(0, 10);
  run(8, [&](size_t me) {
    read(3, 1000);
    write(512 + me * 8, 500);
  });
  EXPECT_EQ(of_page(0).reads, 8000u);
  EXPECT_EQ(of_page(0).writes, 10u);
  EXPECT_EQ(of_page(0).remote, 8000u);
  EXPECT_EQ(of_page(1).writes, 4000u);
  for (uint32_t i = 0; i < 8; ++i) EXPECT_EQ(of_page(1, first_ + i).writes, 500u);
}

TEST_F(CountingTest, AccessesWhileOthersRunAreToldApart) {
  reset();
  const Thread& main = *this_thread.thread;
  const uint64_t before = parallel_accesses(main);
  write(0, 100);
  run(2, [&](size_t me) { write(512 * me, 50); });
  write(0, 100);
  hand_in_phase(*this_thread.thread, main.phase);
  EXPECT_EQ(parallel_accesses(main), before);
  for (uint32_t i = 0; i < 2; ++i) EXPECT_EQ(parallel_accesses(*thread_at(first_ + i)), 50u);
  before_create(*this_thread.thread);
  write(0, 30);
  before_join(*this_thread.thread);
  EXPECT_EQ(parallel_accesses(main), before + 30);
  after_join(*this_thread.thread, nullptr);
  EXPECT_EQ(parallel_accesses(main), before + 30);
}

TEST_F(CountingTest, ThreadsThatShareALineMeetInAPhase) {
  reset();
  run(2, [&](size_t me) { me == 0 ? read(0, 1000) : write(1, 3000); });
  EXPECT_DOUBLE_EQ(invalidations(0), 1000.0 * 3000 / 4000);
}

TEST_F(CountingTest, ThreadsOfDifferentPhasesDoNotMeet) {
  reset();
  run(1, [&](size_t) { write(8, 1000); });
  run(1, [&](size_t) { write(9, 1000); });
  EXPECT_DOUBLE_EQ(invalidations(8), 1);
}

TEST_F(CountingTest, WhatAParentDoesBetweenCreatingTwoThreadsIsItsOwn) {
  reset();
  run(3, [&](size_t me) {
    if (me > 0) write(me, 100);
  });
  const double both = invalidations(0);
  EXPECT_DOUBLE_EQ(both, 2 * (100.0 * 100 / 200));
}

TEST_F(CountingTest, BarriersBeginPhases) {
  reset();
  static Meeting meeting;
  std::atomic<uint32_t> arrived{0};
  run(2, [&](size_t me) {
    for (uint32_t round = 0; round < 50; ++round) {
      if (round % 2 == me) write(16, 20);
      Thread& thread = *this_thread.thread;
      arrive(thread, meeting, round);
      arrived.fetch_add(1);
      while (arrived.load() < 2 * (round + 1)) std::this_thread::yield();
      leave(thread, meeting, round);
    }
  });
  // Each phase but the first begins with a write to the line that the other thread holds.
  EXPECT_DOUBLE_EQ(invalidations(16), 49);
}

TEST_F(CountingTest, StridesCountAsTheirAccessesDo) {
  reset();
  __fathom_numa_strided(address(0), 8, 1024, 8);
  __fathom_numa_strided(address(1535), 8 | kIsWrite, 512, -8);
  __fathom_numa_strided(address(1536), 4, 100, 0);
  __fathom_numa_strided(address(1536), 8, 4, 1024);
  EXPECT_EQ(of_page(0).reads, 512u);
  EXPECT_EQ(of_page(1).reads, 512u);
  EXPECT_EQ(of_page(2).writes, 512u);
  EXPECT_EQ(of_page(3).reads, 104u);
}

TEST_F(CountingTest, ABlockCountsOnceForEachEightBytes) {
  reset();
  __fathom_numa_access(address(0), 4096 | kIsWrite);
  __fathom_numa_access(address(512) + 4, 20);
  hand_in_phase(*this_thread.thread, this_thread.thread->phase);
  EXPECT_EQ(of_page(0).writes, 512u);
  EXPECT_EQ(of_page(1).reads, 3u);
}

TEST_F(CountingTest, MemoryThatIsGivenBackHasANewFirstThread) {
  reset();
  write(0, 5);
  run(1, [&](size_t) { read(0, 5); });
  EXPECT_EQ(of_page(0).remote, 5u);
  reset();
  run(1, [&](size_t) { read(0, 7); });
  EXPECT_EQ(of_page(0).remote, 5u);
  write(0, 5);
  hand_in_phase(*this_thread.thread, this_thread.thread->phase);
  EXPECT_EQ(of_page(0).remote, 10u);
}

TEST_F(CountingTest, ThreadsAreDisturbedInTheirCountingAndLoseNothing) {
  reset();
  std::atomic<bool> done{false};
  std::thread disturber([&] {
    while (!done) {
      next_epoch();
      clear_slots();
      std::this_thread::yield();
    }
  });
  run(4, [&](size_t me) {
    for (int i = 0; i < 2000; ++i) {
      read(i % 512);
      write(512 + (i + me) % 1024);
    }
  });
  done = true;
  disturber.join();
  EXPECT_EQ(of_page(0).reads, 8000u);
  EXPECT_EQ(of_page(1).writes + of_page(2).writes, 8000u);
}

}  // namespace
}  // namespace fathom::numa
