#include "app/events.h"

#include <gtest/gtest.h>

namespace fathom {
namespace {

using Sampling = EventSet::Sampling;

EventSet parsed(const std::vector<std::string>& events) {
  auto result = parse_events(events);
  EXPECT_TRUE(result.ok()) << result.error().message();
  return result.ok() ? *result : EventSet{};
}

TEST(Events, TimeGpuOperationsByDefault) {
  const auto events = parsed({});
  EXPECT_TRUE(events.cuda);
  EXPECT_EQ(events.cuda_sampling, Sampling::none);
  EXPECT_EQ(events.text, "gpu=cuda");
}

TEST(Events, SampleContinuouslyUnlessToldOtherwise) {
  EXPECT_EQ(parsed({"gpu=cuda,pc"}).cuda_sampling, Sampling::continuous);
  EXPECT_EQ(parsed({"gpu=cuda,pc=continuous"}).cuda_sampling, Sampling::continuous);
  EXPECT_EQ(parsed({"gpu=cuda,pc=serialized"}).cuda_sampling, Sampling::serialized);
}

TEST(Events, TakeAPeriodFrom5To31) {
  EXPECT_EQ(parsed({"gpu=cuda,pc@14"}).cuda_period_log2, 14u);
  EXPECT_EQ(parsed({"gpu=cuda,pc=serialized@5"}).cuda_period_log2, 5u);
  EXPECT_EQ(parsed({"gpu=cuda,pc@31"}).cuda_period_log2, 31u);
  for (const char* bad : {"gpu=cuda,pc@4", "gpu=cuda,pc@32", "gpu=cuda,pc@", "gpu=cuda,pc@1x",
                          "gpu=cuda,pc@-8", "gpu=cuda,pc@99999999999999999999"}) {
    const auto result = parse_events({bad});
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().kind, ErrorKind::usage);
    EXPECT_NE(result.error().message().find("5 to 31"), std::string::npos) << bad;
  }
}

TEST(Events, SayThePeriodAlways) {
  EXPECT_EQ(parsed({}).cuda_period_log2, 16u);
  EXPECT_EQ(parsed({"gpu=cuda,pc"}).cuda_period_log2, 16u);
  EXPECT_EQ(parsed({"gpu=cuda,pc=serialized"}).cuda_period_log2, 16u);
  EXPECT_EQ(parsed({"gpu=cuda,pc", "gpu=cuda,pc@10"}).cuda_period_log2, 10u);
  EXPECT_EQ(parsed({"gpu=cuda,pc@10", "gpu=cuda,pc"}).cuda_period_log2, 10u);
}

TEST(Events, AddUp) {
  const auto events = parsed({"gpu=cuda", "gpu=cuda,pc@10"});
  EXPECT_EQ(events.cuda_sampling, Sampling::continuous);
  EXPECT_EQ(events.cuda_period_log2, 10u);
  EXPECT_EQ(events.text, "gpu=cuda gpu=cuda,pc@10");
}

TEST(Events, MustNotContradictEachOther) {
  EXPECT_FALSE(parse_events({"gpu=cuda,pc", "gpu=cuda,pc=serialized"}).ok());
  EXPECT_FALSE(parse_events({"gpu=cuda,pc@10", "gpu=cuda,pc@11"}).ok());
}

TEST(Events, ThatDoNotExistAreNamed) {
  for (const char* bad : {"", "cuda", "gpu=cuda,", "gpu=cuda,pcs", "gpu=cuda,pc=fast", "gpu=cud"}) {
    const auto result = parse_events({bad});
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_EQ(result.error().kind, ErrorKind::usage);
    EXPECT_NE(result.error().message().find("event `" + std::string(bad) + "`"), std::string::npos);
    EXPECT_FALSE(result.error().hint.empty());
  }
}

}  // namespace
}  // namespace fathom
