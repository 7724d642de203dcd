#include "attribution/metrics.h"

#include <gtest/gtest.h>

#include <set>

namespace fathom {
namespace {

Profile small_tree() {
  Profile profile;
  profile.contexts.resize(3);
  profile.contexts[1].parent = 0;
  profile.contexts[2].parent = 1;
  return profile;
}

const MetricValue* find(const Profile& profile, uint32_t context, const std::string& name) {
  for (const MetricValue& value : profile.values)
    if (value.context == context && profile.metrics[value.metric].name == name) return &value;
  return nullptr;
}

TEST(Metrics, NamesAreUniqueAndParentsComeFirst) {
  std::set<std::string> names;
  std::vector<Metric> metrics = gpu_metrics();
  for (uint32_t m = 0; m < metrics.size(); ++m) {
    EXPECT_TRUE(names.insert(metrics[m].name).second) << metrics[m].name;
    if (metrics[m].parent != kNoId) {
      EXPECT_LT(metrics[m].parent, m);
    }
    EXPECT_FALSE(metrics[m].unit.empty());
    EXPECT_FALSE(metrics[m].description.empty());
  }
  for (const char* name : {"GKER", "GXCOPY:H2D", "GMEM:DEV", "GSYNC:STRE", "GKER:OCC_T",
                           "GCYCLES:STL:BE:MEM:LAT:GMEM"})
    EXPECT_TRUE(names.count(name)) << name;
}

TEST(Metrics, InclusiveIsOwnPlusChildren) {
  Profile profile = small_tree();
  MetricTable table;
  table.add(1, "GKER", 2);
  table.add(2, "GKER", 3);
  table.add(2, "GXCOPY", 1);
  table.store(profile);
  EXPECT_EQ(find(profile, 0, "GKER")->inclusive, 5);
  EXPECT_EQ(find(profile, 0, "GKER")->exclusive, 0);
  EXPECT_EQ(find(profile, 1, "GKER")->exclusive, 2);
  EXPECT_EQ(find(profile, 0, "GPUOP")->inclusive, 6) << "the sum of its kinds";
  EXPECT_EQ(find(profile, 2, "GPUOP")->exclusive, 4);
}

TEST(Metrics, LaunchCharacteristicsAreAverages) {
  Profile profile = small_tree();
  MetricTable table;
  for (double registers : {10.0, 20.0}) {
    table.add(2, "GKER:COUNT", 1);
    table.add(2, "GKER:THR_REG", registers);
    table.add(2, "GKER:WRP_ACT_T", 16);
    table.add(2, "GKER:WRP_AVL", 64);
  }
  table.store(profile);
  EXPECT_EQ(find(profile, 2, "GKER:THR_REG")->exclusive, 15);
  EXPECT_EQ(find(profile, 0, "GKER:THR_REG")->inclusive, 15);
  EXPECT_EQ(find(profile, 0, "GKER:OCC_T")->inclusive, 25);
  EXPECT_EQ(find(profile, 0, "GKER:COUNT")->inclusive, 2);
}

TEST(Metrics, UnusedOnesAreLeftOut) {
  Profile profile = small_tree();
  MetricTable table;
  table.add(1, "GCYCLES:STL:BE:SYNC", 8);
  table.store(profile);
  std::set<std::string> names;
  for (const Metric& metric : profile.metrics) names.insert(metric.name);
  EXPECT_EQ(names, (std::set<std::string>{"GCYCLES", "GCYCLES:STL", "GCYCLES:STL:BE",
                                          "GCYCLES:STL:BE:SYNC"}));
  EXPECT_EQ(find(profile, 0, "GCYCLES")->inclusive, 8);
}

}  // namespace
}  // namespace fathom
