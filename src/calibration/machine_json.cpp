#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "calibration/calibration.h"

namespace fathom {
namespace {

using Json = nlohmann::ordered_json;

/// Five digits are more than repetitions agree on. A whole number stays one.
Json rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  const double unit = std::pow(10.0, std::floor(std::log10(std::fabs(value))) - 4);
  const double round = std::round(value / unit) * unit;
  if (round == std::floor(round) && std::fabs(round) < 1e15) return static_cast<int64_t>(round);
  return std::stod(format("%.5g", round));
}

void put(Json& object, const std::string& path, double value) {
  Json* at = &object;
  for (std::string_view part : split(path, '/')) at = &(*at)[std::string(part)];
  *at = rounded(value);
}

Json occupancy_json(const OccupancyLimits& limits) {
  return {{"warp_size", limits.warp_size},
          {"max_warps", limits.max_warps},
          {"max_blocks", limits.max_blocks},
          {"max_threads_per_block", limits.max_threads_per_block},
          {"registers", limits.registers},
          {"max_registers_per_block", limits.max_registers_per_block},
          {"max_registers_per_thread", limits.max_registers_per_thread},
          {"register_unit", limits.register_unit},
          {"warp_unit", limits.warp_unit},
          {"shared_memory", limits.shared_memory},
          {"max_shared_memory_per_block", limits.max_shared_memory_per_block},
          {"shared_memory_unit", limits.shared_memory_unit},
          {"reserved_shared_memory_per_block", limits.reserved_shared_memory_per_block}};
}

/// Classes that the predictor asks for by another name than the instruction's own.
struct Alias {
  const char* name;
  const char* measured;
};
constexpr Alias kAliases[] = {{"integer_wide", "popcount"},
                              {"tensor", "tensor_16816_f16"},
                              {"tensor_16816", "tensor_16816_f16"},
                              {"tensor_1688", "tensor_1688_f16"}};

std::map<std::string, Figure> with_aliases(const Figures& figures) {
  std::map<std::string, Figure> values = figures.values;
  for (const Alias& alias : kAliases)
    for (const char* figure : {"/latency", "/lanes", "/peak_warps"}) {
      const auto found = values.find(std::string("classes/") + alias.measured + figure);
      if (found != values.end())
        values[std::string("classes/") + alias.name + figure] = found->second;
    }
  return values;
}

std::map<std::string, double> memory_paths(const MemoryFigures& m) {
  return {{"shared_latency", m.shared_latency},
          {"l1_latency", m.l1_latency},
          {"l2_latency", m.l2_latency},
          {"l2_far_latency", m.l2_far_latency},
          {"dram_latency", m.dram_latency},
          {"line_bytes", m.line_bytes},
          {"sector_bytes", m.sector_bytes},
          {"l1_bytes", m.l1_bytes},
          {"l2_bytes", m.l2_bytes},
          {"shared_bytes_per_cycle", m.shared_bytes_per_cycle},
          {"l1_bytes_per_cycle", m.l1_bytes_per_cycle},
          {"l2_sm_bytes_per_cycle", m.l2_sm_bytes_per_cycle},
          {"l2_bytes_per_second", m.l2_bytes_per_second},
          {"dram_read_bytes_per_second", m.dram_read_bytes_per_second},
          {"dram_write_bytes_per_second", m.dram_write_bytes_per_second},
          {"dram_copy_bytes_per_second", m.dram_copy_bytes_per_second},
          {"atomic_shared_latency", m.atomic_shared_latency},
          {"atomic_global_latency", m.atomic_global_latency},
          {"atomic_global_per_second", m.atomic_global_per_second},
          {"atomic_same_address_per_second", m.atomic_same_address_per_second}};
}

/// Every figure of a machine model by its path, those that are there.
std::map<std::string, double> paths_of(const PredictionFigures& figures) {
  std::map<std::string, double> all = {{"launch/empty_kernel_us", figures.launch.empty_kernel_us},
                                       {"launch/stream_launch_us", figures.launch.stream_launch_us},
                                       {"launch/graph_launch_us", figures.launch.graph_launch_us},
                                       {"launch/block_cycles", figures.launch.block_cycles},
                                       {"launch/block_latency", figures.launch.block_latency},
                                       {"power/idle_watts", figures.power.idle_watts},
                                       {"power/limit_watts", figures.power.limit_watts}};
  for (const auto& [name, value] : memory_paths(figures.memory)) all["memory/" + name] = value;
  for (const auto& [name, one] : figures.classes) {
    all["classes/" + name + "/latency"] = one.latency;
    all["classes/" + name + "/lanes"] = one.lanes;
    all["classes/" + name + "/peak_warps"] = one.peak_warps;
  }
  std::erase_if(all, [](const auto& entry) { return !(entry.second > 0); });
  return all;
}

Json curves_json(const Figures& figures) {
  Json curves = Json::object();
  for (const auto& [name, table] : figures.tables) {
    Json rows = Json::array();
    for (const std::vector<double>& row : table.rows) {
      Json cells = Json::array();
      for (double value : row) cells.push_back(rounded(value));
      rows.push_back(std::move(cells));
    }
    curves[name] = {{"columns", table.columns}, {"rows", std::move(rows)}};
  }
  return curves;
}

Json prediction_json(const MachineModel& base, uint64_t l2_bytes, const Figures& figures,
                     const std::string& measured) {
  Json prediction;
  prediction["source"] =
      "Measured by fathom calibrate; what it did not measure is in \"taken_over\".";
  prediction["measured"] = measured;
  std::map<std::string, Figure> values = with_aliases(figures);
  std::erase_if(values, [](const auto& entry) { return !(entry.second.value > 0); });
  Json taken_over = Json::array(), spread = Json::object();
  if (base.prediction) {
    for (const auto& [path, value] : paths_of(*base.prediction)) {
      if (values.count(path) || (path == "memory/l2_bytes" && l2_bytes > 0)) continue;
      put(prediction, path, value);
      taken_over.push_back(path);
    }
    if (!values.count("clock_mhz")) put(prediction, "clock_mhz", base.prediction->clock_mhz);
  }
  if (l2_bytes > 0) prediction["memory"]["l2_bytes"] = l2_bytes;
  for (const auto& [path, figure] : values) {
    put(prediction, path, figure.value);
    if (figure.high > figure.low) spread[path] = {rounded(figure.low), rounded(figure.high)};
  }
  prediction["spread"] = std::move(spread);
  prediction["taken_over"] = std::move(taken_over);
  prediction["failures"] = figures.failures;
  prediction["curves"] = curves_json(figures);
  prediction["code"] = figures.sass;
  return prediction;
}

}  // namespace

std::string machine_json(const MachineModel& base, const std::string& device,
                         uint32_t multiprocessors, uint64_t l2_bytes, const Figures& figures,
                         const std::string& measured) {
  Json latency;
  for (const auto& [name, range] : base.latency) latency[name] = {range.min, range.max};
  const Json machine = {{"name", device},
                        {"arch", base.arch},
                        {"source", base.source},
                        {"schedulers", base.schedulers},
                        {"multiprocessors", multiprocessors},
                        {"occupancy", occupancy_json(base.occupancy)},
                        {"latency", std::move(latency)},
                        {"prediction", prediction_json(base, l2_bytes, figures, measured)}};
  return machine.dump(1) + "\n";
}

}  // namespace fathom
