#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "measurement/measurement.h"
#include "measurement/numa_reader.h"
#include "measurement/records.h"

namespace fathom {

/// What stands for a name that was lost or never known.
inline constexpr char kUnknownName[] = "<unknown>";

/// Reads the files of one process, given as bytes, in any number. process.fathom must come first,
/// because the others refer to its modules.
///
/// A bad record costs itself. A record that is whole but refers to something lost (a name, a
/// module, a call path) is kept with that reference unknown, so that times and samples still add
/// up.
class ProcessReader {
 public:
  /// `folder`: its name in the measurement directory, which says host, process id and start.
  explicit ProcessReader(std::string folder);

  void add_file(const std::string& name, Bytes bytes);
  /// Whole chunks that were read so far.
  size_t chunks() const { return chunks_; }
  /// Unix time; from the folder's name where the record is lost.
  uint64_t start_time() const { return start_time_; }
  /// Sorts, and says what is missing. To be called once, at the end.
  Process finish(std::vector<Warning>& warnings);

 private:
  void read_folder_name();
  void reserve(const std::vector<Chunk>& chunks);
  void add_chunk(const Chunk& chunk, NumaReader& numa, Complaints& complaints);
  template <class Record>
  void add_records(const Chunk& chunk, Complaints& complaints);
  uint32_t intern(std::string_view name);
  const char* find_name(uint32_t string, uint32_t& name);
  void sort_operations();
  void index_calls();
  void settle_devices();
  void settle_stall_reasons();
  void report_messages();
  void warn(std::string what, std::string hint);

  // Each takes a record and returns what is wrong with it, or nullptr.
  const char* add(const record::ProcessStart& start, const Strings<record::ProcessStart>& strings);
  const char* add(const record::ProcessEnd& end);
  const char* add(const record::LoadModule& module, const Strings<record::LoadModule>& strings);
  const char* add(const record::Device& device, const Strings<record::Device>& strings);
  const char* add(const record::GpuContext& context);
  const char* add(const record::GpuBinary& binary);
  const char* add(const record::Message& message, const Strings<record::Message>& strings);
  const char* add(const record::String& string, const Strings<record::String>& strings);
  const char* add(const record::CallPathNode& node);
  const char* add(const record::ApiCall& call);
  const char* add(const record::Kernel& kernel);
  const char* add(const record::Copy& copy);
  const char* add(const record::MemorySet& set);
  const char* add(const record::MemoryOperation& operation);
  const char* add(const record::Synchronization& synchronization);
  const char* add(const record::StallReasonName& reason,
                  const Strings<record::StallReasonName>& strings);
  const char* add(const record::PcSample& sample);
  const char* add(const record::SamplingSummary& summary);
  const char* add(const record::KernelArgument& argument);
  const char* add(const record::LaunchArguments& arguments);

  using Ids = std::unordered_map<uint32_t, uint32_t>;  ///< an id in the records -> an index

  Process process_;
  uint64_t start_time_ = 0;
  size_t chunks_ = 0;
  bool started_ = false;
  bool summarised_ = false;
  Ids modules_;
  std::unordered_map<std::string, uint32_t> names_;
  std::vector<std::pair<uint32_t, ApiCallSite>> calls_;
  std::vector<Warning> warnings_, messages_;
  // Of the file that is being read.
  Ids strings_, nodes_;
};

}  // namespace fathom
