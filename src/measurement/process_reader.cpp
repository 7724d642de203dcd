#include "measurement/process_reader.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace fathom {
namespace {

using record::ChunkType;

/// What others of the same file refer to comes first, because a collector may flush its buffers in
/// any order.
int rank(const Chunk& chunk) {
  switch (chunk.type) {
    case ChunkType::process_start:
    case ChunkType::load_module:
    case ChunkType::string:
      return 0;
    case ChunkType::call_path_node:
      return 1;
    default:
      return 2;
  }
}

bool read_number(std::string_view digits, uint64_t& value) {
  auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  return failure == std::errc() && end == digits.data() + digits.size();
}

size_t operations_in(const Chunk& chunk) {
  switch (chunk.type) {
    case ChunkType::kernel:
      return chunk.payload.size() / sizeof(record::Kernel);
    case ChunkType::copy:
      return chunk.payload.size() / sizeof(record::Copy);
    case ChunkType::memory_set:
      return chunk.payload.size() / sizeof(record::MemorySet);
    case ChunkType::memory_operation:
      return chunk.payload.size() / sizeof(record::MemoryOperation);
    case ChunkType::synchronization:
      return chunk.payload.size() / sizeof(record::Synchronization);
    default:
      return 0;
  }
}

/// Reserving for each file by itself must not make the growth of a vector quadratic.
template <class T>
void reserve_more(std::vector<T>& vector, size_t more) {
  size_t wanted = vector.size() + more;
  if (wanted > vector.capacity()) vector.reserve(std::max(wanted, 2 * vector.capacity()));
}

}  // namespace

ProcessReader::ProcessReader(std::string folder) {
  process_.folder = std::move(folder);
  read_folder_name();
}

/// <host>-<pid>-<start>; a host's name may have dashes.
void ProcessReader::read_folder_name() {
  std::vector<std::string_view> parts = split(process_.folder, '-');
  uint64_t pid = 0, start = 0;
  if (parts.size() < 3 || !read_number(parts[parts.size() - 2], pid) ||
      !read_number(parts.back(), start))
    return;
  size_t numbers = parts.back().size() + parts[parts.size() - 2].size() + 2;
  process_.host = process_.folder.substr(0, process_.folder.size() - numbers);
  process_.pid = uint32_t(pid);
  start_time_ = start;
}

void ProcessReader::add_file(const std::string& name, Bytes bytes) {
  Complaints complaints(process_.folder + "/" + name);
  std::vector<Damage> damages;
  std::vector<Chunk> chunks = read_chunks(bytes, damages);
  for (const Damage& damage : damages) complaints.add(damage);
  std::stable_sort(chunks.begin(), chunks.end(),
                   [](const Chunk& a, const Chunk& b) { return rank(a) < rank(b); });
  chunks_ += chunks.size();
  strings_.clear();
  nodes_.clear();
  reserve(chunks);
  NumaReader numa(modules_, nodes_);
  for (const Chunk& chunk : chunks) add_chunk(chunk, numa, complaints);
  if (NumaMeasurement snapshot = numa.finish(complaints); snapshot.number != 0)
    process_.numa = std::move(snapshot);
  complaints.report(warnings_);
}

void ProcessReader::reserve(const std::vector<Chunk>& chunks) {
  size_t operations = 0, calls = 0, samples = 0;
  for (const Chunk& chunk : chunks) {
    operations += operations_in(chunk);
    if (chunk.type == ChunkType::api_call) calls += chunk.payload.size() / sizeof(record::ApiCall);
    if (chunk.type == ChunkType::pc_sample)
      samples += chunk.payload.size() / sizeof(record::PcSample);
  }
  reserve_more(process_.operations, operations);
  reserve_more(calls_, calls);
  reserve_more(process_.samples, samples);
}

template <class Record>
void ProcessReader::add_records(const Chunk& chunk, Complaints& complaints) {
  for_each_record<Record>(chunk, complaints,
                          [this](const auto&... parts) { return this->add(parts...); });
}

