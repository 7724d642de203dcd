#include <nlohmann/json.hpp>

#include "base/text.h"
#include "machine/machine.h"

namespace fathom {
namespace {

using Json = nlohmann::json;

/// Reads fields of one object; the first that is missing or wrong is remembered.
class Fields {
 public:
  Fields(const Json& object, std::string prefix, std::string& problem)
      : object_(object), prefix_(std::move(prefix)), problem_(problem) {}

  std::string text(const char* name) {
    const Json* value = find(name);
    if (!value) return {};
    if (!value->is_string() || value->get_ref<const std::string&>().empty()) {
      complain(name, "must be a text");
      return {};
    }
    return value->get<std::string>();
  }

  uint32_t number(const char* name, uint32_t least) {
    const Json* value = find(name);
    if (!value) return least;
    return in_range(*value, name, least);
  }

  /// A finite number above 0; 0 where it is missing and may be.
  double figure(const char* name, bool required) {
    const auto found = object_.find(name);
    if (found == object_.end()) {
      if (required) complain(name, "is missing");
      return 0;
    }
    const double value = found->is_number() ? found->get<double>() : 0;
    if (value > 0 && value < 1e18) return value;
    complain(name, "must be a number above 0");
    return 0;
  }

  LatencyRange range(const std::string& name, const Json& value) {
    if (!value.is_array() || value.size() != 2) {
      complain(name, "must be [min, max] in cycles");
      return {};
    }
    const LatencyRange range{in_range(value[0], name, 0), in_range(value[1], name, 0)};
    if (range.min > range.max) complain(name, "must not have min above max");
    return range;
  }

  const Json* object(const char* name) {
    const Json* value = find(name);
    if (value && !value->is_object()) complain(name, "must be an object");
    return value && value->is_object() ? value : nullptr;
  }

 private:
  const Json* find(const char* name) {
    const auto found = object_.find(name);
    if (found != object_.end()) return &*found;
    complain(name, "is missing");
    return nullptr;
  }

  uint32_t in_range(const Json& value, const std::string& name, uint32_t least) {
    constexpr uint64_t kMost = 1u << 30;
    if (value.is_number_unsigned()) {
      const auto number = value.get<uint64_t>();
      if (number >= least && number <= kMost) return static_cast<uint32_t>(number);
    }
    complain(name, format("must be a whole number of at least %u", least));
    return least;
  }

  void complain(const std::string& name, const std::string& what) {
    if (problem_.empty()) problem_ = "the field \"" + prefix_ + name + "\" " + what;
  }

