#include "numa/lines.h"

#include <gtest/gtest.h>

namespace fathom::numa {
namespace {

double of(const SharedLine& line, uint32_t thread) {
  for (const auto* member = line.members; member != nullptr; member = member->next)
    if (member->copy.thread == thread) return member->copy.invalidations;
  return -1;
}

constexpr uint32_t kAll = kNobody;

void add_to_line(SharedLine& line, uint32_t thread, uint32_t phase, uint64_t reads, uint64_t writes,
                 uint32_t before, Slab& slab) {
  sum_up(line, before);
  add_entry(line, {nullptr, thread, phase, reads, writes}, slab);
}

class LinesTest : public testing::Test {
 protected:
  Slab slab_;
  SharedLine line_{};
};

TEST_F(LinesTest, APhaseIsCountedByTheFormula) {
  add_to_line(line_, 1, 2, 100, 0, 0, slab_);
  add_to_line(line_, 2, 2, 0, 300, 0, slab_);
  sum_up(line_, kAll);
  EXPECT_DOUBLE_EQ(of(line_, 1), 100.0 * 300 / 400);
  EXPECT_DOUBLE_EQ(of(line_, 2), 0);
}

TEST_F(LinesTest, AnUpdateIsOneAccess) {
  add_to_line(line_, 1, 2, 100, 90, 0, slab_);
  add_to_line(line_, 2, 2, 290, 300, 0, slab_);
  sum_up(line_, kAll);
  EXPECT_DOUBLE_EQ(of(line_, 1), 100.0 * 300 / 400);
  EXPECT_DOUBLE_EQ(of(line_, 2), 300.0 * 90 / 390);
}

/// The same updates by more threads are nearly as many invalidations: at most 1 - 1/threads of
/// them.
TEST_F(LinesTest, MoreThreadsHardlyLoseMore) {
  constexpr uint64_t kUpdates = 48000;
  const auto lost = [&](uint32_t threads) {
    SharedLine line{};
    for (uint32_t thread = 0; thread < threads; ++thread)
      add_to_line(line, thread, 2, kUpdates / threads, kUpdates / threads, 0, slab_);
    sum_up(line, kAll);
    double sum = 0;
    for (uint32_t thread = 0; thread < threads; ++thread) sum += of(line, thread);
    return sum;
  };
  for (const uint32_t threads : {2u, 4u, 8u, 16u})
    EXPECT_DOUBLE_EQ(lost(threads), double(kUpdates) * (1 - 1.0 / threads));
}

TEST_F(LinesTest, ReadersAloneLoseNothing) {
  for (uint32_t thread = 0; thread < 5; ++thread) add_to_line(line_, thread, 2, 1000, 0, 0, slab_);
  sum_up(line_, kAll);
  for (uint32_t thread = 0; thread < 5; ++thread) EXPECT_DOUBLE_EQ(of(line_, thread), 0);
}

TEST_F(LinesTest, ThreadsInDifferentPhasesDoNotMeet) {
  add_to_line(line_, 1, 2, 0, 500, 0, slab_);
  add_to_line(line_, 2, 4, 0, 500, 0, slab_);
  sum_up(line_, kAll);
  EXPECT_DOUBLE_EQ(of(line_, 1), 1);  // the copy that it held when the other phase began
  EXPECT_DOUBLE_EQ(of(line_, 2), 0);
}

TEST_F(LinesTest, ACopyIsLostOnceByLaterWrites) {
  add_to_line(line_, 1, 2, 10, 0, 0, slab_);
  for (uint32_t phase = 4; phase < 20; phase += 2) add_to_line(line_, 2, phase, 0, 7, 0, slab_);
  sum_up(line_, kAll);
  EXPECT_DOUBLE_EQ(of(line_, 1), 1);
}

TEST_F(LinesTest, ACopyThatIsHeldMayGoBeforeTheNextAccess) {
  add_holder(line_, 1, slab_);
  add_to_line(line_, 1, 4, 30, 0, 0, slab_);
  add_to_line(line_, 2, 4, 0, 10, 0, slab_);
  sum_up(line_, kAll);
  EXPECT_DOUBLE_EQ(of(line_, 1), 30.0 * 10 / 40 + 10.0 / 40);
}

TEST_F(LinesTest, TheOrderOfHandingInDoesNotMatter) {
  struct One {
    uint32_t thread, phase;
    uint64_t reads, writes;
  };
  std::vector<One> all;
  for (uint32_t phase = 2; phase <= 10; phase += 2)
    for (uint32_t thread = 1; thread <= 4; ++thread)
      all.push_back({thread, phase, 17 * thread + phase, (thread * phase) % 5});
  SharedLine other{};
  for (const auto& one : all)
    add_to_line(line_, one.thread, one.phase, one.reads, one.writes, 0, slab_);
  for (auto at = all.rbegin(); at != all.rend(); ++at)
    add_to_line(other, at->thread, at->phase, at->reads, at->writes, 0, slab_);
  sum_up(line_, kAll);
  sum_up(other, kAll);
  for (uint32_t thread = 1; thread <= 4; ++thread)
    EXPECT_DOUBLE_EQ(of(line_, thread), of(other, thread));
}

TEST_F(LinesTest, AForecastIsWhatTheEndWouldGive) {
  add_to_line(line_, 1, 2, 10, 3, 0, slab_);
  add_to_line(line_, 2, 2, 5, 8, 0, slab_);
  add_to_line(line_, 1, 4, 6, 0, 0, slab_);
  const std::vector<LineEntry> more{{nullptr, 3, 4, 1, 9}};
  const auto forecast_now = forecast(line_, more);
  add_to_line(line_, 3, 4, 1, 9, 0, slab_);
  sum_up(line_, kAll);
  ASSERT_EQ(forecast_now.size(), 3u);
  for (const auto& one : forecast_now)
    EXPECT_DOUBLE_EQ(one.invalidations, of(line_, one.thread)) << one.thread;
}

/// A thread's accesses to a line's words, phase by phase.
class LineWordsTest : public LinesTest {
 protected:
  LineWordsTest() { use_.page = &page_; }
  /// Reads and writes a word so often in a phase; `words_seen`: they are counted by words, too.
  void access(uint32_t thread, uint32_t phase, unsigned word, uint32_t reads, uint32_t writes,
              bool words_seen = true) {
    WordCounts* counts = nullptr;
    if (words_seen) {
      Share& share = shares_[thread];
      share.use = &use_;
      counts = counts_in_phase(share, 0, phase, slab_);
      ASSERT_NE(counts, nullptr);
      counts->reads[word] += reads;
      counts->writes[word] += writes;
    }
    add_entry(line_, {nullptr, thread, phase, reads, writes, counts}, slab_);
  }
  LineForecast of(uint32_t thread) {
    for (const auto& one : forecast(line_, {}))
      if (one.thread == thread) return one;
    return {};
  }
  /// What the end gives is what was expected of it.
  void expect_true_part(uint32_t thread, double part) {
    EXPECT_DOUBLE_EQ(of(thread).true_invalidations, part * of(thread).invalidations);
    const LineForecast before = of(thread);
    sum_up(line_, kAll);
    EXPECT_DOUBLE_EQ(of(thread).true_invalidations, before.true_invalidations);
    EXPECT_EQ(of(thread).words.written, before.words.written);
    EXPECT_GT(before.invalidations, 0);
  }
  /// Of all words only this one counts as read by the thread.
  void expect_reads(uint32_t thread, unsigned word, uint32_t reads) {
    for (unsigned any = 0; any < kWordsOfLine; ++any)
      EXPECT_EQ(of(thread).words.reads[any], any == word ? reads : 0u) << any;
  }

