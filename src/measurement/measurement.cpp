#include "measurement/measurement.h"

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"
#include "measurement/disassembly_store.h"
#include "measurement/process_reader.h"
#include "measurement/run_reader.h"

namespace fathom {
namespace {

constexpr char kRunFile[] = "run.fathom";
constexpr char kProcessFile[] = "process.fathom";
constexpr char kBinaryFolder[] = "gpubins";
constexpr char kRecordSuffix[] = ".fathom";
constexpr char kBinarySuffix[] = ".cubin";
constexpr char kHowToMake[] = "`fathom record -o DIR -- APP` makes a measurement directory";

struct StartedProcess {
  uint64_t start_time;
  Process process;
};

class DirectoryReader {
 public:
  explicit DirectoryReader(const std::string& directory) { measurement_.path = directory; }
  Result<Measurement> read();

 private:
  void read_run_file();
  void read_process(const std::string& folder);
  void read_binaries();
  void read_binary(const std::string& name);
  void read_disassemblies(const std::vector<std::string>& names);
  void place_processes();
  void sum_sampling();
  void miss_binaries();
  /// The file's bytes; otherwise a warning says why there are none.
  std::optional<std::vector<uint8_t>> bytes_of(const std::string& file);
  std::vector<std::string> names_in(const std::string& folder);
  void warn(std::string what, std::string where, std::string hint) {
    measurement_.warnings.push_back(
        {WarningSeverity::warning, std::move(what), std::move(where), std::move(hint)});
  }

  Measurement measurement_;
  std::vector<StartedProcess> processes_;
  size_t chunks_ = 0;
};

std::optional<std::vector<uint8_t>> DirectoryReader::bytes_of(const std::string& file) {
  constexpr char kHint[] = "the file is left out; see whether it may be read";
  std::string path = measurement_.path + "/" + file;
  if (!is_regular_file(path)) {  // a pipe would block for ever
    warn("not a regular file", file, kHint);
    return std::nullopt;
  }
  Result<std::vector<uint8_t>> bytes = read_file(path);
  if (bytes) return std::move(bytes).value();
  warn(bytes.error().what, file, kHint);
  return std::nullopt;
}

std::vector<std::string> DirectoryReader::names_in(const std::string& folder) {
  Result<std::vector<std::string>> names = list_directory(measurement_.path + "/" + folder);
  if (names) return std::move(names).value();
  warn(names.error().what, folder, "the folder is left out; see whether it may be read");
  return {};
}

void DirectoryReader::read_run_file() {
  if (!is_regular_file(measurement_.path + "/" + kRunFile))
    return warn("missing: command, events and exit code of the run are unknown", kRunFile,
                "the processes' files are used");
  if (auto bytes = bytes_of(kRunFile)) chunks_ += read_run(kRunFile, *bytes, measurement_);
}

void DirectoryReader::read_process(const std::string& folder) {
  std::vector<std::string> names = names_in(folder);
  std::erase_if(names, [](const std::string& name) { return !ends_with(name, kRecordSuffix); });
  if (names.empty()) return;
  // The other files refer to the modules in process.fathom.
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name == kProcessFile; });
  ProcessReader reader(folder);
  for (const std::string& name : names)
    if (auto bytes = bytes_of(folder + "/" + name)) reader.add_file(name, *bytes);
  StartedProcess started{reader.start_time(), reader.finish(measurement_.warnings)};
  chunks_ += reader.chunks();
  if (reader.chunks() > 0) processes_.push_back(std::move(started));
}

void DirectoryReader::read_binary(const std::string& name) {
  std::string file = std::string(kBinaryFolder) + "/" + name;
  std::string sha256 = name.substr(0, name.size() - sizeof kBinarySuffix + 1);
  auto bytes = bytes_of(file);
  if (!bytes) return;
  if (sha256_hex(*bytes) != sha256)
    return warn("damaged: the content does not match the SHA-256 in its name", file,
                "the binary is left out, and samples in it cannot be attributed");
  StoredBinary& binary = measurement_.binaries[sha256];
  binary.path = measurement_.path + "/" + file;
  binary.bytes = std::make_shared<const std::vector<uint8_t>>(std::move(*bytes));
}

void DirectoryReader::read_disassemblies(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    if (!ends_with(name, kRecordSuffix)) continue;
    std::string file = std::string(kBinaryFolder) + "/" + name;
    std::string sha256 = name.substr(0, name.size() - sizeof kRecordSuffix + 1);
    auto bytes = bytes_of(file);
    if (!bytes) continue;
    auto disassembly = read_disassembly(file, sha256, *bytes, measurement_.warnings);
    auto binary = measurement_.binaries.find(sha256);
    if (!disassembly || binary == measurement_.binaries.end()) continue;
    binary->second.disassembly = std::move(disassembly->text);
    binary->second.disassembly_tool = std::move(disassembly->tool);
  }
}

void DirectoryReader::read_binaries() {
  if (!is_directory(measurement_.path + "/" + kBinaryFolder)) return;
  std::vector<std::string> names = names_in(kBinaryFolder);
  for (const std::string& name : names)
    if (ends_with(name, kBinarySuffix)) read_binary(name);
  read_disassemblies(names);
}

void DirectoryReader::place_processes() {
  std::stable_sort(
      processes_.begin(), processes_.end(), [](const StartedProcess& a, const StartedProcess& b) {
        return std::tie(a.start_time, a.process.pid) < std::tie(b.start_time, b.process.pid);
      });
  for (StartedProcess& started : processes_) {
    for (DeviceFacts& device : started.process.devices)
      device.process = uint32_t(measurement_.processes.size());
    measurement_.processes.push_back(std::move(started.process));
  }
  measurement_.run.processes = uint32_t(measurement_.processes.size());
}

void DirectoryReader::sum_sampling() {
  RunFacts& run = measurement_.run;
  for (const Process& process : measurement_.processes) {
    const SamplingTotals& totals = process.sampling;
    run.samples_total += totals.total;
    run.samples_dropped += totals.dropped;
    run.samples_non_user += totals.non_user;
    if (run.sampling_period_log2 || totals.period_log2 == 0) continue;
    run.sampling_period_log2 = totals.period_log2;
    run.sampling_serialized = totals.serialized;
  }
}

void DirectoryReader::miss_binaries() {
  std::set<std::string> told;
  for (const Process& process : measurement_.processes)
    for (const LoadedGpuBinary& binary : process.binaries) {
      std::string file = std::string(kBinaryFolder) + "/" + binary.sha256 + kBinarySuffix;
      if (measurement_.binaries.count(binary.sha256) ||
          is_regular_file(measurement_.path + "/" + file) || !told.insert(file).second)
        continue;
      warn("missing: a GPU binary that the program loaded", file,
           "samples in it cannot be attributed");
    }
}

Result<Measurement> DirectoryReader::read() {
  const std::string& path = measurement_.path;
  Result<std::vector<std::string>> names = list_directory(path);
  if (!names) return Error{ErrorKind::bad_input, names.error().what, path, kHowToMake};
  read_run_file();
  for (const std::string& name : *names)
    if (name != kBinaryFolder && is_directory(path + "/" + name)) read_process(name);
  if (chunks_ == 0)
    return Error{ErrorKind::bad_input,
                 "not a measurement directory: no readable record in run.fathom or in a process's "
                 "folder",
                 path, kHowToMake};
  place_processes();
  sum_sampling();
  read_binaries();
  miss_binaries();
  return std::move(measurement_);
}

}  // namespace

Result<Measurement> read_measurement(const std::string& directory) {
  return DirectoryReader(directory).read();
}

}  // namespace fathom
