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

TEST(Events, RecordMemoryAccessesAloneOrWithAGpu) {
  const auto alone = parsed({"numa"});
  EXPECT_TRUE(alone.numa);
  EXPECT_FALSE(alone.cuda);
  EXPECT_EQ(alone.numa_sampling, 0u);
  const auto both = parsed({"numa@4", "gpu=cuda,pc"});
  EXPECT_TRUE(both.numa && both.cuda);
  EXPECT_EQ(both.numa_sampling, 4u);
  EXPECT_EQ(both.text, "numa@4 gpu=cuda,pc");
  EXPECT_FALSE(parsed({}).numa);
  for (const char* bad : {"numa@", "numa@17", "numa@x", "numa@-1", "numa@1,pc"}) {
    const auto result = parse_events({bad});
    ASSERT_FALSE(result.ok()) << bad;
    EXPECT_NE(result.error().message().find("0 to 16"), std::string::npos) << bad;
  }
  EXPECT_FALSE(parse_events({"numa,pc"}).ok());
}

TEST(Events, MustNotContradictEachOther) {
  EXPECT_FALSE(parse_events({"gpu=cuda,pc", "gpu=cuda,pc=serialized"}).ok());
  EXPECT_FALSE(parse_events({"gpu=cuda,pc@10", "gpu=cuda,pc@11"}).ok());
  EXPECT_FALSE(parse_events({"numa", "numa@3"}).ok());
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
