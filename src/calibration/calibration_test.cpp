#include "calibration/calibration.h"

#include <gtest/gtest.h>

#include "calibration/arithmetic.h"
#include "calibration/power_meter.h"
#include "calibration/sweeps.h"
#include "calibration/timed_kernel.h"
#include "calibration/warp_times.h"

namespace fathom {
namespace {

TEST(FigureOf, TakesTheMedianAndTheExtremes) {
  const Figure figure = figure_of({9, 1, 4});
  EXPECT_EQ(figure.value, 4);
  EXPECT_EQ(figure.low, 1);
  EXPECT_EQ(figure.high, 9);
  EXPECT_EQ(figure_of({}).value, 0);
}

TEST(CyclesByMultiprocessor, SpansFromTheFirstBeginToTheLastEnd) {
  const std::vector<double> cycles =
      cycles_by_multiprocessor({{100, 200, 0}, {90, 150, 0}, {1000, 1010, 5}, {7, 3, 5}});
  EXPECT_EQ(cycles, (std::vector<double>{110, 10}));
}

TEST(PeakWarps, AreTheFewestThatReachTheBestWithOneChain) {
  EXPECT_EQ(peak_warps({{1, 4, 32}, {1, 16, 126}, {1, 32, 128}, {4, 4, 128}}), 16);
  EXPECT_EQ(peak_warps({}), 0);
}

TEST(WattsOf, CountsFromChangeToChangeOfTheCounter) {
  // 10 J from 0.3 s to 0.5 s; what came before 0.25 s does not count.
  const std::vector<EnergySample> samples = {{0.0, 0},     {0.1, 1000},  {0.2, 9000}, {0.3, 10000},
                                             {0.4, 10000}, {0.5, 20000}, {0.6, 20000}};
  EXPECT_DOUBLE_EQ(watts_of(samples, 0.25), 50);
  EXPECT_EQ(watts_of(samples, 0.45), 0) << "one change tells no rate";
}

TEST(ForChain, PutsTheNumberInEachPlace) {
  EXPECT_EQ(for_chain("add %r{c}, %r{c}, 1;{c}", 3), "add %r3, %r3, 1;3");
}

Figures measured_figures() {
  Figures figures;
  figures.set("clock_mhz", {1755, 1750, 1760});
  figures.set("classes/fp32/latency", {4.02, 4, 4.1});
  figures.set("classes/fp32/lanes", {127.5, 127, 128});
  figures.set("classes/popcount/latency", {11.5, 11, 12});
  figures.set("classes/popcount/lanes", {16, 16, 16});
  figures.set("memory/dram_latency", {612.345678, 600, 650});
  figures.tables["barrier_by_warps"] = {{"warps", "cycles"}, {{1, 19.5}, {32, 66}}};
  figures.failures = {"power: there is no energy counter"};
  figures.sass["fp32"] = "128 FFMA";
  return figures;
}

TEST(MachineJson, IsAMachineDataFileWithTheMeasuredFigures) {
  const MachineModel& base = *machine_for("NVIDIA H200", 90).model;
  const std::string json =
      machine_json(base, "NVIDIA Test", 144, 50 << 20, measured_figures(), "2026-01-31");
  Result<MachineModel> read = parse_machine(json, "test.json");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->name, "NVIDIA Test");
  EXPECT_EQ(read->multiprocessors, 144u);
  EXPECT_EQ(read->occupancy.registers, base.occupancy.registers);
  EXPECT_EQ(read->latency.at("fp64").max, base.latency.at("fp64").max);
  ASSERT_TRUE(read->prediction.has_value());
  EXPECT_EQ(read->prediction->measured, "2026-01-31");
  EXPECT_EQ(read->prediction->clock_mhz, 1755);
  EXPECT_NEAR(read->prediction->classes.at("fp32").latency, 4.02, 1e-9);
  EXPECT_NEAR(read->prediction->memory.dram_latency, 612.35, 1e-9);
  EXPECT_EQ(read->prediction->memory.l2_bytes, 50 << 20);
}

TEST(MachineJson, LeavesOutAClassOfWhichOnlyHalfIsKnown) {
  Figures figures = measured_figures();
  figures.set("classes/new_unit/lanes", {8, 8, 8});
  const MachineModel& base = *machine_for("NVIDIA H200", 90).model;
  Result<MachineModel> read =
      parse_machine(machine_json(base, "NVIDIA H200", 132, 0, figures, "2026-01-31"), "test.json");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->prediction->classes.count("new_unit"), 0u);
  EXPECT_EQ(read->prediction->classes.count("fp32"), 1u);
}

TEST(MachineJson, TakesOverWhatWasNotMeasuredAndSaysSo) {
  const MachineModel& base = *machine_for("NVIDIA H200", 90).model;
  const std::string json =
      machine_json(base, "NVIDIA H200", 132, 0, measured_figures(), "2026-01-31");
  Result<MachineModel> read = parse_machine(json, "test.json");
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->prediction->memory.l1_latency, base.prediction->memory.l1_latency);
  EXPECT_NE(json.find("\"memory/l1_latency\""), std::string::npos);
  EXPECT_EQ(json.find("\"memory/dram_latency\",\n"), std::string::npos);
  EXPECT_NE(json.find("there is no energy counter"), std::string::npos);
  EXPECT_EQ(read->prediction->classes.at("integer_wide").lanes, 16) << "as the population count";
}

TEST(Footprint, IsWhereTimesSayThatTheCacheKeepsAShare) {
  // 10 bytes a second from the cache, 5 from beyond: half of each takes 0.15 s a byte.
  const std::vector<FootprintRate> rates = {{10, 10}, {20, 10}, {40, 1 / 0.15}, {80, 5}, {160, 5}};
  EXPECT_DOUBLE_EQ(footprint_at(rates, 0.5), 40);
  EXPECT_NEAR(footprint_at(rates, 0.75), 30, 1e-9);
  EXPECT_NEAR(footprint_at(rates, 0.25), 60, 1e-9);
  EXPECT_EQ(footprint_at({{10, 5}, {20, 5}}, 0.5), 0);
}

}  // namespace
}  // namespace fathom