  const Json& object_;
  std::string prefix_;
  std::string& problem_;
};

OccupancyLimits read_occupancy(const Json& object, std::string& problem) {
  Fields fields(object, "occupancy.", problem);
  OccupancyLimits limits;
  limits.warp_size = fields.number("warp_size", 1);
  limits.max_warps = fields.number("max_warps", 1);
  limits.max_blocks = fields.number("max_blocks", 1);
  limits.max_threads_per_block = fields.number("max_threads_per_block", 1);
  limits.registers = fields.number("registers", 1);
  limits.max_registers_per_block = fields.number("max_registers_per_block", 1);
  limits.max_registers_per_thread = fields.number("max_registers_per_thread", 1);
  limits.register_unit = fields.number("register_unit", 1);
  limits.warp_unit = fields.number("warp_unit", 1);
  limits.shared_memory = fields.number("shared_memory", 1);
  limits.max_shared_memory_per_block = fields.number("max_shared_memory_per_block", 1);
  limits.shared_memory_unit = fields.number("shared_memory_unit", 1);
  limits.reserved_shared_memory_per_block = fields.number("reserved_shared_memory_per_block", 0);
  return limits;
}

std::map<std::string, LatencyRange> read_latency(const Json& object, std::string& problem) {
  Fields fields(object, "latency.", problem);
  std::map<std::string, LatencyRange> latency;
  for (const auto& [name, value] : object.items()) latency[name] = fields.range(name, value);
  if (!latency.count("default") && problem.empty()) {
    problem = "the field \"latency.default\" is missing";
  }
  return latency;
}

std::map<std::string, double> read_lanes(const Json& object, std::string& problem) {
  Fields fields(object, "lanes.", problem);
  std::map<std::string, double> lanes;
  for (const auto& [name, value] : object.items()) lanes[name] = fields.figure(name.c_str(), true);
  if (!lanes.count("default") && problem.empty()) {
    problem = "the field \"lanes.default\" is missing";
  }
  return lanes;
}

std::map<std::string, ClassFigures> read_classes(const Json& object, std::string& problem) {
  std::map<std::string, ClassFigures> classes;
  Fields fields(object, "prediction.classes.", problem);
  for (const auto& [name, value] : object.items()) {
    if (!fields.object(name.c_str())) continue;
    Fields figures(value, "prediction.classes." + name + ".", problem);
    ClassFigures& out = classes[name];
    out.latency = figures.figure("latency", true);
    out.lanes = figures.figure("lanes", true);
    out.peak_warps = figures.figure("peak_warps", false);
  }
  if (!classes.count("default") && problem.empty()) {
    problem = "the field \"prediction.classes.default\" is missing";
  }
  return classes;
}

MemoryFigures read_memory(const Json& object, std::string& problem) {
  Fields fields(object, "prediction.memory.", problem);
  MemoryFigures memory;
  memory.shared_latency = fields.figure("shared_latency", true);
  memory.l1_latency = fields.figure("l1_latency", true);
  memory.l2_latency = fields.figure("l2_latency", true);
  memory.l2_far_latency = fields.figure("l2_far_latency", false);
  memory.dram_latency = fields.figure("dram_latency", true);
  memory.line_bytes = fields.figure("line_bytes", true);
  memory.sector_bytes = fields.figure("sector_bytes", true);
  memory.l1_bytes = fields.figure("l1_bytes", true);
  memory.l2_bytes = fields.figure("l2_bytes", true);
  memory.shared_bytes_per_cycle = fields.figure("shared_bytes_per_cycle", true);
  memory.l1_bytes_per_cycle = fields.figure("l1_bytes_per_cycle", true);
  memory.l2_sm_bytes_per_cycle = fields.figure("l2_sm_bytes_per_cycle", true);
  memory.l2_bytes_per_second = fields.figure("l2_bytes_per_second", true);
  memory.dram_read_bytes_per_second = fields.figure("dram_read_bytes_per_second", true);
  memory.dram_write_bytes_per_second = fields.figure("dram_write_bytes_per_second", true);
  memory.dram_copy_bytes_per_second = fields.figure("dram_copy_bytes_per_second", true);
  const std::pair<const char*, double*> optional[] = {
      {"partial_write_cost", &memory.partial_write_cost},
      {"dram_latency_spread", &memory.dram_latency_spread},
      {"dram_busy_read_cycles", &memory.dram_busy_read_cycles},
      {"dram_busy_mixed_cycles", &memory.dram_busy_mixed_cycles},
      {"constant_bytes", &memory.constant_bytes},
      {"constant_miss_cycles", &memory.constant_miss_cycles},
      {"constant_uniform_miss_cycles", &memory.constant_uniform_miss_cycles},
      {"constant_groups", &memory.constant_groups},
      {"constant_uniform_bytes", &memory.constant_uniform_bytes},
      {"l2_read_bytes_per_second", &memory.l2_read_bytes_per_second},
      {"l2_write_bytes_per_second", &memory.l2_write_bytes_per_second},
      {"l2_copy_bytes_per_second", &memory.l2_copy_bytes_per_second},
      {"l2_gather_sectors_per_second", &memory.l2_gather_sectors_per_second},
      {"dram_gather_sectors_per_second", &memory.dram_gather_sectors_per_second},
      {"l2_kept_bytes", &memory.l2_kept_bytes},
      {"l2_lost_bytes", &memory.l2_lost_bytes},
      {"atomic_sectors_per_second", &memory.atomic_sectors_per_second},
      {"atomic_line_sectors_per_second", &memory.atomic_line_sectors_per_second}};
  for (const auto& [name, figure] : optional)
    if (object.contains(name)) *figure = fields.figure(name, true);
  memory.atomic_shared_latency = fields.figure("atomic_shared_latency", true);
  memory.atomic_global_latency = fields.figure("atomic_global_latency", true);
  memory.atomic_global_per_second = fields.figure("atomic_global_per_second", true);
  memory.atomic_same_address_per_second = fields.figure("atomic_same_address_per_second", true);
  if (memory.l2_far_latency == 0) memory.l2_far_latency = memory.l2_latency;
  return memory;
}

PredictionFigures read_prediction(const Json& object, std::string& problem) {
  Fields fields(object, "prediction.", problem);
  PredictionFigures figures;
  figures.source = fields.text("source");
  if (object.contains("measured")) figures.measured = fields.text("measured");
  figures.clock_mhz = fields.figure("clock_mhz", true);
  if (const Json* part = fields.object("classes")) figures.classes = read_classes(*part, problem);
  if (const Json* part = fields.object("memory")) figures.memory = read_memory(*part, problem);
  if (const Json* part = fields.object("launch")) {
    Fields launch(*part, "prediction.launch.", problem);
    figures.launch.empty_kernel_us = launch.figure("empty_kernel_us", true);
    figures.launch.stream_launch_us = launch.figure("stream_launch_us", false);
    figures.launch.graph_launch_us = launch.figure("graph_launch_us", false);
    if (part->contains("between_us"))
      figures.launch.between_us = launch.figure("between_us", false);
    figures.launch.block_cycles = launch.figure("block_cycles", true);
    figures.launch.block_latency = launch.figure("block_latency", true);
  }
  if (object.contains("power")) {
    if (const Json* part = fields.object("power")) {
      Fields power(*part, "prediction.power.", problem);
      figures.power.idle_watts = power.figure("idle_watts", true);
      figures.power.limit_watts = power.figure("limit_watts", true);
    }
  }
  return figures;
}

}  // namespace

Result<MachineModel> parse_machine(std::string_view json, const std::string& file) {
  Json root;
  try {
    root = Json::parse(json.begin(), json.end());
  } catch (const Json::parse_error& error) {
    return Error{ErrorKind::bad_input, "this is not JSON",
                 format("%s, byte %zu", file.c_str(), error.byte),
                 "compare it with a machine data file that `fathom calibrate` wrote"};
  }
  std::string problem;
  if (!root.is_object()) problem = "the file must hold one object";
  if (problem.empty()) {
    MachineModel model;
    Fields fields(root, "", problem);
    model.name = fields.text("name");
    model.arch = fields.text("arch");
    model.source = fields.text("source");
    model.schedulers = fields.number("schedulers", 1);
    model.multiprocessors = fields.number("multiprocessors", 0);
    if (const Json* object = fields.object("occupancy")) {
      model.occupancy = read_occupancy(*object, problem);
    }
    if (const Json* object = fields.object("latency")) {
      model.latency = read_latency(*object, problem);
    }
    if (root.contains("lanes")) {
      if (const Json* object = fields.object("lanes")) model.lanes = read_lanes(*object, problem);
    }
    if (root.contains("prediction")) {
      if (const Json* object = fields.object("prediction")) {
        model.prediction = read_prediction(*object, problem);
      }
    }
    if (problem.empty()) return model;
  }
  return Error{ErrorKind::bad_input, problem, file, "correct the field or take the built-in model"};
}

}  // namespace fathom