  Page page_{};
  Use use_{};
  Share shares_[4]{};
};

TEST_F(LineWordsTest, OtherWordsAreFalselySharedAndTheSameTruly) {
  access(1, 2, 3, 50, 50);
  access(2, 2, 4, 50, 50);
  access(3, 2, 4, 10, 0);
  expect_true_part(1, 0);
  expect_true_part(3, 1);
}

/// One that sums up at the end what all have written reads their words when nobody takes the line
/// away any more.
TEST_F(LineWordsTest, WordsOfPhasesInWhichNobodyTakesTheLineAwayDoNotCount) {
  access(1, 2, 3, 50, 50);
  access(2, 2, 4, 50, 50);
  access(1, 4, 4, 1000, 0);
  expect_true_part(1, 0);
  expect_reads(1, 3, 50);
}

TEST_F(LineWordsTest, ACopyIsHeldForTheWordsOfTheLastPhaseWithAccesses) {
  access(1, 2, 4, 10, 0);
  access(1, 4, 3, 10, 0);
  access(2, 6, 3, 0, 5);
  access(2, 8, 4, 0, 5);
  expect_true_part(1, 1);
  expect_reads(1, 3, 10);
}

TEST_F(LineWordsTest, WhoseWordsAreNotKnownSharesAsItUsuallyDoesOrAsOthersDo) {
  access(1, 2, 3, 50, 50, false);
  access(2, 2, 4, 50, 50);
  access(3, 2, 4, 50, 50);
  expect_true_part(1, 1);
  access(1, 4, 3, 50, 50);
  access(2, 4, 4, 50, 50);
  expect_true_part(1, 0);
}

TEST_F(LineWordsTest, CountsAreUsedAgainWhenTheirPhasesAreOver) {
  for (uint32_t phase = 2; phase < 2000; phase += 2) {
    access(1, phase, 3, 50, 50);
    access(2, phase, 4, 50, 50);
    sum_up(line_, phase);
  }
  for (uint32_t thread : {1u, 2u}) {
    unsigned count = 0;
    for (auto* counts = line_words(shares_[thread], 0)->counts; counts != nullptr;
         counts = counts->next)
      ++count;
    EXPECT_LE(count, 3u);
  }
  expect_true_part(1, 0);
}

TEST_F(LinesTest, PhasesThatNobodyEndsTakeBoundedMemory) {
  for (uint32_t phase = 2; phase < 20000; phase += 2) {
    add_to_line(line_, 1, phase, 1, 1, 0, slab_);
    add_to_line(line_, 2, phase, 1, 1, 0, slab_);
    ASSERT_LE(line_.open, 1100u);
  }
}

}  // namespace
}  // namespace fathom::numa
