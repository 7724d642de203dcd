#include "advice/testing.h"

#include "attribution/blame.h"

namespace fathom::testing {
namespace {

DeviceFacts device() {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.compute_major = 9;
  facts.multiprocessors = 132;
  facts.core_clock_khz = 1980000;
  facts.memory_bandwidth = 4.8e12;
  facts.max_warps_per_multiprocessor = 64;
  facts.max_blocks_per_multiprocessor = 32;
  facts.max_registers_per_multiprocessor = 65536;
  facts.max_shared_memory_per_multiprocessor = 233472;
  facts.max_threads_per_block = 1024;
  return facts;
}

LaunchGroup launches(const MachineModel& machine) {
  LaunchGroup group;
  group.shape.grid = {132 * 64, 1, 1};
  group.shape.block = {256, 1, 1};
  group.shape.registers_per_thread = 32;
  group.launches = 10;
  group.seconds = 0.01;
  group.occupancy = occupancy_of(machine.occupancy, group.shape);
  group.waves = 8;
  return group;
}

}  // namespace

Attribution kernel_of(AnalyzedFunction function) {
  Attribution attribution;
  Profile& profile = attribution.profile;
  function.first_instruction = 0;
  blame_stalls(function);
  KernelSummary kernel;
  kernel.name = kernel.mangled = "kernel";
  kernel.function = 0;
  kernel.launches = 10;
  kernel.seconds = 0.01;
  kernel.share = 1;
  kernel.samples = function.total();
  kernel.groups = {launches(*function.machine)};
  for (uint32_t i = 0; i < function.instructions.size(); ++i) {
    InstructionFacts facts;
    facts.offset = function.instructions[i].offset;
    facts.text = function.instructions[i].text;
    facts.at = {"kernel.cu", i + 1};
    facts.samples = function.samples[i];
    profile.instructions.push_back(facts);
  }
  for (size_t l = 0; l < function.loops.loops.size(); ++l) {
    LoopFacts loop;
    loop.at = {"kernel.cu", function.graph.blocks[function.loops.loops[l].header].first + 1};
    profile.loops.push_back(loop);
  }
  profile.devices = {device()};
  profile.kernels = {kernel};
  profile.run.wall_seconds = 0.02;
  attribution.functions.push_back(std::move(function));
  attribution.kernel_functions = {{{0, 1.0}}};
  return attribution;
}

std::vector<Finding> match(const Optimizer& optimizer, const Attribution& attribution) {
  return optimizer.match(KernelView(attribution, 0));
}

}  // namespace fathom::testing
