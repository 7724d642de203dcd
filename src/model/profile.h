#pragma once
// What an analysis yields, as plain data: this is what a database stores and what every view reads.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/finding.h"
#include "model/gpu_operation.h"
#include "model/numa_facts.h"
#include "model/stall_reason.h"
#include "model/topdown.h"

namespace fathom {

inline constexpr uint32_t kNoId = 0xffffffffu;

enum class WarningSeverity : uint8_t { note, warning, error };
/// Something lost, skipped or assumed, which a reader of the results must know.
struct Warning {
  WarningSeverity severity = WarningSeverity::warning;
  std::string what;
  std::string where;  ///< file and offset, or process; may be empty
  std::string hint;
};

struct RunFacts {
  std::string fathom_version, command, working_directory, events, host;
  int exit_code = 0;
  bool finished = false;  ///< `fathom record` saw the program end
  double wall_seconds = 0;
  uint32_t processes = 0;
  uint32_t sampling_period_log2 = 0;  ///< 0: no PC sampling
  bool sampling_serialized = false;   ///< each sample belongs to one launch exactly
  uint64_t samples_total = 0;         ///< all that the hardware took
  uint64_t samples_dropped = 0;
  uint64_t samples_non_user = 0;      ///< in kernels whose code the vendor hides
  uint64_t samples_attributed = 0;    ///< on an instruction that was found
  uint64_t samples_unattributed = 0;  ///< collected, but without such an instruction
};

struct DeviceFacts {
  uint32_t process = 0, id = 0;
  std::string name;
  uint32_t compute_major = 0, compute_minor = 0;
  uint32_t multiprocessors = 0;
  uint32_t core_clock_khz = 0;
  uint64_t memory_bytes = 0;
  double memory_bandwidth = 0;  ///< bytes per second, theoretical
  uint32_t max_warps_per_multiprocessor = 0;
  uint32_t max_blocks_per_multiprocessor = 0;
  uint32_t max_registers_per_multiprocessor = 0;
  uint32_t max_shared_memory_per_multiprocessor = 0;
  uint32_t max_shared_memory_per_block = 0;
  uint32_t max_threads_per_block = 0;
  uint32_t l2_cache_bytes = 0;
};

enum class MetricKind : uint8_t { sum, average, derived };
/// The definition of a metric, named as in HPCToolkit's manual.
struct Metric {
  std::string name;         ///< "GKER", "GXCOPY:H2D", "GCYCLES:STL:BE"
  std::string unit;         ///< "s", "bytes", "cycles", "count", "%", "registers"
  uint32_t parent = kNoId;  ///< index of the metric that sums this one and its siblings
  std::string description;
  bool visible = true;
  MetricKind kind = MetricKind::sum;
  std::string formula;  ///< how it is computed, for derived ones
};

enum class ContextKind : uint8_t {
  root,
  process,
  cpu_function,
  cpu_inlined,
  cpu_line,
  gpu_operation /* "<gpu kernel>" */,
  gpu_function,
  gpu_inlined,
  gpu_loop,
  gpu_line,
  gpu_instruction,
  gpu_scc /* mutually recursive functions */
};
/// A node of the heterogeneous calling-context tree. Index in Profile::contexts = id; a parent
/// comes first.
struct Context {
  uint32_t parent = kNoId;
  ContextKind kind = ContextKind::root;
  std::string name;    ///< function (demangled), "<gpu kernel>", "loop", or the instruction's text
  std::string module;  ///< file name of the CPU module, or the GPU binary's SHA-256
  SourceLocation at;   ///< the call's or the line's place; a loop's first line
  uint64_t address = 0;       ///< in the module; a GPU instruction's offset in its function
  uint32_t function = kNoId;  ///< GPU nodes: index in Profile::functions
};
/// Exclusive and inclusive value of one metric at one context; absent means 0.
struct MetricValue {
  uint32_t context = 0, metric = 0;
  double exclusive = 0, inclusive = 0;
};

enum class OccupancyLimit : uint8_t { none, warps, blocks, registers, shared_memory };
struct Occupancy {
  uint32_t active_blocks = 0;    ///< per multiprocessor
  uint32_t active_warps = 0;     ///< per multiprocessor (GKER:WRP_ACT_T)
  uint32_t available_warps = 0;  ///< per multiprocessor (GKER:WRP_AVL)
  OccupancyLimit limit = OccupancyLimit::none;
  uint32_t limit_warps = 0, limit_blocks = 0, limit_registers = 0,
           limit_shared_memory = 0;  ///< blocks each allows
  double fraction() const { return available_warps ? double(active_warps) / available_warps : 0; }
};

/// All launches of one kernel with one shape on one device.
struct LaunchGroup {
  LaunchShape shape;
  uint64_t launches = 0;
  double seconds = 0;
  Occupancy occupancy;
  double waves = 0;  ///< blocks / (active blocks * multiprocessors)
};
/// One kernel (by its GPU function and device).
struct KernelSummary {
  std::string name;  ///< demangled
  std::string mangled;
  std::string program;        ///< file name of the executable that launched it
  uint32_t device = 0;        ///< index in Profile::devices
  uint32_t function = kNoId;  ///< index in Profile::functions; kNoId if it was not sampled
  uint64_t launches = 0;
  double seconds = 0, min_seconds = 0, max_seconds = 0;
  double share = 0;                 ///< of the time of all kernels
  std::vector<LaunchGroup> groups;  ///< longest first
  StallCounts samples;              ///< with device functions called from it, apportioned (rounded)
  TopDownCounts topdown;            ///< in samples
  double coverage_before = 0,
         coverage_after = 0;              ///< single dependency coverage, before and after pruning
  std::vector<uint32_t> launch_contexts;  ///< the "<gpu kernel>" contexts that launched it
};

/// A GPU function that has samples.
struct GpuFunctionFacts {
  std::string name, mangled;
  std::string binary;  ///< SHA-256
  std::string arch;    ///< "sm_90"
  uint64_t size = 0;   ///< bytes
  bool is_kernel = true;
  std::string note;  ///< e.g. why it could not be disassembled
};
struct InlineFrame {
  std::string function;  ///< demangled name of the inlined function
  SourceLocation call;   ///< where it was inlined
};
struct LoopFacts {
  uint32_t function = 0;
  uint32_t parent = kNoId;  ///< index in Profile::loops
  uint32_t depth = 1;
  SourceLocation at;  ///< first line
  uint32_t last_line = 0;
  uint64_t first_offset = 0, last_offset = 0;
};
/// One instruction of a sampled function, with what was measured on it.
struct InstructionFacts {
  uint32_t function = 0;
  uint64_t offset = 0;
  std::string text;
  SourceLocation at;
  std::vector<InlineFrame> inlined;  ///< outermost first; empty if not inlined
  uint32_t loop = kNoId;             ///< innermost; index in Profile::loops
  StallCounts samples;
  TopDownCounts topdown;  ///< in samples
};

/// The detailed classes of figure 5 of the GPA paper, and the rest.
enum class StallClass : uint8_t {
  global_memory,
  local_memory,
  constant_memory,
  shared_memory,
  write_after_read,
  arithmetic,
  synchronization,
  instruction_fetch,
  throttle,
  other
};
std::string_view name_of(StallClass kind);
/// Stalls of one instruction, blamed on one that causes them.
struct BlameEdge {
  uint32_t consumer = 0;  ///< index in Profile::instructions: where the warp waits
  uint32_t producer =
      kNoId;  ///< index in Profile::instructions; = consumer if the cause is the instruction itself
  StallReason reason = StallReason::misc;
  StallClass kind = StallClass::other;
  double stalls = 0;      ///< samples
  double latency = 0;     ///< of them without any issue by the scheduler: exposed
  uint32_t distance = 0;  ///< instructions on the longest path from producer to consumer
  std::string through;    ///< register or barrier that carries the dependency: "R4", "B0", "P1"
};

struct SourceText {
  std::string file;  ///< as in the line tables
  std::map<uint32_t, std::string>
      lines;  ///< only those that the results refer to, and their neighbours
};

struct Profile {
  RunFacts run;
  std::vector<Warning> warnings;
  std::vector<DeviceFacts> devices;
  std::vector<Metric> metrics;
  std::vector<Context> contexts;
  std::vector<MetricValue> values;     ///< sorted by context, then metric
  std::vector<KernelSummary> kernels;  ///< longest first
  std::vector<GpuFunctionFacts> functions;
  std::vector<LoopFacts> loops;
  std::vector<InstructionFacts> instructions;  ///< sorted by function, then offset
  std::vector<BlameEdge> blame;
  std::vector<NumaFacts> numa;      ///< of each process with instrumented code
  std::vector<Finding> findings;    ///< best first
  std::vector<SourceText> sources;  ///< sorted by file
};

}  // namespace fathom
