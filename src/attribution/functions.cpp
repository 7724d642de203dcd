#include "attribution/functions.h"

#include <algorithm>
#include <set>

#include "base/text.h"

namespace fathom {
namespace {

/// Opens and decodes GPU binaries, each once, and says once what failed.
class BinaryStore {
 public:
  BinaryStore(const Measurement& measurement, DecoderKind decoder, std::vector<Warning>& warnings)
      : measurement_(measurement), decoder_(decoder), warnings_(warnings) {}

  const GpuBinary* open(const std::string& sha) {
    if (auto known = images_.find(sha); known != images_.end()) return known->second.get();
    auto stored = measurement_.binaries.find(sha);
    std::unique_ptr<GpuBinary> image;
    if (stored == measurement_.binaries.end()) {
      warn("a GPU binary that was sampled is not in the measurement: its samples cannot be placed",
           sha);
    } else {
      Result<GpuBinary> opened = open_gpu_binary(stored->second.bytes, stored->second.path);
      if (opened.ok()) {
        image = std::make_unique<GpuBinary>(std::move(opened).value());
      } else {
        warn(opened.error().what, opened.error().where, opened.error().hint);
      }
    }
    return (images_[sha] = std::move(image)).get();
  }

  std::vector<Instruction> decode(const std::string& sha, const GpuBinary& image,
                                  const GpuSymbol& symbol, std::string& note) {
    if (InstructionSource* source = source_of(sha, image)) {
      Result<std::vector<Instruction>> decoded = source->decode(image, symbol);
      if (decoded.ok()) return std::move(decoded).value();
      note = decoded.error().message();
      warn("cannot decode " + demangle(symbol.name) + ": " + decoded.error().what,
           decoded.error().where, decoded.error().hint);
    } else {
      note = "no disassembler";
    }
    return undecoded(symbol);
  }

  std::map<std::string, std::unique_ptr<GpuBinary>> take_images() {
    std::erase_if(images_, [](const auto& entry) { return !entry.second; });
    return std::move(images_);
  }

 private:
  /// Addresses without meaning still lead to source lines.
  static std::vector<Instruction> undecoded(const GpuSymbol& symbol) {
    std::vector<Instruction> instructions(symbol.size / 16);
    for (size_t i = 0; i < instructions.size(); ++i) {
      instructions[i].offset = i * 16;
      instructions[i].text = instructions[i].opcode = "?";
      instructions[i].known = false;
    }
    return instructions;
  }

  InstructionSource* source_of(const std::string& sha, const GpuBinary& image) {
    if (decoder_ == DecoderKind::native && decodes_natively(image.compute)) return native_.get();
    const StoredBinary& stored = measurement_.binaries.at(sha);
    if (!stored.disassembly.empty()) {
      auto& source = stored_sources_[sha];
      if (!source) {
        auto text = nvdisasm_text(stored.disassembly, stored.disassembly_tool);
        if (text.ok()) source = std::move(text).value();
      }
      if (source) return source.get();
    }
    if (!tried_program_) {
      tried_program_ = true;
      auto program = nvdisasm_program();
      if (program.ok()) {
        program_ = std::move(program).value();
      } else {
        warn(
            "machine code cannot be decoded, so there is neither blame nor advice by "
            "instruction: " +
                program.error().what,
            program.error().where, program.error().hint);
      }
    }
    return program_.get();
  }

  void warn(std::string what, std::string where, std::string hint = "") {
    Warning warning{WarningSeverity::warning, std::move(what), std::move(where), std::move(hint)};
    if (said_.insert(warning.what + warning.where).second) warnings_.push_back(std::move(warning));
  }

  const Measurement& measurement_;
  const DecoderKind decoder_;
  std::vector<Warning>& warnings_;
  const std::unique_ptr<InstructionSource> native_ = native_decoder();
  std::map<std::string, std::unique_ptr<GpuBinary>> images_;
  std::map<std::string, std::unique_ptr<InstructionSource>> stored_sources_;
  std::unique_ptr<InstructionSource> program_;
  bool tried_program_ = false;
  std::set<std::string> said_;
};

class FunctionAnalyzer {
 public:
  FunctionAnalyzer(const Measurement& measurement, DecoderKind decoder,
                   std::vector<Warning>& warnings)
      : measurement_(measurement), warnings_(warnings), store_(measurement, decoder, warnings) {}

  SampledFunctions run() {
    result_.samples.resize(measurement_.processes.size());
    for (size_t p = 0; p < measurement_.processes.size(); ++p)
      place_samples(measurement_.processes[p], p);
    for (const ProcessSamples& process : result_.samples)
      for (const auto& [key, counts] : process)
        for (const auto& [instruction, stalls] : counts)
          result_.functions[key.function].samples[instruction] += stalls;
    add_callees();
    for (AnalyzedFunction& function : result_.functions) find_structure(function);
    result_.images = store_.take_images();
    if (result_.unattributed)
      warn(human_count(result_.unattributed) + " samples could not be placed on an instruction",
           "their function or its GPU binary is unknown");
    return std::move(result_);
  }

