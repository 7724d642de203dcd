#include "measurement/testing.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/result.h"
#include "base/sha256.h"
#include "base/text.h"

namespace fathom::testing {

using record::ChunkType;

namespace {

constexpr uint32_t kFirstPid = 4711;
constexpr uint64_t kStart = 1'700'000'000'000'000'000;  // of the run, Unix time
constexpr char kGpuFile[] = "gpu.fathom";
constexpr char kProcessFile[] = "process.fathom";

uint64_t start_of(uint32_t pid) {
  return kStart + (pid - kFirstPid) * 1'000'000;
}

void parse_sha256(const std::string& text, uint8_t (&bytes)[32]) {
  FATHOM_INVARIANT(text.size() == 64);
  for (size_t i = 0; i < 32; ++i)
    bytes[i] = uint8_t(std::strtoul(text.substr(2 * i, 2).c_str(), nullptr, 16));
}

}  // namespace

TemporaryDirectory::TemporaryDirectory() {
  std::string pattern = std::filesystem::temp_directory_path() / "fathom-test-XXXXXX";
  const char* made = mkdtemp(pattern.data());
  FATHOM_INVARIANT(made != nullptr);
  path_ = made;
}

TemporaryDirectory::~TemporaryDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void RecordFile::end_chunk() {
  if (!payload_.empty()) bytes_ += encode_chunk(type_, payload_);
  payload_.clear();
}

const std::string& RecordFile::bytes() {
  end_chunk();
  return bytes_;
}

uint32_t ThreadBuilder::frame(uint32_t parent, uint32_t module, uint64_t address) {
  uint32_t id = frames_++;
  file_.add(ChunkType::call_path_node, record::CallPathNode{id, parent, module, 0, address});
  return id;
}

void ThreadBuilder::call(uint32_t correlation, uint32_t call_path, record::ApiKind kind,
                         uint64_t time_ns) {
  file_.add(ChunkType::api_call, record::ApiCall{correlation, call_path, kind, 1, time_ns});
}

ProcessBuilder::ProcessBuilder(uint32_t pid, const std::string& executable) : pid_(pid) {
  file(kProcessFile)
      .add(ChunkType::process_start, record::ProcessStart{start_of(pid), 0, pid, 1},
           {"node1", executable, executable + " --run"});
}

uint32_t ProcessBuilder::module(const std::string& path, uint64_t start, uint64_t end,
                                uint64_t bias) {
  uint32_t id = modules_++;
  file(kProcessFile)
      .add(ChunkType::load_module, record::LoadModule{start, end, bias, id, 0}, {path, "c0ffee"});
  return id;
}

uint32_t ProcessBuilder::device(record::Device device, const std::string& name) {
  device.id = devices_++;
  file(kProcessFile).add(ChunkType::device, device, {name});
  return device.id;
}

uint32_t ProcessBuilder::h200() {
  record::Device device{};
  device.compute_major = 9;
  device.multiprocessors = 132;
  device.core_clock_khz = 1'980'000;
  device.memory_clock_khz = 3'201'000;
  device.warp_size = 32;
  device.max_warps_per_multiprocessor = 64;
  device.max_blocks_per_multiprocessor = 32;
  device.max_registers_per_multiprocessor = 65536;
  device.max_registers_per_block = 65536;
  device.max_shared_memory_per_multiprocessor = 233472;
  device.max_shared_memory_per_block = 49152;
  device.max_threads_per_block = 1024;
  device.l2_cache_bytes = 62914560;
  device.memory_bytes = 150'000'000'000;
  device.memory_bandwidth_kb_s = 4'800'000'000;
  return this->device(device, "NVIDIA H200");
}

uint32_t ProcessBuilder::context(uint32_t device) {
  uint32_t id = ++contexts_;
  file(kProcessFile).add(ChunkType::gpu_context, record::GpuContext{id, device});
  return id;
}

void ProcessBuilder::loaded(const std::string& sha256, uint64_t crc, uint32_t context) {
  record::GpuBinary binary{};
  parse_sha256(sha256, binary.sha256);
  binary.crc = crc;
  binary.context = context;
  file(kProcessFile).add(ChunkType::gpu_binary, binary);
}

void ProcessBuilder::message(record::Severity severity, const std::string& what,
                             const std::string& hint) {
  file(kProcessFile).add(ChunkType::message, record::Message{severity, 0}, {what, hint});
}

ThreadBuilder& ProcessBuilder::thread(uint32_t tid) {
  RecordFile& records = file(format("thread-%u.fathom", tid));
  return threads_.try_emplace(tid, records).first->second;
}

uint32_t ProcessBuilder::string(const std::string& text) {
  auto [at, is_new] = strings_.try_emplace(text, uint32_t(strings_.size()));
  if (is_new) file(kGpuFile).add(ChunkType::string, record::String{at->second}, {text});
  return at->second;
}

void ProcessBuilder::kernel(const std::string& mangled_name, uint64_t start_ns, uint64_t end_ns,
                            uint32_t correlation) {
  record::Kernel one{};
  one.start_ns = start_ns;
  one.end_ns = end_ns;
  one.correlation = correlation;
  one.context = 1;
  one.stream = 7;
  one.grid[0] = 132;
  one.block[0] = 256;
  one.grid[1] = one.grid[2] = one.block[1] = one.block[2] = 1;
  one.registers_per_thread = 32;
  one.graph = record::kNone;
  kernel(mangled_name, one);
}

void ProcessBuilder::kernel(const std::string& mangled_name, record::Kernel kernel) {
  kernel.name = string(mangled_name);
  file(kGpuFile).add(ChunkType::kernel, kernel);
}

void ProcessBuilder::copy(const record::Copy& copy) {
  file(kGpuFile).add(ChunkType::copy, copy);
}
void ProcessBuilder::memory_set(const record::MemorySet& set) {
  file(kGpuFile).add(ChunkType::memory_set, set);
}
void ProcessBuilder::memory_operation(const record::MemoryOperation& operation) {
  file(kGpuFile).add(ChunkType::memory_operation, operation);
}
void ProcessBuilder::synchronization(const record::Synchronization& synchronization) {
  file(kGpuFile).add(ChunkType::synchronization, synchronization);
}

void ProcessBuilder::argument(const std::string& kernel, record::KernelArgument argument) {
  argument.name = string(kernel);
  file(kGpuFile).add(ChunkType::kernel_argument, argument);
}
void ProcessBuilder::launch_arguments(uint32_t tid, uint32_t correlation, uint32_t set) {
  file("thread-" + std::to_string(tid) + ".fathom")
      .add(ChunkType::launch_arguments, record::LaunchArguments{correlation, set});
}

uint32_t ProcessBuilder::stall_reason(const std::string& vendor_name) {
  auto [at, is_new] = stall_reasons_.try_emplace(vendor_name, uint32_t(stall_reasons_.size()));
  if (is_new)
    file(kGpuFile).add(ChunkType::stall_reason, record::StallReasonName{at->second}, {vendor_name});
  return at->second;
}

void ProcessBuilder::pc_sample(uint64_t crc, const std::string& function, uint64_t pc_offset,
                               const std::string& vendor_reason, uint32_t samples) {
  record::PcSample sample{};
  sample.crc = crc;
  sample.pc_offset = pc_offset;
  sample.function = string(function);
  sample.stall_reason = stall_reason(vendor_reason);
  sample.samples = samples;
  sample.context = record::kNone;
  file(kGpuFile).add(ChunkType::pc_sample, sample);
}

void ProcessBuilder::sampling(uint64_t total_samples, uint64_t dropped_samples,
                              uint64_t non_user_samples, uint32_t period_log2,
                              record::SamplingMode mode) {
  record::SamplingSummary summary{};
  summary.total_samples = total_samples;
  summary.dropped_samples = dropped_samples;
  summary.non_user_samples = non_user_samples;
  summary.period_log2 = period_log2;
  summary.mode = mode;
  summary.context = 1;
  file(kGpuFile).add(ChunkType::sampling_summary, summary);
}

std::string ProcessBuilder::folder() const {
  return format("node1-%u-%llu", pid_, static_cast<unsigned long long>(start_of(pid_)));
}

std::map<std::string, std::string> ProcessBuilder::files() {
  if (!killed_ && !ended_)
    file(kProcessFile)
        .add(ChunkType::process_end, record::ProcessEnd{1'000'000, record::EndReason::exit, 0});
  ended_ = true;
  std::map<std::string, std::string> contents;
  for (auto& [name, records] : files_) contents[name] = records.bytes();
  return contents;
}

MeasurementBuilder::MeasurementBuilder(const std::string& command) {
  run_.add(ChunkType::run_start, record::RunStart{kStart},
           {"0.1.0", command, "/home/user", "gpu=cuda,pc", "node1"});
}

ProcessBuilder& MeasurementBuilder::add_process(const std::string& executable) {
  return processes_.emplace_back(kFirstPid + uint32_t(processes_.size()), executable);
}

std::string MeasurementBuilder::add_binary(std::string_view bytes) {
  std::string sha256 = sha256_hex({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()});
  gpubins_["gpubins/" + sha256 + ".cubin"] = bytes;
  return sha256;
}

void MeasurementBuilder::add_disassembly(const std::string& sha256, const std::string& tool,
                                         const std::string& text) {
  record::Disassembly disassembly{};
  parse_sha256(sha256, disassembly.sha256);
  RecordFile records;
  records.add(ChunkType::disassembly, disassembly, {tool, text});
  gpubins_["gpubins/" + sha256 + ".fathom"] = records.bytes();
}

void MeasurementBuilder::symbol(const std::string& module_path, uint64_t address,
                                const std::string& function, const std::string& file, uint32_t line,
                                uint32_t depth) {
  run_.add(ChunkType::symbol, record::Symbol{address, depth, line}, {module_path, function, file});
}

void MeasurementBuilder::variable(const std::string& module_path, const record::DataSymbol& symbol,
                                  const std::string& name, const std::string& file,
                                  const std::string& type) {
  run_.add(ChunkType::data_symbol, symbol, {module_path, name, file, type});
}

void MeasurementBuilder::pointer_function(const std::string& module_path,
                                          const std::string& function, bool to_void) {
  run_.add(ChunkType::pointer_function, record::PointerFunction{to_void, 0},
           {module_path, function});
}

std::map<std::string, std::string> MeasurementBuilder::files() {
  if (finished_ && !ended_) run_.add(ChunkType::run_end, record::RunEnd{0, 0, 2'500'000'000});
  ended_ = true;
  std::map<std::string, std::string> contents = gpubins_;
  contents["run.fathom"] = run_.bytes();
  for (ProcessBuilder& process : processes_)
    for (auto& [name, bytes] : process.files()) contents[process.folder() + "/" + name] = bytes;
  return contents;
}

void MeasurementBuilder::write(const std::string& directory) {
  write_files(directory, files());
}

void write_files(const std::string& directory, const std::map<std::string, std::string>& files) {
  for (const auto& [name, bytes] : files) {
    std::filesystem::path path = std::filesystem::path(directory) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream stream(path, std::ios::binary);
    stream.write(bytes.data(), std::streamsize(bytes.size()));
    FATHOM_INVARIANT(stream.good());
  }
}

}  // namespace fathom::testing
