#include "app/open_profile.h"

#include <set>

#include "advice/advice.h"
#include "app/terminal.h"
#include "attribution/attribution.h"
#include "attribution/sources.h"
#include "base/files.h"
#include "base/text.h"
#include "binary/decoder.h"
#include "database/database.h"
#include "measurement/disassembly_store.h"
#include "measurement/measurement.h"

namespace fathom {
namespace {

/// The binaries that samples lie in, by SHA-256.
std::set<std::string> sampled_binaries(const Measurement& measurement) {
  std::set<std::string> binaries;
  for (const Process& process : measurement.processes) {
    std::set<uint64_t> sampled;
    for (const PcSampleRecord& sample : process.samples) sampled.insert(sample.crc);
    for (const LoadedGpuBinary& binary : process.binaries)
      if (sampled.count(binary.crc)) binaries.insert(binary.sha256);
  }
  return binaries;
}

/// Disassembles what is needed and keeps it in the measurement, so that it can be analysed where
/// the vendor's tool is missing. What fails becomes a warning: the analysis can do without.
void keep_disassembly(Measurement& measurement, Progress& progress) {
  auto warn = [&](const Error& error) {
    measurement.warnings.push_back({WarningSeverity::warning,
                                    "the disassembly was not kept: " + error.what, error.where,
                                    error.hint});
  };
  std::optional<std::string> nvdisasm = find_nvdisasm();
  Result<std::unique_ptr<InstructionSource>> tool = nvdisasm_program();
  for (const std::string& sha256 : sampled_binaries(measurement)) {
    auto stored = measurement.binaries.find(sha256);
    if (stored == measurement.binaries.end() || !stored->second.disassembly.empty()) continue;
    if (!nvdisasm || !tool) return warn(tool ? Error{} : tool.error());
    progress.show("disassembling " + stored->second.path);
    Result<std::string> text = run_nvdisasm(*nvdisasm, stored->second.path);
    if (!text) {
      warn(text.error());
      continue;
    }
    stored->second.disassembly_tool = (*tool)->description();
    stored->second.disassembly = std::move(text).value();
    Result<Done> kept = store_disassembly(
        measurement.path, sha256, {stored->second.disassembly_tool, stored->second.disassembly});
    if (!kept) warn(kept.error());
  }
}

}  // namespace

Result<Profile> analyze_directory(const std::string& directory, const AnalysisOptions& options) {
  Progress progress;
  progress.show("reading " + directory);
  Result<Measurement> measurement = read_measurement(directory);
  if (!measurement) return measurement.error();
  if (options.keep_disassembly) keep_disassembly(*measurement, progress);
  progress.show("analysing " + directory);
  Result<Attribution> attribution =
      attribute(*measurement, {options.source_roots, options.decoder});
  if (!attribution) return attribution.error();
  advise(*attribution);
  Profile& profile = attribution->profile;
  find_numa_issues(*measurement, options.numa, profile);
  if (!profile.numa.empty()) quote_sources(profile, options.source_roots);
  return std::move(profile);
}

Result<Profile> open_profile(const std::string& path, const AnalysisOptions& options) {
  if (is_directory(path)) return analyze_directory(path, options);
  if (options.numa_changed)
    return Error{ErrorKind::usage, "the findings of a profile database are made already", path,
                 "give --topology and --numa-threshold to `fathom analyze DIR`, or the measurement "
                 "directory to this command"};
  return read_profile(path);
}

}  // namespace fathom
