#include "measurement/run_reader.h"

#include <algorithm>

#include "measurement/records.h"

namespace fathom {
namespace {

using record::ChunkType;

class RunReader {
 public:
  RunReader(const std::string& file, Measurement& measurement)
      : measurement_(measurement), complaints_(file) {}

  size_t read(Bytes bytes) {
    std::vector<Damage> damages;
    std::vector<Chunk> chunks = read_chunks(bytes, damages);
    for (const Damage& damage : damages) complaints_.add(damage);
    for (const Chunk& chunk : chunks)
      if (is_known_version(chunk, complaints_)) add_chunk(chunk);
    sort_variables();
    complaints_.report(measurement_.warnings);
    return chunks.size();
  }
  bool started() const { return started_; }

 private:
  void add_chunk(const Chunk& chunk) {
    auto use = [this](const auto&... parts) { return add(parts...); };
    switch (chunk.type) {
      case ChunkType::run_start:
        return for_each_record<record::RunStart>(chunk, complaints_, use);
      case ChunkType::run_end:
        return for_each_record<record::RunEnd>(chunk, complaints_, use);
      case ChunkType::message:
        return for_each_record<record::Message>(chunk, complaints_, use);
      case ChunkType::symbol:
        return for_each_record<record::Symbol>(chunk, complaints_, use);
      case ChunkType::data_symbol:
        return for_each_record<record::DataSymbol>(chunk, complaints_, use);
      case ChunkType::pointer_function:
        return for_each_record<record::PointerFunction>(chunk, complaints_, use);
      default:
        note_unknown_type(chunk, complaints_);
    }
  }

  const char* add(const record::RunStart&, const Strings<record::RunStart>& strings) {
    if (started_) return "a second start of the run: left out";
    started_ = true;
    RunFacts& run = measurement_.run;
    run.fathom_version = strings[0];
    run.command = strings[1];
    run.working_directory = strings[2];
    run.events = strings[3];
    run.host = strings[4];
    return nullptr;
  }

  const char* add(const record::RunEnd& end) {
    RunFacts& run = measurement_.run;
    if (run.finished) return "a second end of the run: left out";
    run.finished = true;
    run.exit_code = end.exit_code;
    run.wall_seconds = double(end.wall_ns) / 1e9;
    return nullptr;
  }

  const char* add(const record::Message& message, const Strings<record::Message>& strings) {
    if (message.severity > record::Severity::error) return "an unknown severity: left out";
    measurement_.warnings.push_back({WarningSeverity(message.severity), std::string(strings[0]),
                                     "fathom record", std::string(strings[1])});
    return nullptr;
  }

  /// The same symbol may come twice, e.g. for two processes that ran the same module.
  const char* add(const record::Symbol& symbol, const Strings<record::Symbol>& strings) {
    auto& levels = measurement_.symbols[{std::string(strings[0]), symbol.address}];
    CpuSymbol level{std::string(strings[1]), {std::string(strings[2]), symbol.line}};
    if (symbol.depth > levels.size()) {
      if (levels.empty()) measurement_.symbols.erase({std::string(strings[0]), symbol.address});
      return "an inlined level of a symbol without the level outside it: left out";
    }
    if (symbol.depth == levels.size()) {
      levels.push_back(std::move(level));
      return nullptr;
    }
    const CpuSymbol& known = levels[symbol.depth];
    bool same = known.function == level.function && known.at == level.at;
    return same ? nullptr : "a symbol that differs from an earlier one of its address: left out";
  }

  const char* add(const record::DataSymbol& symbol, const Strings<record::DataSymbol>& strings) {
    if (symbol.size > UINT64_MAX - symbol.address)
      return "a variable that leaves the address space: left out";
    measurement_.variables[std::string(strings[0])].push_back(
        {symbol.address,
         symbol.size,
         std::string(strings[1]),
         {std::string(strings[2]), symbol.line},
         std::string(strings[3]),
         symbol.element_size});
    return nullptr;
  }

  const char* add(const record::PointerFunction& function,
                  const Strings<record::PointerFunction>& strings) {
    measurement_.pointer_functions[{std::string(strings[0]), std::string(strings[1])}] =
        function.to_void != 0;
    return nullptr;
  }

  void sort_variables() {
    for (auto& [path, variables] : measurement_.variables)
      std::stable_sort(
          variables.begin(), variables.end(),
          [](const DataVariable& a, const DataVariable& b) { return a.address < b.address; });
  }

  Measurement& measurement_;
  Complaints complaints_;
  bool started_ = false;
};

}  // namespace

size_t read_run(const std::string& file, Bytes bytes, Measurement& measurement) {
  RunReader reader(file, measurement);
  size_t chunks = reader.read(bytes);
  if (!reader.started())
    measurement.warnings.push_back({WarningSeverity::warning,
                                    "the start of the run was not recorded: its command is unknown",
                                    file, "the processes' files are used"});
  if (!measurement.run.finished)
    measurement.warnings.push_back(
        {WarningSeverity::warning,
         "the end of the run was not recorded: `fathom record` was killed or the file is cut", file,
         "exit code and wall time are unknown; what was written until then is used"});
  return chunks;
}

}  // namespace fathom
