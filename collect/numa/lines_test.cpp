#include "numa/lines.h"

#include <gtest/gtest.h>

namespace fathom::numa {
namespace {

double of(const SharedLine& line, uint32_t thread) {
  for (const auto* member = line.members; member != nullptr; member = member->next)
    if (member->thread == thread) return member->invalidations;
  return -1;
}

constexpr uint32_t kAll = kNobody;

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

TEST_F(LinesTest, PhasesThatNobodyEndsTakeBoundedMemory) {
  for (uint32_t phase = 2; phase < 20000; phase += 2) {
    add_to_line(line_, 1, phase, 1, 1, 0, slab_);
    add_to_line(line_, 2, phase, 1, 1, 0, slab_);
    ASSERT_LE(line_.open, 1100u);
  }
}

}  // namespace
}  // namespace fathom::numa
