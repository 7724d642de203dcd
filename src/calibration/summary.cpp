#include "base/text.h"
#include "calibration/calibration.h"

namespace fathom {
namespace {

std::string line(const Figures& figures, const char* what, const char* path, const char* unit,
                 double scale = 1) {
  const auto found = figures.values.find(path);
  if (found == figures.values.end()) return format("  %-34s not measured\n", what);
  const Figure& f = found->second;
  return format("  %-34s %9.4g %-6s (%.4g to %.4g)\n", what, f.value * scale, unit, f.low * scale,
                f.high * scale);
}

}  // namespace

std::string calibration_summary(const std::string& device, const Figures& figures) {
  std::string text = device + "\n";
  text += line(figures, "clock", "clock_mhz", "MHz");
  text += line(figures, "FP32 latency", "classes/fp32/latency", "cycles");
  text += line(figures, "FP32 lanes", "classes/fp32/lanes", "");
  text += line(figures, "FP64 lanes", "classes/fp64/lanes", "");
  text += line(figures, "shared memory latency", "memory/shared_latency", "cycles");
  text += line(figures, "L1 latency", "memory/l1_latency", "cycles");
  text += line(figures, "L2 latency, near", "memory/l2_latency", "cycles");
  text += line(figures, "L2 latency, far", "memory/l2_far_latency", "cycles");
  text += line(figures, "device memory latency", "memory/dram_latency", "cycles");
  text += line(figures, "L2 bandwidth", "memory/l2_bytes_per_second", "GB/s", 1e-9);
  text += line(figures, "read bandwidth", "memory/dram_read_bytes_per_second", "GB/s", 1e-9);
  text += line(figures, "launch in a stream", "launch/stream_launch_us", "us");
  text += line(figures, "launch in a graph", "launch/graph_launch_us", "us");
  text += line(figures, "idle power", "power/idle_watts", "W");
  for (const std::string& failure : figures.failures) text += "  failed: " + failure + "\n";
  return text;
}

}  // namespace fathom
