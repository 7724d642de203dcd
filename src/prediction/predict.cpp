#include "prediction/predict.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "prediction/power.h"
#include "prediction/views.h"

namespace fathom {
namespace {

const char* limit_text(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::registers:
      return "registers";
    case OccupancyLimit::shared_memory:
      return "shared memory";
    default:
      return "threads";
  }
}

/// A number of 64 bits looks like a pointer, but nothing lies there.
bool is_used(const Walk& walk, uint64_t buffer) {
  return std::any_of(walk.accesses.begin(), walk.accesses.end(), [&](const Access& access) {
    return access.sectors > 0 && walk.sectors[access.first_sector] >> (kBufferShift - 5) == buffer;
  });
}

void add_assumptions(const Walk& walk, const MemoryPlan& memory, const MachineModel& machine,
                     const ParameterBlock& parameters, KernelPrediction& out) {
  for (size_t position : parameters.guessed()) {
    const Parameter& each = parameters.parameters()[position];
    out.assumed.push_back(
        format("argument %zu%s was not given: the number of threads (--arg %zu=VALUE changes it)",
               position, each.name.empty() ? "" : (" (" + each.name + ")").c_str(), position));
  }
  for (size_t position : parameters.pointers()) {
    if (is_used(walk, ParameterBlock::buffer_of(position))) continue;
    const Parameter& each = parameters.parameters()[position];
    out.assumed.push_back(
        format("argument %zu%s was not given: taken for a pointer, but nothing is read or written "
               "there; of a number, say --arg %zu=VALUE",
               position, each.name.empty() ? "" : (" (" + each.name + ")").c_str(), position));
  }
  out.assumed.insert(out.assumed.end(), walk.assumed.begin(), walk.assumed.end());
  if (memory.footprint_bytes > 0 && memory.footprint_bytes < machine.prediction->memory.l2_bytes)
    out.assumed.push_back("the data fit into L2 and are there from an earlier launch");
  if (!out.from_sass)
    out.assumed.push_back("registers and instructions are estimated from PTX: no ptxas was used");
  if (machine.prediction->measured.empty())
    out.assumed.push_back("figures of " + machine.name + " are public ones, not measured");
}

}  // namespace

const char* name_of(PredictionModel model) {
  static constexpr const char* kNames[] = {"sim", "delay", "list", "roofline"};
  return kNames[static_cast<size_t>(model)];
}

Result<KernelPrediction> predict(const Program& program, const Launch& launch,
                                 const MachineModel& machine, PredictionModel model,
                                 const ParameterBlock& parameters) {
  if (!machine.prediction || machine.multiprocessors == 0)
    return Error{ErrorKind::cannot_answer, "there are no figures for prediction", machine.name,
                 "name a device, e.g. --device H200"};
  KernelPrediction out;
  out.mangled = program.name;
  out.name = demangle(program.name);
  out.model = model;
  out.shape = program.shape;
  out.from_sass = program.from_sass;
  out.occupancy = occupancy_of(machine.occupancy, program.shape);
  if (out.occupancy.active_blocks == 0)
    return Error{ErrorKind::cannot_answer,
                 format("a block of %u threads with %u registers each and %u bytes of shared "
                        "memory does not run: too many %s",
                        launch.threads_per_block(), program.shape.registers_per_thread,
                        program.shape.static_shared_memory + program.shape.dynamic_shared_memory,
                        limit_text(out.occupancy.limit)),
                 out.name, "choose a smaller block"};
  const auto active =
      static_cast<uint32_t>(std::min<uint64_t>(machine.multiprocessors, launch.blocks()));
  WalkLimits limits;
  limits.multiprocessors = machine.multiprocessors;
  const Walk sample = walk(program, launch, limits);
  const MemoryPlan memory =
      plan_memory(program, sample, launch, machine, out.occupancy.active_blocks, active);
  const KernelFacts facts =
      gather_facts(program, launch, machine, sample, memory, out.occupancy, active);

  out.dram_bytes = memory.dram_bytes;
  out.l2_bytes = memory.l2_bytes;
  out.footprint_bytes = memory.footprint_bytes;
  out.l1_hit_share = memory.l1_hit_share;
  for (double each : facts.per_warp) out.instructions += each * facts.warps();
  out.activity = count_activity(facts);
  // Launches are made ahead: a kernel that takes longer than making one adds only what lies between
  // two on the device.
  const LaunchFigures& launches = machine.prediction->launch;
  out.launch_us = launches.between_us > 0        ? launches.between_us
                  : launches.graph_launch_us > 0 ? launches.graph_launch_us
                                                 : launches.empty_kernel_us;
  add_assumptions(sample, memory, machine, parameters, out);

  double seconds = 0;
  if (model == PredictionModel::simulation) {
    TimeView time(program);
    const Simulation simulation = simulate(
        {program, sample, launch, machine, memory, out.occupancy.active_blocks, active}, {&time});
    seconds = simulation.cycles / (machine.prediction->clock_mhz * 1e6);
    out.resources = resource_use(simulation, machine.schedulers);
    out.lines = time.lines();
    out.waits = time.waits();
    out.bound_by = bound_by(out.resources, out.waits);
    if (seconds * 1e6 + out.launch_us < launches.empty_kernel_us) out.bound_by = "launch overhead";
  } else if (model == PredictionModel::roofline) {
    const Roofline roof = roofline(facts);
    seconds = std::max(roof.compute, roof.memory);
    out.bound_by = roof.memory >= roof.compute ? "memory bandwidth" : name_of(roof.pipe);
  } else {
    seconds = model == PredictionModel::delay ? delay_seconds(facts) : list_seconds(facts);
    const Roofline roof = roofline(facts);
    out.bound_by = roof.memory >= roof.compute ? "memory" : "computation";
  }
  out.time_us = out.launch_us + seconds * 1e6;
  if (out.time_us < launches.empty_kernel_us) {
    out.time_us = launches.empty_kernel_us;
    out.launch_us = out.time_us - seconds * 1e6;
  }
  add_power(machine, out);
  out.findings = advise(facts, out);
  return out;
}

}  // namespace fathom
