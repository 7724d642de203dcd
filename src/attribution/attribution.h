#pragma once
// Joins what was measured with what is in the binaries: structure, contexts, top-down, blame.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "attribution/timeline.h"
#include "binary/decoder.h"
#include "binary/gpu_binary.h"
#include "flow/control_flow.h"
#include "machine/machine.h"
#include "measurement/measurement.h"
#include "model/profile.h"

namespace fathom {

/// An edge of the dependency graph of one function, by instruction index in that function.
struct Blame {
  uint32_t producer = 0, consumer = 0;
  StallReason reason = StallReason::misc;
  StallClass kind = StallClass::other;
  double stalls = 0, latency = 0;  ///< samples
  uint32_t distance = 0;           ///< longest path in instructions
  std::string through;
};

/// A sampled GPU function with its structure.
struct AnalyzedFunction {
  std::string mangled;
  std::string binary;  ///< SHA-256
  const GpuBinary* image = nullptr;
  const GpuSymbol* symbol = nullptr;
  const MachineModel* machine = nullptr;
  std::vector<Instruction> instructions;  ///< empty where decoding failed; `note` says why
  std::string note;
  ControlFlowGraph graph;
  DominatorTree dominators;
  LoopNest loops;
  std::vector<StallCounts> samples;    ///< by instruction
  std::vector<TopDownCounts> topdown;  ///< by instruction, in samples
  std::vector<Blame> blame;            ///< sorted by consumer, then producer, then reason
  double coverage_before = 1, coverage_after = 1;
  uint32_t first_instruction = 0;  ///< index of instruction 0 in Profile::instructions
  uint32_t first_loop = 0;         ///< index of loop 0 in Profile::loops

  StallCounts total() const;
};

/// How much of a function's samples belong to a kernel: 1 for its own code, less for device
/// functions that several kernels call.
struct FunctionShare {
  uint32_t function = 0;  ///< index in Attribution::functions
  double fraction = 1;
};

/// The result of an analysis. `profile` refers to `functions` by index; findings are added by
/// advice.
struct Attribution {
  Profile profile;
  std::vector<AnalyzedFunction> functions;  ///< parallel to profile.functions
  std::vector<std::vector<FunctionShare>>
      kernel_functions;  ///< parallel to profile.kernels; own code first
  std::map<std::string, std::unique_ptr<GpuBinary>> images;  ///< by SHA-256
  GpuTimeline timeline;
};

struct AttributionOptions {
  std::vector<std::string>
      source_roots;  ///< where to look for sources besides their recorded paths
  /// Which decoder reads the machine code. nvdisasm's text comes from the measurement, or else from
  /// the program; it is also what reads architectures that the native decoder does not know.
  DecoderKind decoder = DecoderKind::native;
};

/// Analyses a measurement. What cannot be resolved is kept, attributed to the smallest thing known,
/// and warned about. Errors: only where nothing at all can be said (no process).
Result<Attribution> attribute(const Measurement& measurement, const AttributionOptions& options);

}  // namespace fathom
