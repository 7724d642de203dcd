#pragma once
// clang-format off
// The files of a measurement directory: plain records in checked chunks. This folder is the only
// thing that collectors and the analysis share. Little-endian.
//
//   DIR/run.fathom                      written by `fathom record`: RunStart, Symbol*, RunEnd
//   DIR/<host>-<pid>-<start>/           one process:
//       process.fathom                  ProcessStart, LoadModule*, Device*, GpuContext*, GpuBinary*, Message*, ProcessEnd
//       thread-<tid>.fathom             CallPathNode*, ApiCall*, Synchronization* of one thread of the program
//       gpu.fathom                      Kernel*, Copy*, ..., PcSample*: the collector's own thread
//   DIR/gpubins/<sha256>.cubin          each loaded GPU binary once, verified by its name
//   DIR/gpubins/<sha256>.fathom         optional: the Disassembly of that binary
//
// A file is a sequence of chunks and nothing else. A chunk holds records of one type, back to back.
// Every whole chunk of a cut file can be read.
// clang-format on

#include <cstdint>
#include <type_traits>

namespace fathom::record {

inline constexpr uint32_t kChunkMagic = 0x4d485446;  // "FTHM"
inline constexpr uint16_t kFormatVersion = 1;
inline constexpr uint32_t kMaxChunkPayload = 64u << 20;
inline constexpr uint32_t kNone = 0xffffffffu;  ///< "no such id", for every 32-bit id here

struct ChunkHeader {
  uint32_t magic;
  uint16_t type;  ///< ChunkType
  uint16_t version;
  uint32_t size;    ///< bytes of payload that follow
  uint32_t crc32c;  ///< of the header's type, version and size, then the payload (Castagnoli)
};
static_assert(sizeof(ChunkHeader) == 16);

/// Fixed: an array of the struct of that name. Text: the struct, then its strings (each a u32
/// length and bytes, in the order of the comment), repeated.
enum class ChunkType : uint16_t {
  run_start = 1,          // text
  run_end = 2,            // fixed
  process_start = 3,      // text
  process_end = 4,        // fixed
  load_module = 5,        // text
  device = 6,             // text
  gpu_context = 7,        // fixed
  gpu_binary = 8,         // fixed
  message = 9,            // text
  string = 10,            // text
  call_path_node = 11,    // fixed
  api_call = 12,          // fixed
  kernel = 13,            // fixed
  copy = 14,              // fixed
  memory_set = 15,        // fixed
  memory_operation = 16,  // fixed
  synchronization = 17,   // fixed
  stall_reason = 18,      // text
  pc_sample = 19,         // fixed
  sampling_summary = 20,  // fixed
  disassembly = 21,       // text
  symbol = 22,            // text
};

struct RunStart {  // strings: Fathom's version, command line, working directory, events, host
  uint64_t unix_time_ns;
};
struct RunEnd {
  int32_t exit_code;  ///< of the program; 128 + signal if one ended it
  uint32_t signal;    ///< 0: none
  uint64_t wall_ns;
};
struct ProcessStart {  // strings: host, executable path, command line
  uint64_t unix_time_ns;
  uint64_t gpu_time_ns;  ///< the GPU records' clock at the same moment
  uint32_t process_id;
  uint32_t parent_id;
};
enum class EndReason : uint32_t { exit = 0, quick_exit = 1, abort = 2, fork_child = 3 };
struct ProcessEnd {
  uint64_t gpu_time_ns;
  EndReason reason;
  uint32_t reserved;
};
struct LoadModule {  // strings: path, build id (hexadecimal, may be empty)
  uint64_t start;    ///< lowest mapped address
  uint64_t end;
  uint64_t bias;  ///< run-time address minus address in the file
  uint32_t id;    ///< unique in the process
  uint32_t reserved;
};
struct Device {  // strings: name
  uint32_t id;
  uint16_t compute_major, compute_minor;
  uint32_t multiprocessors;
  uint32_t core_clock_khz;
  uint32_t memory_clock_khz;  ///< 0 if unknown
  uint32_t warp_size;
  uint32_t max_warps_per_multiprocessor;
  uint32_t max_blocks_per_multiprocessor;
  uint32_t max_registers_per_multiprocessor;
  uint32_t max_registers_per_block;
  uint32_t max_shared_memory_per_multiprocessor;  ///< bytes
  uint32_t max_shared_memory_per_block;           ///< bytes
  uint32_t max_threads_per_block;
  uint32_t l2_cache_bytes;
  uint64_t memory_bytes;
  uint64_t memory_bandwidth_kb_s;
};
struct GpuContext {
  uint32_t id;
  uint32_t device;
};
struct GpuBinary {
  uint8_t sha256[32];
  uint64_t crc;  ///< CUPTI's cubinCrc, which PC samples carry
  uint64_t size;
  uint32_t context;
  uint32_t module;
};
enum class Severity : uint32_t { note = 0, warning = 1, error = 2 };
struct Message {  // strings: what, hint
  Severity severity;
  uint32_t vendor_code;  ///< e.g. the CUptiResult; 0 if none
};
struct String {  // strings: the text. Ids are local to the file.
  uint32_t id;
};
/// One frame of a CPU calling context. Ids are local to the file; a parent comes before its
/// children.
struct CallPathNode {
  uint32_t id;
  uint32_t parent;  ///< kNone for an outermost frame
  uint32_t module;  ///< kNone for code outside each known module
  uint32_t reserved;
  uint64_t address;  ///< of the call (return address - 1), relative to the module's bias
};
enum class ApiKind : uint32_t {
  kernel_launch = 1,
  graph_launch = 2,
  copy = 3,
  memory_set = 4,
  allocate = 5,
  release = 6,
  synchronize = 7,
  other = 8
};
/// A call into the GPU's runtime. GPU operations refer to it by `correlation`.
struct ApiCall {
  uint32_t correlation;
  uint32_t call_path;  ///< CallPathNode of the same file, or kNone
  ApiKind kind;
  uint32_t context;
  uint64_t gpu_time_ns;  ///< when it was entered
};
struct Kernel {
  uint64_t start_ns, end_ns;
  uint32_t name;  ///< String of the same file: the mangled name
  uint32_t correlation;
  uint32_t device, context, stream;
  uint32_t grid[3], block[3], cluster[3];
  uint32_t registers_per_thread;
  uint32_t static_shared_memory, dynamic_shared_memory;  ///< bytes per block
  uint32_t shared_memory_executed;   ///< bytes the driver configured per multiprocessor
  uint32_t local_memory_per_thread;  ///< bytes
  uint32_t graph;                    ///< kNone: not part of a graph
  uint64_t graph_node;
};
/// Memory kinds and copy kinds are numbered as in HPCToolkit's metrics; see model/gpu_operation.h.
struct Copy {
  uint64_t start_ns, end_ns, bytes;
  uint32_t correlation;
  uint32_t device, context, stream;
  uint32_t kind;  ///< model CopyKind
  uint32_t graph;
};
struct MemorySet {
  uint64_t start_ns, end_ns, bytes;
  uint32_t correlation;
  uint32_t device, context, stream;
  uint32_t memory_kind;  ///< model MemoryKind
  uint32_t value;
  uint32_t graph;
  uint32_t reserved;
};
struct MemoryOperation {
  uint64_t time_ns, bytes, address;
  uint32_t correlation;
  uint32_t device, context, stream;
  uint32_t memory_kind;  ///< model MemoryKind
  uint32_t is_release;
};
struct Synchronization {
  uint64_t start_ns, end_ns;
  uint32_t correlation;
  uint32_t context, stream;
  uint32_t kind;  ///< model SyncKind
};
struct StallReasonName {  // strings: the vendor's name
  uint32_t index;
};
/// Samples of one stall reason on one instruction since the previous record of the same.
struct PcSample {
  uint64_t crc;             ///< GpuBinary::crc
  uint64_t pc_offset;       ///< bytes from the function's start
  uint32_t function;        ///< String of the same file: the mangled name
  uint32_t function_index;  ///< symbol index in the binary
  uint32_t stall_reason;    ///< StallReasonName::index
  uint32_t samples;
  uint32_t correlation;  ///< 0 in continuous mode
  uint32_t context;      ///< kNone if unknown
};
enum class SamplingMode : uint32_t { continuous = 1, serialized = 2 };
/// Totals of one collection; sums over all of them describe the process.
struct SamplingSummary {
  uint64_t total_samples;  ///< all the hardware took, dropped and non-user ones included
  uint64_t dropped_samples;
  uint64_t non_user_samples;  ///< of kernels whose code the vendor hides
  uint32_t hardware_buffer_full;
  uint32_t period_log2;  ///< cycles between samples of one multiprocessor = 2^period_log2
  SamplingMode mode;
  uint32_t context;
};
struct Disassembly {  // strings: tool and version, text
  uint8_t sha256[32];
};
/// What a CPU address means, resolved on the machine that has the program. One record for each
/// inlined level, outermost first (depth 0).
struct Symbol {      // strings: module path, function (mangled), file
  uint64_t address;  ///< as in CallPathNode
  uint32_t depth;
  uint32_t line;
};

static_assert(sizeof(CallPathNode) == 24 && sizeof(ApiCall) == 24 && sizeof(PcSample) == 40);
static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) == 104);

}  // namespace fathom::record