void ProcessReader::add_chunk(const Chunk& chunk, NumaReader& numa, Complaints& complaints) {
  if (!is_known_version(chunk, complaints)) return;
  switch (chunk.type) {
    case ChunkType::process_start:
      return add_records<record::ProcessStart>(chunk, complaints);
    case ChunkType::process_end:
      return add_records<record::ProcessEnd>(chunk, complaints);
    case ChunkType::load_module:
      return add_records<record::LoadModule>(chunk, complaints);
    case ChunkType::device:
      return add_records<record::Device>(chunk, complaints);
    case ChunkType::gpu_context:
      return add_records<record::GpuContext>(chunk, complaints);
    case ChunkType::gpu_binary:
      return add_records<record::GpuBinary>(chunk, complaints);
    case ChunkType::message:
      return add_records<record::Message>(chunk, complaints);
    case ChunkType::string:
      return add_records<record::String>(chunk, complaints);
    case ChunkType::call_path_node:
      return add_records<record::CallPathNode>(chunk, complaints);
    case ChunkType::api_call:
      return add_records<record::ApiCall>(chunk, complaints);
    case ChunkType::kernel:
      return add_records<record::Kernel>(chunk, complaints);
    case ChunkType::copy:
      return add_records<record::Copy>(chunk, complaints);
    case ChunkType::memory_set:
      return add_records<record::MemorySet>(chunk, complaints);
    case ChunkType::memory_operation:
      return add_records<record::MemoryOperation>(chunk, complaints);
    case ChunkType::synchronization:
      return add_records<record::Synchronization>(chunk, complaints);
    case ChunkType::stall_reason:
      return add_records<record::StallReasonName>(chunk, complaints);
    case ChunkType::pc_sample:
      return add_records<record::PcSample>(chunk, complaints);
    case ChunkType::sampling_summary:
      return add_records<record::SamplingSummary>(chunk, complaints);
    case ChunkType::kernel_argument:
      return add_records<record::KernelArgument>(chunk, complaints);
    case ChunkType::launch_arguments:
      return add_records<record::LaunchArguments>(chunk, complaints);
    default:
      if (!numa.add_chunk(chunk, complaints)) note_unknown_type(chunk, complaints);
  }
}

void ProcessReader::sort_operations() {
  auto& operations = process_.operations;
  auto earlier = [](const GpuOperation& a, const GpuOperation& b) {
    return a.start_ns < b.start_ns;
  };
  if (std::is_sorted(operations.begin(), operations.end(), earlier)) return;
  // Keys are sorted instead of operations, which are ten times as big, and each of those then moves
  // once. The index in the key keeps the order of equal ones.
  std::vector<std::pair<uint64_t, size_t>> order;
  order.reserve(operations.size());
  for (const GpuOperation& operation : operations)
    order.emplace_back(operation.start_ns, order.size());
  std::sort(order.begin(), order.end());
  std::vector<GpuOperation> sorted;
  sorted.reserve(operations.size());
  for (auto [start, index] : order) sorted.push_back(std::move(operations[index]));
  operations = std::move(sorted);
}

/// By sorting first: each insertion is then at the map's end.
void ProcessReader::index_calls() {
  auto smaller = [](const auto& a, const auto& b) { return a.first < b.first; };
  if (!std::is_sorted(calls_.begin(), calls_.end(), smaller))
    std::stable_sort(calls_.begin(), calls_.end(), smaller);
  size_t repeated = 0;
  for (const auto& [correlation, site] : calls_) {
    size_t before = process_.calls.size();
    process_.calls.emplace_hint(process_.calls.end(), correlation, site);
    if (process_.calls.size() == before) ++repeated;
  }
  calls_ = {};
  if (repeated)
    warn(format("%s calls carry a correlation id that another has: the first of each is used",
                human_count(repeated).c_str()),
         "");
}

/// A synchronization's record names its context only.
void ProcessReader::settle_devices() {
  for (GpuOperation& operation : process_.operations) {
    if (operation.kind != GpuOperationKind::synchronize) continue;
    auto known = process_.context_device.find(operation.context);
    if (known != process_.context_device.end()) operation.device = known->second;
  }
}

void ProcessReader::settle_stall_reasons() {
  uint64_t unnamed = 0;
  std::map<uint32_t, std::string> lost;
  for (const PcSampleRecord& sample : process_.samples) {
    if (process_.stall_reasons.count(sample.stall_reason)) continue;
    lost.emplace(sample.stall_reason, kUnknownName);
    unnamed += sample.samples;
  }
  process_.stall_reasons.merge(lost);
  if (unnamed)
    warn(format("the stall reason of %s samples has no name", human_count(unnamed).c_str()),
         "they count as samples, but not for any stall reason");
}

void ProcessReader::warn(std::string what, std::string hint) {
  warnings_.push_back(
      {WarningSeverity::warning, std::move(what), process_.folder, std::move(hint)});
}

void ProcessReader::report_messages() {
  std::string where = format("process %u on %s", process_.pid,
                             process_.host.empty() ? "an unknown host" : process_.host.c_str());
  for (Warning& message : messages_) {
    message.where = where;
    warnings_.push_back(std::move(message));
  }
}

Process ProcessReader::finish(std::vector<Warning>& warnings) {
  sort_operations();
  index_calls();
  auto& launches = process_.launch_arguments;
  if (!std::is_sorted(launches.begin(), launches.end()))
    std::sort(launches.begin(), launches.end());
  settle_devices();
  settle_stall_reasons();
  if (!started_)
    warn("the process's start was not recorded: its command is unknown",
         "process.fathom is missing or damaged; the other files are used");
  if (!process_.ended)
    warn("the process's end was not recorded: the program was killed or the file is cut",
         "what was written until then is used");
  report_messages();
  warnings.insert(warnings.end(), std::make_move_iterator(warnings_.begin()),
                  std::make_move_iterator(warnings_.end()));
  return std::move(process_);
}

}  // namespace fathom
