#pragma once
// Time of a kernel without running it, by four models side by side.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "prediction/activity.h"
#include "prediction/launch.h"
#include "prediction/program.h"
#include "prediction/simulator.h"

namespace fathom {

enum class PredictionModel : uint8_t { simulation, delay, list, roofline };
const char* name_of(PredictionModel model);  ///< "sim", "delay", "list", "roofline"

struct ResourceUse {
  std::string name;
  double share = 0;  ///< of the kernel's time that it is busy
};
struct LineShare {
  SourceLocation at;
  double share = 0;       ///< of the warps' time
  std::string waits_for;  ///< what most of it goes on; empty: nothing in particular
};

struct KernelPrediction {
  std::string name, mangled;
  PredictionModel model = PredictionModel::simulation;
  double time_us = 0;    ///< with the launch
  double launch_us = 0;  ///< of it, whatever the kernel does
  std::string bound_by;
  std::vector<std::string> assumed;
  Occupancy occupancy;
  LaunchShape shape;
  bool from_sass = true;
  std::vector<ResourceUse> resources;  ///< busiest first
  std::vector<LineShare> lines;        ///< longest first
  std::array<double, kWaits> waits{};  ///< shares of the warps' time, by Wait; zeros: no simulation
  double dram_bytes = 0, l2_bytes = 0, footprint_bytes = 0, l1_hit_share = 0;
  double instructions = 0;  ///< warp instructions of the whole launch
  Activity activity;
  std::vector<std::pair<std::string_view, double>> rates;  ///< what the model of power sees
  std::optional<double> power_w;    ///< mean while such launches follow each other
  std::optional<double> energy_mj;  ///< of one launch: power x time
  std::vector<Finding> findings;
};

/// Errors: the block does not fit on a multiprocessor (which limit), or the machine has no figures.
Result<KernelPrediction> predict(const Program& program, const Launch& launch,
                                 const MachineModel& machine, PredictionModel model,
                                 const ParameterBlock& parameters);

/// What the models share: how often each step runs and what memory does.
struct KernelFacts {
  const Program& program;
  const Launch& launch;
  const MachineModel& machine;
  const Walk& walk;
  const MemoryPlan& memory;
  Occupancy occupancy;
  uint32_t active = 1;           ///< multiprocessors that have blocks
  std::vector<double> per_warp;  ///< executions of each step by an average warp
  std::vector<double> sectors;   ///< of each execution, on average
  std::vector<double> passes;    ///< of shared memory, on average
  double warps() const { return static_cast<double>(launch.blocks()) * launch.warps_per_block(); }
};
KernelFacts gather_facts(const Program& program, const Launch& launch, const MachineModel& machine,
                         const Walk& walk, const MemoryPlan& memory, const Occupancy& occupancy,
                         uint32_t active);

/// Seconds without the launch. Sources: the thesis, models 1 and 2; the roofline of Williams et al.
double delay_seconds(const KernelFacts& facts);
double list_seconds(const KernelFacts& facts);
struct Roofline {
  double compute = 0, memory = 0;  ///< seconds
  Pipe pipe = Pipe::none;          ///< that takes longest
};
Roofline roofline(const KernelFacts& facts);

/// What would make the kernel faster.
std::vector<Finding> advise(const KernelFacts& facts, const KernelPrediction& prediction);

}  // namespace fathom
