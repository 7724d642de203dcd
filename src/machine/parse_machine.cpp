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
    if (problem.empty()) return model;
  }
  return Error{ErrorKind::bad_input, problem, file, "correct the field or take the built-in model"};
}

}  // namespace fathom
