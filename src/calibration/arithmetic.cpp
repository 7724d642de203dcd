#include "calibration/arithmetic.h"

#include <algorithm>

namespace fathom {
namespace {

constexpr int kBodies = 128;
constexpr uint64_t kRounds = 12;
constexpr int kChains[] = {1, 2, 4, 8};
constexpr int kWarps[] = {1, 2, 4, 8, 12, 16, 24, 32};
constexpr uint64_t kSeed = 0x2545f491;

GridShape all_multiprocessors(const CudaDriver& driver, int warps) {
  return {static_cast<uint32_t>(driver.attribute(DeviceAttribute::multiprocessors)),
          static_cast<uint32_t>(warps) * 32, 0};
}

/// A loop of twice the length tells the chain's own time from that of the loop around it.
Result<Done> measure_latency(CudaDriver& driver, RoundTimer& timer,
                             const MeasuredInstruction& instruction, Figures& figures) {
  Figure cycles[2];
  for (int i = 0; i < 2; ++i) {
    Result<LoadedBenchmark> loaded = load_benchmark(
        driver, arithmetic_benchmark(instruction, driver.compute(), 1, kBodies * (i + 1)));
    if (!loaded) return loaded.error();
    Result<Figure> figure =
        timer.cycles_per_round(loaded->function, all_multiprocessors(driver, 1), {kSeed}, kRounds);
    if (!figure) return figure.error();
    cycles[i] = figure.value();
    figures.sass[instruction.name] = loaded->text;
  }
  const double also = figures.value("classes/" + instruction.also + "/latency");
  auto latency = [&](double longer, double shorter) {
    return ((longer - shorter) / kBodies - also) / instruction.measured;
  };
  figures.set("classes/" + instruction.name + "/latency",
              {latency(cycles[1].value, cycles[0].value), latency(cycles[1].low, cycles[0].low),
               latency(cycles[1].high, cycles[0].high)});
  return Done{};
}

Result<Done> measure_throughput(CudaDriver& driver, RoundTimer& timer,
                                const MeasuredInstruction& instruction, Figures& figures) {
  std::vector<ThroughputPoint> points;
  Figure best;
  FigureTable table{{"chains", "warps", "lanes"}, {}};
  for (int chains : kChains) {
    Result<LoadedBenchmark> loaded = load_benchmark(
        driver, arithmetic_benchmark(instruction, driver.compute(), chains, kBodies));
    if (!loaded) return loaded.error();
    for (int warps : kWarps) {
      Result<Figure> cycles = timer.cycles_per_round(
          loaded->function, all_multiprocessors(driver, warps), {kSeed}, kRounds, 3);
      if (!cycles) return cycles.error();
      const double operations = 32.0 * warps * loaded->measured;
      if (cycles->low <= 0) continue;
      const Figure lanes{operations / cycles->value, operations / cycles->high,
                         operations / cycles->low};
      points.push_back({chains, warps, lanes.value});
      table.rows.push_back({double(chains), double(warps), lanes.value});
      if (lanes.value > best.value) best = lanes;
    }
  }
  figures.set("classes/" + instruction.name + "/lanes", best);
  if (const int peak = peak_warps(points))
    figures.set("classes/" + instruction.name + "/peak_warps",
                {double(peak), double(peak), double(peak)});
  figures.tables["throughput/" + instruction.name] = std::move(table);
  return Done{};
}

}  // namespace

int peak_warps(const std::vector<ThroughputPoint>& points) {
  double best = 0;
  for (const ThroughputPoint& point : points)
    if (point.chains == 1) best = std::max(best, point.lanes);
  int fewest = 0;
  for (const ThroughputPoint& point : points)
    if (point.chains == 1 && point.lanes >= 0.95 * best && (fewest == 0 || point.warps < fewest))
      fewest = point.warps;
  return fewest;
}

Result<Done> measure_instruction(CudaDriver& driver, RoundTimer& timer,
                                 const MeasuredInstruction& instruction, Figures& figures) {
  if (static_cast<int>(driver.compute()) < instruction.compute) return Done{};
  Result<Done> done = measure_latency(driver, timer, instruction, figures);
  if (done.ok()) done = measure_throughput(driver, timer, instruction, figures);
  return done;
}

}  // namespace fathom
