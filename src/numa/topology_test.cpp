#include "numa/topology.h"

#include <gtest/gtest.h>

#include "base/files.h"
#include "measurement/testing.h"

namespace fathom {
namespace {

Topology parsed(std::string_view text) {
  Result<Topology> topology = parse_topology(text);
  EXPECT_TRUE(topology.ok()) << topology.error().message();
  return topology.ok() ? *topology : Topology{};
}

TEST(Topology, IsReadAndWritten) {
  Topology topology = parsed("8x16:1.0,2.1,3.1");
  EXPECT_EQ(topology.nodes, 8u);
  EXPECT_EQ(topology.processors, 16u);
  EXPECT_EQ(topology.latencies, (std::vector<double>{1.0, 2.1, 3.1}));
  EXPECT_EQ(topology.text(), "8x16:1,2.1,3.1");
  EXPECT_EQ(parsed(topology.text()).latencies, topology.latencies);
  EXPECT_EQ(parsed("1x4:1").nodes, 1u);
}

TEST(Topology, SaysWhatIsWrongWithAText) {
  for (auto [text, part] : {std::pair{"", "colon"},
                            {"8:1,2", "no x"},
                            {"2x16", "colon"},
                            {"0x16:1,2", "number of nodes"},
                            {"1025x1:1,2", "number of nodes"},
                            {"2x:1,2", "processors"},
                            {"2x16:1", "one hop"},
                            {"2x16:1,x", "`x` is no latency"},
                            {"2x16:1,", "`` is no latency"},
                            {"2x16:1,nan", "no latency"},
                            {"2x16:1,1e9", "no latency"},
                            {"2x16:0,1", "no latency"},
                            {"2x16:2,1", "smaller"},
                            {"2x16:1,2,3", "more distances"}}) {
    Result<Topology> topology = parse_topology(text);
    ASSERT_FALSE(topology.ok()) << text;
    EXPECT_EQ(topology.error().kind, ErrorKind::usage) << text;
    EXPECT_NE(topology.error().what.find(part), std::string::npos) << topology.error().what;
    EXPECT_NE(topology.error().hint.find("8x16:1.0,2.1,3.1"), std::string::npos);
  }
}

TEST(Topology, TellsHowOftenTwoThreadsAreApart) {
  Topology topology = parsed("2x16:1,1.6");
  EXPECT_EQ(topology.apart(1), 0);
  EXPECT_EQ(topology.apart(2), 1);               // one on each node
  EXPECT_DOUBLE_EQ(topology.apart(4), 2.0 / 3);  // two of the three others are there
  EXPECT_NEAR(topology.apart(1000), 0.5, 0.001);
  EXPECT_EQ(parsed("1x8:1").apart(8), 0);
  EXPECT_EQ(parsed("8x2:1,2").nodes_used(3), 3u);
}

TEST(Topology, KnowsTheNearestTheMeanAndTheFarthestNode) {
  SpeedupRange latency = parsed("8x16:1,2,4").remote_latency();
  EXPECT_EQ(latency.low, 2);
  EXPECT_EQ(latency.mid, 3);
  EXPECT_EQ(latency.high, 4);
  EXPECT_EQ(parsed("2x2:10,20").remote_latency().mid, 2);
  EXPECT_EQ(parsed("1x2:1").remote_latency().high, 1);
}

TEST(Topology, OfTheMachineComesFromTheKernel) {
  testing::TemporaryDirectory directory;
  testing::write_files(directory.path(), {{"node0/cpulist", "0-3,8-11\n"},
                                          {"node0/distance", "10 21\n"},
                                          {"node1/cpulist", "4-7,12-15\n"},
                                          {"node1/distance", "21 10\n"},
                                          {"possible", "0-1\n"}});
  Result<Topology> topology = topology_of_machine(directory.path());
  ASSERT_TRUE(topology.ok()) << topology.error().message();
  EXPECT_EQ(topology->text(), "2x8:1,2.1");
  testing::write_files(directory.path(), {{"node1/cpulist", "x"}, {"node0/cpulist", ""}});
  EXPECT_FALSE(topology_of_machine(directory.path()).ok());
  Result<Topology> none = topology_of_machine(directory.path() + "/absent");
  ASSERT_FALSE(none.ok());
  EXPECT_NE(none.error().hint.find("--topology"), std::string::npos);
}

}  // namespace
}  // namespace fathom
