#pragma once
// clang-format off
// The files of a measurement directory: plain records in checked chunks. This folder is the only
// thing that collectors and the analysis share. Little-endian.
//
//   DIR/run.fathom                      written by `fathom record`: RunStart, Symbol*, RunEnd
//   DIR/<host>-<pid>-<start>/           one process:
//       process.fathom                  ProcessStart, LoadModule*, Device*, GpuContext*, GpuBinary*, Message*, ProcessEnd
//       thread-<tid>.fathom             CallPathNode*, ApiCall*, Synchronization*, LaunchArguments* of one thread of the program
//       gpu.fathom                      Kernel*, Copy*, ..., PcSample*: the collector's own thread
//       numa.fathom                     CallPathNode*, and snapshots: NumaModule*, NumaThread*, NumaObject*, NumaPage*,
//                                       NumaPageThread*, NumaLine*, NumaLineThread*, NumaPlace*, then NumaSnapshot
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
  numa_snapshot = 23,     // fixed
  numa_thread = 24,       // fixed
  numa_object = 25,       // fixed
  numa_page = 26,         // fixed
  numa_page_thread = 27,  // fixed
  numa_line = 28,         // fixed
  numa_line_thread = 29,  // fixed
  numa_place = 30,        // fixed
  numa_module = 31,       // fixed
  data_symbol = 32,       // text
  pointer_function = 33,  // text
  kernel_argument = 34,   // fixed
  launch_arguments = 35,  // fixed
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

/// What memory accesses of instrumented code say about NUMA and sharing. Everything since the start
/// of the process is in each snapshot; the last whole one counts. Its records come first, then it.
struct NumaSnapshot {
  uint64_t time_ns;               ///< monotonic, since the process started
  uint64_t records;               ///< NUMA records of this snapshot, this one not counted
  uint64_t accesses_not_counted;  ///< by threads or in memory that could not be tracked
  uint32_t number;                ///< from 1
  uint32_t sampling;              ///< one of 2^sampling intervals was counted; 0: all
  uint32_t is_last;               ///< 1: written at the end of the process
  uint32_t page_threshold;        ///< accesses from which on a page was tracked in detail
  uint32_t line_threshold;        ///< writes from which on a line was tracked by words
  uint32_t epochs;                ///< in how many phases the synchronization cut the run
};
/// A module whose code is instrumented. The others' accesses are not seen.
struct NumaModule {
  uint32_t module;  ///< LoadModule::id
  uint32_t reserved;
};
enum class ThreadKind : uint32_t { main = 0, pthread = 1, openmp = 2 };
struct NumaThread {
  uint32_t index;      ///< from 0, the main thread
  uint32_t thread_id;  ///< of the system
  uint32_t parent;     ///< index
  ThreadKind kind;
  uint32_t start_module;   ///< of the start routine or the OpenMP region's function; kNone: unknown
  uint32_t created_at;     ///< CallPathNode of numa.fathom, or kNone
  uint64_t start_address;  ///< relative to the module's bias
  uint64_t stack_low, stack_high;
  uint64_t start_ns, end_ns;  ///< as NumaSnapshot::time_ns
  uint64_t cpu_ns;
  uint64_t reads, writes;  ///< accesses, spin-waits left out
  uint64_t spin_reads;
  uint64_t contended_locks, condition_waits, barrier_waits, semaphore_waits;
  uint64_t wait_ns;      ///< in those
  uint64_t parallel_ns;  ///< of the time from start to end, how long other threads ran as well
  uint64_t parallel_accesses;  ///< of all, those where others ran as well, by the program's logic
};
enum class ObjectKind : uint32_t { heap = 0, mapping = 1, module_data = 2, stack = 3, unknown = 4 };
/// Memory that was allocated at one place: all objects of the same allocation call path and size
/// class together; or the data of one module, one thread's stack, or memory of unknown origin.
struct NumaObject {
  uint32_t id;
  ObjectKind kind;
  uint32_t call_path;  ///< CallPathNode of the allocation in numa.fathom, or kNone
  uint32_t module;     ///< of module_data: LoadModule::id, else kNone
  uint32_t thread;     ///< that allocated it (the first one), or whose stack it is; kNone
  uint32_t reserved;
  uint64_t address, size;  ///< of the largest one
  uint64_t count, total_bytes;
  uint64_t reads, writes;    ///< in pages that were tracked
  uint64_t remote_accesses;  ///< by other threads than the page's first one
};
/// A page of an object that was accessed more often than the threshold. Counts of the accesses to
/// this object alone, even where others lie in the same page.
struct NumaPage {
  uint64_t address;
  uint32_t object;
  uint32_t first_thread;  ///< that touched the page first
  uint64_t reads, writes;
  uint64_t remote_reads, remote_writes;  ///< by other threads than the first one
  uint64_t reads_after_last_write;       ///< by all threads
  uint64_t remote_after_last_write;      ///< of those, by other threads than the first one
  uint32_t threads;                      ///< how many accessed it
  uint32_t reserved;
};
/// One thread's share of a NumaPage.
struct NumaPageThread {
  uint32_t page;  ///< index among the snapshot's NumaPages
  uint32_t thread;
  uint64_t reads, writes;
};
/// A cache line that several threads accessed in the same phases and at least one wrote, more often
/// than the threshold.
struct NumaLine {
  uint64_t address;
  uint32_t object;
  uint32_t threads;
  double false_invalidations;  ///< expected, of copies held for other words than the written ones
  double true_invalidations;   ///< expected, of copies held for the same words
  uint64_t reads, writes;
};
/// One thread's share of a NumaLine.
struct NumaLineThread {
  uint32_t line;  ///< index among the snapshot's NumaLines
  uint32_t thread;
  uint32_t reads[16], writes[16];  ///< by word of 4 bytes; saturating
};
/// Where instrumented code accesses an object most: samples of its accesses' places. Or where it
/// waits for locks, conditions and barriers: each wait.
struct NumaPlace {
  uint32_t object;   ///< kNone: a place of waits
  uint32_t module;   ///< kNone: outside each known module
  uint64_t address;  ///< relative to the module's bias
  uint64_t samples;  ///< out of the object's
  uint32_t is_write;
  uint32_t reserved;
};
/// A global or static variable, resolved on the machine that has the program.
/// A struct's type comes with its fields: "pair {first:0:8, second:8:8}", by offset and size in
/// bytes.
struct DataSymbol {  // strings: module path, name (mangled), file of its declaration, its type
  uint64_t address;  ///< in the file: without the bias
  uint64_t size;
  uint32_t line;
  uint32_t element_size;  ///< of an array's element; 0 if it is none or unknown
};

