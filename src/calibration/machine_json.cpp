#include <cmath>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "calibration/calibration.h"

namespace fathom {
namespace {

using Json = nlohmann::ordered_json;

/// Five digits are more than repetitions agree on; sizes are counts of kilobytes and stay as they
/// are.
Json rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return 0;
  if (value >= 1024 && std::fmod(value, 1024) == 0) return static_cast<int64_t>(value);
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
  bool only_if_absent = false;  ///< a guess: where the base has a figure, that is better
};
constexpr Alias kAliases[] = {
    {"default", "integer", true},         {"move", "integer", true},
    {"integer_wide", "popcount"},         {"tensor", "tensor_16816_f16"},
    {"tensor_16816", "tensor_16816_f16"}, {"tensor_1688", "tensor_1688_f16"}};

/// Measured figures, and those of the classes that stand for others. `taken` are the base's own.
std::map<std::string, Figure> with_aliases(const Figures& figures,
                                           const std::map<std::string, double>& taken) {
  std::map<std::string, Figure> values = figures.values;
  for (const Alias& alias : kAliases)
    for (const char* figure : {"/latency", "/lanes", "/peak_warps"}) {
      const std::string path = std::string("classes/") + alias.name + figure;
      const auto found = values.find(std::string("classes/") + alias.measured + figure);
      if (found == values.end() || (alias.only_if_absent && taken.count(path))) continue;
      values[path] = found->second;
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
          {"atomic_sectors_per_second", m.atomic_sectors_per_second},
          {"atomic_line_sectors_per_second", m.atomic_line_sectors_per_second},
          {"l2_read_bytes_per_second", m.l2_read_bytes_per_second},
          {"l2_write_bytes_per_second", m.l2_write_bytes_per_second},
          {"l2_copy_bytes_per_second", m.l2_copy_bytes_per_second},
          {"l2_gather_sectors_per_second", m.l2_gather_sectors_per_second},
          {"dram_gather_sectors_per_second", m.dram_gather_sectors_per_second},
          {"l2_kept_bytes", m.l2_kept_bytes},
          {"l2_lost_bytes", m.l2_lost_bytes},
          {"partial_write_cost", m.partial_write_cost},
          {"dram_latency_spread", m.dram_latency_spread},
          {"dram_busy_read_cycles", m.dram_busy_read_cycles},
          {"dram_busy_mixed_cycles", m.dram_busy_mixed_cycles},
          {"constant_bytes", m.constant_bytes},
          {"constant_miss_cycles", m.constant_miss_cycles},
          {"constant_uniform_miss_cycles", m.constant_uniform_miss_cycles},
          {"constant_groups", m.constant_groups},
          {"constant_uniform_bytes", m.constant_uniform_bytes},
          {"atomic_same_address_per_second", m.atomic_same_address_per_second}};
}

/// Every figure of a machine model by its path, those that are there.
std::map<std::string, double> paths_of(const PredictionFigures& figures) {
  std::map<std::string, double> all = {{"launch/empty_kernel_us", figures.launch.empty_kernel_us},
                                       {"launch/stream_launch_us", figures.launch.stream_launch_us},
                                       {"launch/graph_launch_us", figures.launch.graph_launch_us},
                                       {"launch/between_us", figures.launch.between_us},
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

/// A class without a latency or without a rate is of no use to anybody.
void leave_out_halves(Json& classes) {
  Json whole = Json::object();
  for (const auto& [name, figures] : classes.items())
    if (figures.contains("latency") && figures.contains("lanes")) whole[name] = figures;
  classes = std::move(whole);
}

/// What the base knows, or what is alike on every GPU from Volta on.
std::map<std::string, double> figures_to_take(const MachineModel& base) {
  if (base.prediction) return paths_of(*base.prediction);
  return {{"memory/line_bytes", 128},
          {"memory/sector_bytes", 32},
          {"memory/l1_bytes", double(base.occupancy.shared_memory)}};
}

Json prediction_json(const MachineModel& base, uint64_t l2_bytes, const Figures& figures,
                     const std::string& measured) {
  Json prediction;
  prediction["source"] = "Measured by fathom calibrate, except for what \"taken_over\" lists.";
  prediction["measured"] = measured;
  const std::map<std::string, double> taken = figures_to_take(base);
  std::map<std::string, Figure> values = with_aliases(figures, taken);
  const double size = static_cast<double>(l2_bytes);
  if (l2_bytes > 0) values["memory/l2_bytes"] = {size, size, size};
  std::erase_if(values, [](const auto& entry) { return !(entry.second.value > 0); });
  Json taken_over = Json::array(), spread = Json::object();
  for (const auto& [path, value] : taken) {
    if (values.count(path)) continue;
    put(prediction, path, value);
    taken_over.push_back(path);
  }
  for (const auto& [path, figure] : values) {
    put(prediction, path, figure.value);
    if (figure.high > figure.low) spread[path] = {rounded(figure.low), rounded(figure.high)};
  }
  leave_out_halves(prediction["classes"]);
  prediction["spread"] = std::move(spread);
  prediction["taken_over"] = std::move(taken_over);
  prediction["failures"] = figures.failures;
  prediction["curves"] = curves_json(figures);
  prediction["code"] = figures.sass;
  return prediction;
}

/// Puts arrays of numbers on one line each.
std::string with_short_arrays(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size(); ++at) {
    const size_t end = text[at] == '[' ? text.find_first_of("[]{}\"", at + 1) : std::string::npos;
    if (end == std::string::npos || text[end] != ']') {
      out += text[at];
      continue;
    }
    for (; at <= end; ++at) {
      if (text[at] == '\n' || text[at] == ' ') continue;
      out += text[at];
      if (text[at] == ',') out += ' ';
    }
    --at;
  }
  return out;
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
  return with_short_arrays(machine.dump(1)) + "\n";
}

}  // namespace fathom
