#include "machine/machine.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <vector>

#include "base/text.h"
#include "machine/machine_data.h"

namespace fathom {
namespace {

std::vector<MachineModel> parse_all() {
  std::vector<MachineModel> models;
  for (const MachineData& data : machine_data()) {
    Result<MachineModel> model = parse_machine(data.json, std::string(data.file));
    FATHOM_INVARIANT(model.ok());
    models.push_back(std::move(model).value());
  }
  return models;
}

const std::vector<MachineModel>& all_models() {
  static const std::vector<MachineModel> models = parse_all();
  return models;
}

/// 90 of "sm_90"; 0 for a model that is not an NVIDIA architecture's own.
uint32_t compute_of(const MachineModel& model) {
  const bool is_architecture = model.name == model.arch && model.arch.rfind("sm_", 0) == 0;
  return is_architecture ? static_cast<uint32_t>(std::atoi(model.arch.c_str() + 3)) : 0;
}

void put_over(uint32_t& limit, uint32_t fact) {
  if (fact != 0) limit = fact;
}

}  // namespace

LatencyRange MachineModel::latency_of(std::string_view instruction_class) const {
  auto found = latency.find(std::string(instruction_class));
  if (found == latency.end()) found = latency.find("default");
  return found == latency.end() ? LatencyRange{} : found->second;
}

MachineChoice machine_for(uint32_t compute) {
  const MachineModel* best = nullptr;
  const MachineModel* oldest = nullptr;
  for (const MachineModel& model : all_models()) {
    const uint32_t own = compute_of(model);
    if (own == 0) continue;
    if (own <= compute && (!best || own > compute_of(*best))) best = &model;
    if (!oldest || own < compute_of(*oldest)) oldest = &model;
  }
  if (!best) best = oldest;
  return {best, compute_of(*best) == compute};
}

MachineChoice machine_for(std::string_view device, uint32_t compute) {
  for (const MachineModel& model : all_models()) {
    if (model.name == device) return {&model, true};
  }
  return machine_for(compute);
}

namespace {

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

}  // namespace

Result<const MachineModel*> find_device(std::string_view name) {
  const std::string wanted = in_lower_case(name);
  std::vector<const MachineModel*> found;
  std::vector<std::string> all;
  for (const MachineModel& model : all_models()) {
    if (!model.prediction) continue;
    const std::string own = in_lower_case(model.name);
    if (own == wanted) return &model;
    all.push_back(model.name);
    if (!wanted.empty() && own.find(wanted) != own.npos) found.push_back(&model);
  }
  if (found.size() == 1) return found.front();
  return Error{ErrorKind::usage,
               (found.empty() ? "there is no figures' file for the device \""
                              : "several devices are called \"") +
                   std::string(name) + "\"",
               "", "choose one of " + join(all, ", ")};
}

OccupancyLimits limits_of(const MachineModel& model, const DeviceFacts& device) {
  OccupancyLimits limits = model.occupancy;
  put_over(limits.max_warps, device.max_warps_per_multiprocessor);
  put_over(limits.max_blocks, device.max_blocks_per_multiprocessor);
  put_over(limits.registers, device.max_registers_per_multiprocessor);
  put_over(limits.shared_memory, device.max_shared_memory_per_multiprocessor);
  put_over(limits.max_threads_per_block, device.max_threads_per_block);
  // Devices report what a block gets without opting in to more.
  limits.max_shared_memory_per_block =
      std::max(limits.max_shared_memory_per_block, device.max_shared_memory_per_block);
  return limits;
}

}  // namespace fathom
