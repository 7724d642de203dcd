#pragma once
// Synthetic measurement directories, for the tests of whatever reads measurements. It writes the
// format by itself, so that reader and collectors are tested against a third hand.

#include <array>
#include <deque>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "measurement/chunks.h"
#include "record/layout.h"

namespace fathom::testing {

/// A fresh directory that goes away with its object.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// One record file in memory. Records of one type in a row share a chunk.
class RecordFile {
 public:
  template <class Record>
  void add(record::ChunkType type, const Record& one,
           std::initializer_list<std::string_view> strings = {}) {
    if (type != type_ || payload_.size() >= kFullChunk) end_chunk();
    type_ = type;
    payload_.append(reinterpret_cast<const char*>(&one), sizeof one);
    for (std::string_view text : strings) append_string(payload_, text);
  }
  /// The next record opens a new chunk.
  void end_chunk();
  /// The whole file, with the open chunk ended.
  const std::string& bytes();

 private:
  static constexpr size_t kFullChunk = 1 << 20;

  record::ChunkType type_ = {};
  std::string payload_, bytes_;
};

/// thread-<tid>.fathom
class ThreadBuilder {
 public:
  explicit ThreadBuilder(RecordFile& file) : file_(file) {}

  /// A call path node; `parent` is one that this returned before, or none. Returns its id.
  uint32_t frame(uint32_t parent, uint32_t module, uint64_t address);
  void call(uint32_t correlation, uint32_t call_path,
            record::ApiKind kind = record::ApiKind::kernel_launch, uint64_t time_ns = 0);

 private:
  RecordFile& file_;
  uint32_t frames_ = 0;
};

/// One process. Ids that the functions return are those in the records.
class ProcessBuilder {
 public:
  ProcessBuilder(uint32_t pid, const std::string& executable);
  ProcessBuilder(const ProcessBuilder&) = delete;
  ProcessBuilder& operator=(const ProcessBuilder&) = delete;

  uint32_t module(const std::string& path, uint64_t start = 0x400000, uint64_t end = 0x500000,
                  uint64_t bias = 0);
  /// Fills `device.id` in.
  uint32_t device(record::Device device, const std::string& name);
  uint32_t h200();  ///< a device with an H200's facts
  uint32_t context(uint32_t device);
  /// Says that the process loaded a binary (MeasurementBuilder::add_binary).
  void loaded(const std::string& sha256, uint64_t crc, uint32_t context = 1);
  void message(record::Severity severity, const std::string& what, const std::string& hint);
  ThreadBuilder& thread(uint32_t tid);

  /// A launch with sensible defaults: 132 blocks of 256 threads, 32 registers, device 0, context 1.
  void kernel(const std::string& mangled_name, uint64_t start_ns, uint64_t end_ns,
              uint32_t correlation = 0);
  /// The same with everything as given but the name, which is filled in.
  void kernel(const std::string& mangled_name, record::Kernel kernel);
  void copy(const record::Copy& copy);
  void memory_set(const record::MemorySet& set);
  void memory_operation(const record::MemoryOperation& operation);
  void synchronization(const record::Synchronization& synchronization);

  /// A piece of set `set` of a kernel's arguments; set, value, place as in the record.
  void argument(const std::string& kernel, record::KernelArgument argument);
  void launch_arguments(uint32_t tid, uint32_t correlation, uint32_t set);

  /// The index for a vendor's stall reason name; the same name gets the same index.
  uint32_t stall_reason(const std::string& vendor_name);
  void pc_sample(uint64_t crc, const std::string& function, uint64_t pc_offset,
                 const std::string& vendor_reason, uint32_t samples);
  void sampling(uint64_t total_samples, uint64_t dropped_samples = 0, uint64_t non_user_samples = 0,
                uint32_t period_log2 = 12,
                record::SamplingMode mode = record::SamplingMode::continuous);
  /// Leaves ProcessEnd out, as if the process had been killed.
  void killed() { killed_ = true; }

  std::string folder() const;
  /// Any file of the process, for records that the functions above do not make.
  RecordFile& file(const std::string& name) { return files_[name]; }
  /// The files by name, ended.
  std::map<std::string, std::string> files();

 private:
  uint32_t string(const std::string& text);  ///< in gpu.fathom

  uint32_t pid_;
  uint32_t modules_ = 0, devices_ = 0, contexts_ = 0;
  bool killed_ = false, ended_ = false;
  std::map<std::string, RecordFile> files_;
  std::map<uint32_t, ThreadBuilder> threads_;
  std::map<std::string, uint32_t> strings_, stall_reasons_;
};

class MeasurementBuilder {
 public:
  explicit MeasurementBuilder(const std::string& command = "app");

  /// The reference stays valid. Processes are numbered and start one after the other.
  ProcessBuilder& add_process(const std::string& executable = "/bin/app");
  /// Stores a GPU binary and returns its SHA-256.
  std::string add_binary(std::string_view bytes);
  void add_disassembly(const std::string& sha256, const std::string& tool, const std::string& text);
  /// One level of what a CPU address means, outermost first.
  void symbol(const std::string& module_path, uint64_t address, const std::string& function,
              const std::string& file, uint32_t line, uint32_t depth = 0);
  void variable(const std::string& module_path, const record::DataSymbol& symbol,
                const std::string& name, const std::string& file, const std::string& type);
  void pointer_function(const std::string& module_path, const std::string& function, bool to_void);
  /// Leaves RunEnd out.
  void unfinished() { finished_ = false; }

  /// All files by their paths in the directory. To be called once all is added.
  std::map<std::string, std::string> files();
  /// Writes them; `directory` is made if need be.
  void write(const std::string& directory);

 private:
  bool finished_ = true, ended_ = false;
  RecordFile run_;
  std::deque<ProcessBuilder> processes_;
  std::map<std::string, std::string> gpubins_;
};

/// Writes files by their paths below `directory`.
void write_files(const std::string& directory, const std::map<std::string, std::string>& files);

}  // namespace fathom::testing
