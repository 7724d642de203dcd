// What each record says of its process.

#include "base/text.h"
#include "measurement/process_reader.h"

namespace fathom {
namespace {

constexpr char kBackwards[] = "an operation that ends before it starts: left out";
constexpr char kUnknownKind[] = "an operation of an unknown kind: left out";
constexpr char kLostName[] = "a name that is not in the file: the record is kept without it";

GpuOperation operation_of(GpuOperationKind kind, const auto& record) {
  GpuOperation operation;
  operation.kind = kind;
  operation.start_ns = record.start_ns;
  operation.end_ns = record.end_ns;
  operation.context = record.context;
  operation.stream = record.stream;
  operation.correlation = record.correlation;
  return operation;
}

LaunchShape shape_of(const record::Kernel& kernel) {
  LaunchShape shape;
  for (size_t i = 0; i < 3; ++i) {
    shape.grid[i] = kernel.grid[i];
    shape.block[i] = kernel.block[i];
    shape.cluster[i] = kernel.cluster[i];
  }
  shape.registers_per_thread = kernel.registers_per_thread;
  shape.static_shared_memory = kernel.static_shared_memory;
  shape.dynamic_shared_memory = kernel.dynamic_shared_memory;
  shape.local_memory_per_thread = kernel.local_memory_per_thread;
  return shape;
}

}  // namespace

uint32_t ProcessReader::intern(std::string_view name) {
  auto [at, is_new] = names_.try_emplace(std::string(name), uint32_t(process_.names.size()));
  if (is_new) process_.names.emplace_back(name);
  return at->second;
}

/// Sets `name` to the index in Process::names, of kUnknownName if need be.
const char* ProcessReader::find_name(uint32_t string, uint32_t& name) {
  auto found = strings_.find(string);
  if (found != strings_.end()) {
    name = found->second;
    return nullptr;
  }
  name = intern(kUnknownName);
  return string == record::kNone ? nullptr : kLostName;
}

const char* ProcessReader::add(const record::ProcessStart& start,
                               const Strings<record::ProcessStart>& strings) {
  if (started_) return "a second start of the process: left out";
  started_ = true;
  start_time_ = start.unix_time_ns;
  process_.pid = start.process_id;
  process_.parent_pid = start.parent_id;
  process_.host = strings[0];
  process_.executable = strings[1];
  process_.command = strings[2];
  return nullptr;
}

const char* ProcessReader::add(const record::ProcessEnd& end) {
  if (end.reason > record::EndReason::fork_child) return "an unknown kind of end: left out";
  process_.ended = true;
  return nullptr;
}

const char* ProcessReader::add(const record::LoadModule& module,
                               const Strings<record::LoadModule>& strings) {
  if (module.end < module.start) return "a module that ends before it starts: left out";
  if (module.id == record::kNone) return "a module without an id: left out";
  if (!modules_.emplace(module.id, uint32_t(process_.modules.size())).second)
    return "a module with the id of another: left out";
  process_.modules.push_back({module.id, std::string(strings[0]), std::string(strings[1]),
                              module.start, module.end, module.bias});
  return nullptr;
}

const char* ProcessReader::add(const record::Device& device,
                               const Strings<record::Device>& strings) {
  for (const DeviceFacts& known : process_.devices)
    if (known.id == device.id) return "a device with the id of another: left out";
  DeviceFacts facts;
  facts.id = device.id;
  facts.name = strings[0];
  facts.compute_major = device.compute_major;
  facts.compute_minor = device.compute_minor;
  facts.multiprocessors = device.multiprocessors;
  facts.core_clock_khz = device.core_clock_khz;
  facts.memory_bytes = device.memory_bytes;
  facts.memory_bandwidth = double(device.memory_bandwidth_kb_s) * 1000;
  facts.max_warps_per_multiprocessor = device.max_warps_per_multiprocessor;
  facts.max_blocks_per_multiprocessor = device.max_blocks_per_multiprocessor;
  facts.max_registers_per_multiprocessor = device.max_registers_per_multiprocessor;
  facts.max_shared_memory_per_multiprocessor = device.max_shared_memory_per_multiprocessor;
  facts.max_shared_memory_per_block = device.max_shared_memory_per_block;
  facts.max_threads_per_block = device.max_threads_per_block;
  facts.l2_cache_bytes = device.l2_cache_bytes;
  process_.devices.push_back(facts);
  return nullptr;
}

const char* ProcessReader::add(const record::GpuContext& context) {
  auto [known, is_new] = process_.context_device.emplace(context.id, context.device);
  if (!is_new && known->second != context.device)
    return "a GPU context that was on another device before: left out";
  return nullptr;
}

const char* ProcessReader::add(const record::GpuBinary& binary) {
  process_.binaries.push_back(
      {hex(binary.sha256, sizeof binary.sha256), binary.crc, binary.context});
  return nullptr;
}

const char* ProcessReader::add(const record::Message& message,
                               const Strings<record::Message>& strings) {
  if (message.severity > record::Severity::error) return "an unknown severity: left out";
  std::string what(strings[0]);
  if (message.vendor_code) what += format(" (code %u)", message.vendor_code);
  messages_.push_back({WarningSeverity(message.severity), what, "", std::string(strings[1])});
  return nullptr;
}

const char* ProcessReader::add(const record::String& string,
                               const Strings<record::String>& strings) {
  if (string.id == record::kNone) return "a string without an id: left out";
  if (!strings_.emplace(string.id, intern(strings[0])).second)
    return "a string with the id of another: left out";
  return nullptr;
}

const char* ProcessReader::add(const record::CallPathNode& node) {
  if (node.id == record::kNone) return "a call path node without an id: left out";
  CpuFrame frame;
  frame.address = node.address;
  if (node.parent != record::kNone) {
    auto parent = nodes_.find(node.parent);
    if (parent == nodes_.end())
      return "a call path node whose parent did not come before: left out";
    frame.parent = parent->second;
  }
  auto module = modules_.find(node.module);
  if (module != modules_.end()) frame.module = module->second;
  if (!nodes_.emplace(node.id, uint32_t(process_.call_paths.size())).second)
    return "a call path node with the id of another: left out";
  process_.call_paths.push_back(frame);
  return node.module != record::kNone && module == modules_.end()
             ? "a call path node in an unknown module: kept without it"
             : nullptr;
}

const char* ProcessReader::add(const record::ApiCall& call) {
  if (call.kind < record::ApiKind::kernel_launch || call.kind > record::ApiKind::other)
    return "a call of an unknown kind: left out";
  ApiCallSite site;
  site.time_ns = call.gpu_time_ns;
  auto path = nodes_.find(call.call_path);
  if (path != nodes_.end()) site.call_path = path->second;
  calls_.emplace_back(call.correlation, site);
  return call.call_path != record::kNone && path == nodes_.end()
             ? "a call whose call path is not in the file: kept without it"
             : nullptr;
}

const char* ProcessReader::add(const record::Kernel& kernel) {
  if (kernel.end_ns < kernel.start_ns) return kBackwards;
  GpuOperation operation = operation_of(GpuOperationKind::kernel, kernel);
  operation.device = kernel.device;
  operation.graph = kernel.graph;
  operation.shape = shape_of(kernel);
  uint32_t name = 0;
  const char* wrong = find_name(kernel.name, name);
  operation.name = process_.names[name];
  process_.operations.push_back(std::move(operation));
  return wrong;
}

const char* ProcessReader::add(const record::Copy& copy) {
  if (copy.end_ns < copy.start_ns) return kBackwards;
  if (copy.kind >= kCopyKindCount) return kUnknownKind;
  GpuOperation operation = operation_of(GpuOperationKind::copy, copy);
  operation.device = copy.device;
  operation.graph = copy.graph;
  operation.bytes = copy.bytes;
  operation.copy_kind = CopyKind(copy.kind);
  process_.operations.push_back(std::move(operation));
  return nullptr;
}

const char* ProcessReader::add(const record::MemorySet& set) {
  if (set.end_ns < set.start_ns) return kBackwards;
  if (set.memory_kind >= kMemoryKindCount) return kUnknownKind;
  GpuOperation operation = operation_of(GpuOperationKind::memory_set, set);
  operation.device = set.device;
  operation.graph = set.graph;
  operation.bytes = set.bytes;
  operation.memory_kind = MemoryKind(set.memory_kind);
  process_.operations.push_back(std::move(operation));
  return nullptr;
}

const char* ProcessReader::add(const record::MemoryOperation& memory) {
  if (memory.memory_kind >= kMemoryKindCount || memory.is_release > 1) return kUnknownKind;
  GpuOperation operation;
  operation.kind = memory.is_release ? GpuOperationKind::release : GpuOperationKind::allocate;
  operation.start_ns = operation.end_ns = memory.time_ns;
  operation.device = memory.device;
  operation.context = memory.context;
  operation.stream = memory.stream;
  operation.correlation = memory.correlation;
  operation.bytes = memory.bytes;
  operation.memory_kind = MemoryKind(memory.memory_kind);
  operation.address = memory.address;
  process_.operations.push_back(std::move(operation));
  return nullptr;
}

const char* ProcessReader::add(const record::Synchronization& synchronization) {
  if (synchronization.end_ns < synchronization.start_ns) return kBackwards;
  if (synchronization.kind >= kSyncKindCount) return kUnknownKind;
  GpuOperation operation = operation_of(GpuOperationKind::synchronize, synchronization);
  operation.device = kNoId;  // until the contexts are known
  operation.sync_kind = SyncKind(synchronization.kind);
  process_.operations.push_back(std::move(operation));
  return nullptr;
}

const char* ProcessReader::add(const record::StallReasonName& reason,
                               const Strings<record::StallReasonName>& strings) {
  auto [known, is_new] = process_.stall_reasons.emplace(reason.index, strings[0]);
  if (!is_new && known->second != strings[0]) return "a stall reason with two names: left out";
  return nullptr;
}

const char* ProcessReader::add(const record::PcSample& sample) {
  uint32_t name = 0;
  const char* wrong = find_name(sample.function, name);
  process_.samples.push_back({sample.crc, sample.pc_offset, name, sample.function_index,
                              sample.stall_reason, sample.samples, sample.correlation});
  return wrong;
}

const char* ProcessReader::add(const record::KernelArgument& argument) {
  if (argument.bytes == 0 || argument.bytes > 8)
    return "an argument of an impossible size: left out";
  uint32_t name = 0;
  const char* wrong = find_name(argument.name, name);
  ArgumentSet& set = process_.argument_sets[argument.set];
  set.kernel = process_.names[name];
  set.words.push_back({argument.position, argument.offset, argument.bytes, argument.value});
  return wrong;
}

const char* ProcessReader::add(const record::LaunchArguments& arguments) {
  process_.launch_arguments.emplace_back(arguments.correlation, arguments.set);
  return nullptr;
}

const char* ProcessReader::add(const record::SamplingSummary& summary) {
  constexpr uint32_t kMaxPeriodLog2 = 63;  // 2^period must stay a 64-bit number of cycles
  if (summary.period_log2 > kMaxPeriodLog2) return "an impossible sampling period: left out";
  if (summary.mode != record::SamplingMode::continuous &&
      summary.mode != record::SamplingMode::serialized)
    return "an unknown sampling mode: left out";
  SamplingTotals& totals = process_.sampling;
  bool serialized = summary.mode == record::SamplingMode::serialized;
  bool differs =
      summarised_ && (totals.period_log2 != summary.period_log2 || totals.serialized != serialized);
  totals.total += summary.total_samples;
  totals.dropped += summary.dropped_samples;
  totals.non_user += summary.non_user_samples;
  totals.buffer_full |= summary.hardware_buffer_full != 0;
  if (differs) return "a collection with another sampling period or mode: only its samples count";
  totals.period_log2 = summary.period_log2;
  totals.serialized = serialized;
  summarised_ = true;
  return nullptr;
}

}  // namespace fathom