/// A function of a call path that returns a pointer, and so may allocate for its caller.
struct PointerFunction {  // strings: module path, function (mangled)
  uint32_t to_void;       ///< 1: void*, 0: to something else
  uint32_t reserved;
};

/// A piece of an argument that a kernel was launched with, of at most 8 bytes. All pieces with one
/// `set` are what a launch was given; sets are numbered from 0 in the process.
struct KernelArgument {
  uint64_t value;     ///< the bytes, the rest 0
  uint32_t set;       ///< what LaunchArguments refer to
  uint32_t name;      ///< String of the same file: the kernel's mangled name
  uint16_t position;  ///< of the argument, from 0
  uint16_t offset;    ///< of the piece, in bytes from the first argument
  uint16_t bytes;     ///< 1 to 8
  uint16_t reserved;
};
/// Which arguments a launch had.
struct LaunchArguments {
  uint32_t correlation;
  uint32_t set;
};

static_assert(sizeof(NumaSnapshot) == 48 && sizeof(NumaThread) == 152 && sizeof(NumaObject) == 80);
static_assert(sizeof(NumaPage) == 72 && sizeof(NumaLine) == 48 && sizeof(NumaLineThread) == 136);
static_assert(sizeof(NumaPlace) == 32 && sizeof(NumaPageThread) == 24);
static_assert(sizeof(CallPathNode) == 24 && sizeof(ApiCall) == 24 && sizeof(PcSample) == 40);
static_assert(sizeof(KernelArgument) == 24 && sizeof(LaunchArguments) == 8);
static_assert(std::is_trivially_copyable_v<Kernel> && sizeof(Kernel) == 104);

}  // namespace fathom::record
