#pragma once
// A measurement directory, read: the records of collect/record in the model's terms.

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "measurement/numa.h"
#include "model/gpu_operation.h"
#include "model/profile.h"

namespace fathom {

struct CpuModule {
  uint32_t id = 0;
  std::string path, build_id;
  uint64_t start = 0, end = 0, bias = 0;
};
/// A frame of a CPU calling context; index in Process::call_paths = id, a parent comes first.
struct CpuFrame {
  uint32_t parent = kNoId;
  uint32_t module = kNoId;  ///< index in Process::modules
  uint64_t address = 0;     ///< of the call, relative to the module's bias
};
struct ApiCallSite {
  uint32_t call_path = kNoId;  ///< innermost frame
  uint64_t time_ns = 0;
};
struct LoadedGpuBinary {
  std::string sha256;
  uint64_t crc = 0;  ///< what PC samples carry
  uint32_t context = 0;
};
/// Samples of one stall reason on one instruction.
struct PcSampleRecord {
  uint64_t crc = 0;
  uint64_t pc_offset = 0;
  uint32_t function = 0;  ///< index in Process::names
  uint32_t function_index = 0;
  uint32_t stall_reason = 0;  ///< key of Process::stall_reasons
  uint32_t samples = 0;
  uint32_t correlation = 0;  ///< 0: unknown (continuous mode)
};
/// A piece of an argument, of at most 8 bytes.
struct ArgumentWord {
  uint32_t position = 0;  ///< of the argument
  uint32_t offset = 0;    ///< of the piece, in bytes from the first argument
  uint32_t bytes = 0;
  uint64_t value = 0;
};
/// What a kernel was launched with.
struct ArgumentSet {
  std::string kernel;  ///< mangled
  std::vector<ArgumentWord> words;
};
/// A period in which samples were collected; see record::SamplingSummary.
struct SamplingTotals {
  uint64_t total = 0, dropped = 0, non_user = 0;
  bool buffer_full = false;
  uint32_t period_log2 = 0;
  bool serialized = false;
};

/// One process of the run.
struct Process {
  std::string folder, host, executable, command;
  uint32_t pid = 0, parent_pid = 0;
  bool ended = false;  ///< it said goodbye; otherwise it was killed, or its file is cut
  std::vector<CpuModule> modules;
  std::vector<DeviceFacts> devices;             ///< DeviceFacts::id = the vendor's device number
  std::map<uint32_t, uint32_t> context_device;  ///< GPU context -> device number
  std::vector<LoadedGpuBinary> binaries;
  std::vector<CpuFrame> call_paths;               ///< of all threads
  std::map<uint32_t, ApiCallSite> calls;          ///< by correlation id
  std::vector<std::string> names;                 ///< GPU function names (mangled)
  std::map<uint32_t, std::string> stall_reasons;  ///< the vendor's names
  std::vector<GpuOperation> operations;           ///< by start time
  std::map<uint32_t, ArgumentSet> argument_sets;
  /// Correlation ids of launches and the numbers of their sets; sorted.
  std::vector<std::pair<uint32_t, uint32_t>> launch_arguments;
  std::vector<PcSampleRecord> samples;
  SamplingTotals sampling;
  NumaMeasurement numa;
};

/// One level of what a CPU address means; outermost first.
struct CpuSymbol {
  std::string function;  ///< mangled
  SourceLocation at;
};

struct StoredBinary {
  std::string path;
  std::shared_ptr<const std::vector<uint8_t>> bytes;
  std::string disassembly;       ///< nvdisasm's text, if the directory carries it
  std::string disassembly_tool;  ///< and which tool and version printed it
};

struct Measurement {
  std::string path;
  RunFacts run;
  std::vector<Process> processes;                ///< by start time, then pid
  std::map<std::string, StoredBinary> binaries;  ///< by SHA-256; only intact ones
  std::map<std::pair<std::string, uint64_t>, std::vector<CpuSymbol>>
      symbols;  ///< by module path and address
  std::map<std::string, std::vector<DataVariable>>
      variables;  ///< by module path; sorted by address
  std::map<std::pair<std::string, std::string>, bool>
      pointer_functions;          ///< by module path and mangled name: whether void* is returned
  std::vector<Warning> warnings;  ///< the collectors' messages, and what was cut or damaged
};

/// Reads a whole directory. Damage costs the damaged chunks only, and a Warning that names file and
/// offset. Errors: no such directory, or no readable chunk in it (then it is no measurement).
Result<Measurement> read_measurement(const std::string& directory);

}  // namespace fathom