 private:
  void place_samples(const Process& process, size_t index) {
    std::map<uint64_t, std::string> sha_of;
    for (const LoadedGpuBinary& binary : process.binaries)
      sha_of.emplace(binary.crc, binary.sha256);
    for (const PcSampleRecord& sample : process.samples) {
      auto reason_name = process.stall_reasons.find(sample.stall_reason);
      std::string vendor = reason_name == process.stall_reasons.end() ? "" : reason_name->second;
      if (!vendor.empty() && vendor.find("_stall") == std::string::npos)
        continue;  // a count, not a reason
      VendorReason reason = understand(vendor);
      auto place = find_place(process, sample, sha_of);
      if (!reason.not_issued) (place ? result_.attributed : result_.unattributed) += sample.samples;
      if (!place) continue;
      StallCounts& counts =
          result_.samples[index][{place->first, sample.correlation}][place->second];
      (reason.not_issued ? counts.latency : counts.all)[static_cast<size_t>(reason.reason)] +=
          sample.samples;
    }
    for (auto& [key, by_instruction] : result_.samples[index])
      for (auto& [instruction, counts] : by_instruction)
        for (size_t r = 0; r < kStallReasonCount; ++r)
          counts.latency[r] = std::min(counts.latency[r], counts.all[r]);
  }

  VendorReason understand(const std::string& vendor_name) {
    if (auto known = parse_vendor_reason(vendor_name)) return *known;
    if (unknown_reasons_.insert(vendor_name).second)
      warn("a stall reason is unknown and counts as \"other\": " +
               (vendor_name.empty() ? "unnamed" : vendor_name),
           "");
    return {StallReason::misc, ends_with(vendor_name, "_not_issued")};
  }

  /// Function and instruction of a sample.
  std::optional<std::pair<uint32_t, uint32_t>> find_place(
      const Process& process, const PcSampleRecord& sample,
      const std::map<uint64_t, std::string>& sha_of) {
    auto sha = sha_of.find(sample.crc);
    if (sha == sha_of.end()) return std::nullopt;
    const GpuBinary* image = store_.open(sha->second);
    if (!image) return std::nullopt;
    const GpuSymbol* symbol = image->find(process.names[sample.function]);
    if (!symbol) return std::nullopt;
    uint64_t offset = sample.pc_offset;
    if (offset >= symbol->size) {
      // The vendor counts from the kernel's start; device functions follow it in the same section.
      symbol = covering(*image, symbol->section, symbol->offset + offset);
      if (!symbol) return std::nullopt;
      offset = image->find(process.names[sample.function])->offset + offset - symbol->offset;
    }
    uint32_t function = function_index(sha->second, *image, *symbol);
    const auto& instructions = result_.functions[function].instructions;
    auto at =
        std::lower_bound(instructions.begin(), instructions.end(), offset,
                         [](const Instruction& i, uint64_t value) { return i.offset < value; });
    if (at == instructions.end() || at->offset != offset) return std::nullopt;
    return std::pair(function, static_cast<uint32_t>(at - instructions.begin()));
  }

  static const GpuSymbol* covering(const GpuBinary& image, uint32_t section, uint64_t offset) {
    for (const GpuSymbol& symbol : image.functions)
      if (symbol.section == section && offset >= symbol.offset &&
          offset - symbol.offset < symbol.size)
        return &symbol;
    return nullptr;
  }

  uint32_t function_index(const std::string& sha, const GpuBinary& image, const GpuSymbol& symbol) {
    auto [entry, is_new] = index_.emplace(std::pair(sha, symbol.name), result_.functions.size());
    if (!is_new) return entry->second;
    AnalyzedFunction function;
    function.mangled = symbol.name;
    function.binary = sha;
    function.image = &image;
    function.symbol = &symbol;
    MachineChoice machine = machine_for(image.compute);
    function.machine = machine.model;
    if (!machine.exact)
      warn("the architecture " + image.arch + " is newer than this Fathom: latencies of " +
               machine.model->name + " are used",
           image.name);
    function.instructions = store_.decode(sha, image, symbol, function.note);
    function.samples.resize(function.instructions.size());
    result_.functions.push_back(std::move(function));
    return entry->second;
  }

  /// A sampled device function may be reached through functions that were not sampled themselves.
  void add_callees() {
    for (size_t f = 0; f < result_.functions.size(); ++f) {
      std::vector<std::string> callees;
      for (const Instruction& instruction : result_.functions[f].instructions)
        if (!instruction.target_symbol.empty() && instruction.flow == Flow::call)
          callees.push_back(instruction.target_symbol);
      const GpuBinary& image = *result_.functions[f].image;
      std::string sha = result_.functions[f].binary;
      for (const std::string& callee : callees)
        if (const GpuSymbol* symbol = image.find(callee)) function_index(sha, image, *symbol);
    }
  }

  static void find_structure(AnalyzedFunction& function) {
    function.graph = ControlFlowGraph::build(function.instructions);
    function.dominators = DominatorTree::build(function.graph);
    function.loops = LoopNest::build(function.graph, function.dominators);
  }

  void warn(std::string what, std::string where) {
    Warning warning{WarningSeverity::warning, std::move(what), std::move(where), ""};
    if (said_.insert(warning.what + warning.where).second) warnings_.push_back(std::move(warning));
  }

  const Measurement& measurement_;
  std::vector<Warning>& warnings_;
  BinaryStore store_;
  SampledFunctions result_;
  std::map<std::pair<std::string, std::string>, uint32_t> index_;
  std::set<std::string> unknown_reasons_, said_;
};

}  // namespace

SampledFunctions analyze_functions(const Measurement& measurement, DecoderKind decoder,
                                   std::vector<Warning>& warnings) {
  return FunctionAnalyzer(measurement, decoder, warnings).run();
}

}  // namespace fathom
