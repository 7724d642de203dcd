#include <gtest/gtest.h>

#include <set>

#include "model/profile.h"

namespace fathom {
namespace {

TEST(StallReason, EveryNameAndItsTwinIsUnderstood) {
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    auto reason = static_cast<StallReason>(i);
    std::string vendor = "smsp__pcsamp_warps_issue_stalled_" + std::string(name_of(reason));
    auto plain = parse_vendor_reason(vendor);
    auto twin = parse_vendor_reason(vendor + "_not_issued");
    ASSERT_TRUE(plain && twin) << vendor;
    EXPECT_EQ(plain->reason, reason);
    EXPECT_FALSE(plain->not_issued);
    EXPECT_EQ(twin->reason, reason);
    EXPECT_TRUE(twin->not_issued);
    EXPECT_FALSE(explain(reason).empty());
  }
}

TEST(StallReason, OtherMetricsAreNoReasons) {
  EXPECT_FALSE(parse_vendor_reason("smsp__pcsamp_sample_count"));
  EXPECT_FALSE(parse_vendor_reason("smsp__pcsamp_samples_data_dropped"));
  EXPECT_FALSE(parse_vendor_reason("smsp__pcsamp_warps_issue_stalled_unheard_of"));
}

TEST(TopDown, TableIsATreeInOrder) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < kTopDownCount; ++i) {
    const TopDownNode& node = topdown_nodes()[i];
    EXPECT_EQ(static_cast<size_t>(node.id), i) << node.metric;
    EXPECT_TRUE(names.insert(node.metric).second) << node.metric;
    if (i == 0) continue;
    EXPECT_LT(node.parent, node.id);
    // A child's metric name is its parent's plus one part.
    std::string_view parent = topdown_node(node.parent).metric;
    EXPECT_EQ(node.metric.substr(0, parent.size() + 1), std::string(parent) + ":");
    EXPECT_EQ(node.metric.find(':', parent.size() + 1), std::string_view::npos) << node.metric;
  }
}

TEST(TopDown, InclusiveSumsChildren) {
  TopDownCounts counts;
  counts[TopDown::issues] = 3;
  counts[TopDown::global_memory] = 5;
  counts[TopDown::memory_latency] = 2;
  counts[TopDown::not_selected] = 1;
  TopDownCounts sums = counts.inclusive();
  EXPECT_EQ(sums[TopDown::memory_latency], 7);
  EXPECT_EQ(sums[TopDown::exposed], 7);
  EXPECT_EQ(sums[TopDown::hidden], 1);
  EXPECT_EQ(sums[TopDown::cycles], 11);
}

TEST(StallCounts, SplitsSamplesIntoActiveAndLatency) {
  StallCounts counts;
  counts.all[0] = 10;
  counts.all[static_cast<size_t>(StallReason::long_scoreboard)] = 7;
  counts.latency[static_cast<size_t>(StallReason::long_scoreboard)] = 4;
  EXPECT_EQ(counts.total(), 17u);
  EXPECT_EQ(counts.total_latency(), 4u);
  EXPECT_EQ(counts.active(), 13u);
  EXPECT_EQ(counts.stalls(), 7u);
}

}  // namespace
}  // namespace fathom
