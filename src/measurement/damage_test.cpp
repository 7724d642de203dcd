// Whatever happens to the files, reading must not crash, must not invent anything, and must say
// what it lost.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/text.h"
#include "measurement/measurement.h"
#include "measurement/numa_testing.h"

namespace fathom {
namespace {

using testing::MeasurementBuilder;
using testing::ProcessBuilder;
using testing::TemporaryDirectory;
using Files = std::map<std::string, std::string>;

/// One line for each thing that a measurement says, warnings apart. A thing that is lost makes its
/// line go, and changes no other line.
using Lines = std::multiset<std::string>;

std::string number(uint64_t value) {
  return std::to_string(value);
}

std::string path_of(const Process& process, uint32_t node) {
  std::string path;
  for (; node != kNoId; node = process.call_paths.at(node).parent)
    path += " " + number(process.call_paths.at(node).address);
  return path;
}

void describe_run(const Measurement& measurement, Lines& lines) {
  const RunFacts& run = measurement.run;
  for (const std::string& fact : {run.fathom_version, run.command, run.events, run.host})
    if (!fact.empty()) lines.insert("run " + fact);
  if (run.finished) lines.insert("run took " + std::to_string(run.wall_seconds));
  for (const auto& [key, levels] : measurement.symbols)
    for (size_t depth = 0; depth < levels.size(); ++depth)
      lines.insert("symbol " + key.first + number(key.second) + " " + number(depth) +
                   levels[depth].function + levels[depth].at.file + number(levels[depth].at.line));
  for (const auto& [function, to_void] : measurement.pointer_functions)
    lines.insert("pointer from " + function.first + function.second + number(to_void));
  for (const auto& [path, variables] : measurement.variables)
    for (const DataVariable& variable : variables)
      lines.insert("variable " + path + variable.name + number(variable.address));
  for (const auto& [sha256, binary] : measurement.binaries) {
    lines.insert("binary " + sha256 + std::string(as_text(*binary.bytes)));
    if (!binary.disassembly.empty())
      lines.insert("text " + sha256 + binary.disassembly_tool + binary.disassembly);
  }
}

void describe_calls(const Process& process, const std::string& who, Lines& lines) {
  for (uint32_t node = 0; node < process.call_paths.size(); ++node) {
    const CpuFrame& frame = process.call_paths[node];
    EXPECT_TRUE(frame.parent == kNoId || frame.parent < node);
    lines.insert(who + "path" + path_of(process, node));
    if (frame.module != kNoId)
      lines.insert(who + "path" + path_of(process, node) + " in " +
                   process.modules.at(frame.module).path);
  }
  for (const auto& [correlation, site] : process.calls) {
    lines.insert(who + "call " + number(correlation) + " " + number(site.time_ns));
    if (site.call_path != kNoId)
      lines.insert(who + "call " + number(correlation) + " at" + path_of(process, site.call_path));
  }
  for (const auto& [correlation, set] : process.launch_arguments)
    lines.insert(who + "launch " + number(correlation) + " with " + number(set));
  for (const auto& [set, arguments] : process.argument_sets)
    for (const ArgumentWord& word : arguments.words) {
      const std::string line = who + "argument " + number(set) + " " + number(word.value);
      lines.insert(line);
      if (arguments.kernel != "<unknown>") lines.insert(line + " of " + arguments.kernel);
    }
}

void describe_gpu(const Process& process, const std::string& who, Lines& lines) {
  uint64_t last = 0;
  for (const GpuOperation& operation : process.operations) {
    EXPECT_LE(last, operation.start_ns);
    last = operation.start_ns;
    std::string line = who + "operation " + number(uint64_t(operation.kind)) + " " +
                       number(operation.start_ns) + " " + number(operation.end_ns) + " " +
                       number(operation.bytes) + " " + number(operation.correlation) + " " +
                       number(operation.shape.blocks());
    lines.insert(line);
    if (operation.name != "<unknown>") lines.insert(line + " named " + operation.name);
    if (operation.device != kNoId) lines.insert(line + " on " + number(operation.device));
  }
  for (const PcSampleRecord& sample : process.samples) {
    std::string line = who + "sample " + number(sample.crc) + " " + number(sample.pc_offset) + " " +
                       number(sample.samples);
    lines.insert(line);
    const std::string& name = process.names.at(sample.function);
    const std::string& reason = process.stall_reasons.at(sample.stall_reason);
    if (name != "<unknown>") lines.insert(line + " in " + name);
    if (reason != "<unknown>") lines.insert(line + " for " + reason);
  }
  if (process.sampling.total) lines.insert(who + "samples " + number(process.sampling.total));
}

void describe_numa(const Process& process, const std::string& who, Lines& lines) {
  const NumaMeasurement& numa = process.numa;
  for (const NumaThread& thread : numa.threads)
    lines.insert(who + "thread " + number(thread.index) + " " + number(thread.reads));
  for (const NumaObject& object : numa.objects)
    lines.insert(who + "object " + number(object.address) + " " + number(object.reads));
  for (const NumaPage& page : numa.pages) {
    std::string line = who + "page " + number(page.address) + " of " +
                       number(numa.objects.at(page.object).address);
    lines.insert(line);
    for (const NumaPageShare& share : page.shares)
      if (share.thread != kNoId)
        lines.insert(line + " by " + number(numa.threads.at(share.thread).index));
  }
  for (const NumaLine& line : numa.lines)
    lines.insert(who + "line " + number(line.address) + " " + number(line.shares.size()));
  for (const NumaPlace& place : numa.places) {
    lines.insert(who + "place " + number(place.address));
    if (place.module != kNoId)
      lines.insert(who + "place " + number(place.address) + process.modules.at(place.module).path);
  }
}

Lines describe(const Measurement& measurement) {
  Lines lines;
  describe_run(measurement, lines);
  for (const Process& process : measurement.processes) {
    std::string who = process.folder + " " + number(process.pid) + process.host + ": ";
    lines.insert(who);
    if (!process.command.empty()) lines.insert(who + process.executable + process.command);
    if (process.ended) lines.insert(who + "ended");
    for (const CpuModule& module : process.modules) lines.insert(who + "module " + module.path);
    for (const DeviceFacts& device : process.devices) lines.insert(who + "device " + device.name);
    for (auto [context, device] : process.context_device)
      lines.insert(who + "context " + number(context) + " " + number(device));
    for (const LoadedGpuBinary& binary : process.binaries)
      lines.insert(who + "loaded " + binary.sha256 + number(binary.crc));
    describe_calls(process, who, lines);
    describe_gpu(process, who, lines);
    describe_numa(process, who, lines);
  }
  return lines;
}

void add_numa(ProcessBuilder& process, uint32_t app) {
  testing::NumaBuilder numa(process);
  uint32_t site = numa.frame(record::kNone, app, 0x60);
  numa.module(app);
  record::NumaThread thread{};
  thread.reads = 40;
  thread.created_at = site;
  numa.thread(thread);
  record::NumaObject object{};
  object.call_path = site;
  object.address = 0x1000;
  object.reads = 40;
  uint32_t id = numa.object(object);
  record::NumaPage page{};
  page.address = 0x1000;
  page.object = id;
  page.reads = 40;
  numa.page_thread({numa.page(page), 0, 40, 0});
  record::NumaLineThread share{};
  share.line = numa.line({0x1040, id, 2, 1, 2, 3, 4});
  numa.line_thread(share);
  numa.place({id, app, 0x70, 4, 0, 0});
  numa.snapshot();
}

/// Something of everything, in little space.
Files small_measurement() {
  MeasurementBuilder builder;
  std::string sha256 = builder.add_binary("cubin");
  builder.add_disassembly(sha256, "nvdisasm", "NOP ;");
  builder.symbol("/bin/app", 0x40, "main", "main.cpp", 12);
  builder.pointer_function("/bin/app", "make", true);
  builder.variable("/bin/app", {0x2000, 8, 3, 0}, "counter", "main.cpp", "long");
  builder.symbol("/bin/app", 0x40, "inlined", "main.h", 2, 1);
  ProcessBuilder& process = builder.add_process();
  uint32_t app = process.module("/bin/app");
  uint32_t context = process.context(process.h200());
  process.loaded(sha256, 9, context);
  process.message(record::Severity::note, "a message", "a hint");
  auto& thread = process.thread(1);
  uint32_t outer = thread.frame(record::kNone, app, 0x30);
  thread.call(1, thread.frame(outer, app, 0x40));
  process.file("thread-1.fathom").end_chunk();
  thread.call(2, thread.frame(outer, app, 0x50));
  process.kernel("first", 100, 200, 1);
  process.kernel("second", 150, 300, 2);
  process.copy({90, 95, 4096, 3, 0, context, 7, 1, record::kNone});
  process.memory_set({80, 85, 64, 4, 0, context, 7, 3, 0, record::kNone, 0});
  process.memory_operation({70, 64, 0xbeef, 5, 0, context, 7, 3, 0});
  process.synchronization({300, 310, 6, context, 7, 3});
  process.pc_sample(9, "first", 0x10, "stalled_wait", 4);
  process.pc_sample(9, "second", 0x20, "stalled_barrier", 5);
  process.sampling(9);
  process.argument("first", {0xbeef, 0, 0, 0, 0, 8, 0});
  process.launch_arguments(1, 1, 0);
  add_numa(process, app);
  builder.add_process("/bin/other").killed();
  return builder.files();
}

/// The offsets in a record file at which a cut leaves whole chunks only.
std::set<size_t> chunk_borders(const std::string& bytes) {
  std::set<size_t> borders = {0};
  std::vector<Damage> damages;
  for (const Chunk& chunk :
       read_chunks({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, damages))
    borders.insert(chunk.payload_offset() + chunk.payload.size());
  return borders;
}

class Damaged : public ::testing::Test {
 protected:
  void SetUp() override {
    testing::write_files(directory_.path(), files_);
    Result<Measurement> measurement = read_measurement(directory_.path());
    ASSERT_TRUE(measurement.ok()) << measurement.error().message();
    intact_ = describe(*measurement);
  }

  /// Reads the directory with other bytes in one file.
  void check(const std::string& file, const std::string& bytes, bool must_warn) {
    testing::write_files(directory_.path(), {{file, bytes}});
    Result<Measurement> measurement = read_measurement(directory_.path());
    ASSERT_TRUE(measurement.ok()) << "the other files are whole";
    Lines lines = describe(*measurement);
    ASSERT_TRUE(std::includes(intact_.begin(), intact_.end(), lines.begin(), lines.end()))
        << "something that was never measured";
    bool warned = std::any_of(
        measurement->warnings.begin(), measurement->warnings.end(),
        [&](const Warning& warning) { return warning.where.find(file) != std::string::npos; });
    ASSERT_TRUE(warned || !must_warn) << "a silent loss";
  }

  void restore(const std::string& file) {
    testing::write_files(directory_.path(), {{file, files_[file]}});
  }

  Files files_ = small_measurement();
  TemporaryDirectory directory_;
  Lines intact_;
};

TEST_F(Damaged, FilesCutAtEachByteYieldAPartAndAWarning) {
  size_t mutations = 0;
  for (const auto& [file, bytes] : files_) {
    std::set<size_t> borders =
        ends_with(file, ".cubin") ? std::set<size_t>() : chunk_borders(bytes);
    for (size_t size = 0; size < bytes.size(); ++size, ++mutations) {
      SCOPED_TRACE(file + " cut to " + number(size));
      // A cut between chunks looks like a file that ends there.
      check(file, bytes.substr(0, size), !borders.count(size));
      if (HasFatalFailure()) return;
    }
    restore(file);
  }
  EXPECT_GE(mutations, 1000u);
}

TEST_F(Damaged, FilesWithAnyByteChangedYieldAPartAndAWarning) {
  size_t mutations = 0;
  for (const auto& [file, bytes] : files_) {
    for (size_t at = 0; at < bytes.size(); ++at)
      for (int change : {1 << at % 8, 0xff}) {
        SCOPED_TRACE(file + " changed at " + number(at));
        std::string changed = bytes;
        changed[at] ^= char(change);
        check(file, changed, true);
        if (HasFatalFailure()) return;
        ++mutations;
      }
    restore(file);
  }
  EXPECT_GE(mutations, 2000u);
}

/// Damage that checksums cannot show: chunks made anew after their payload was changed.
TEST_F(Damaged, RecordsWithAnyByteChangedNeverLeaveTheirBounds) {
  for (const auto& [file, bytes] : files_) {
    if (ends_with(file, ".cubin")) continue;
    std::vector<Damage> damages;
    std::vector<Chunk> chunks =
        read_chunks({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, damages);
    for (const Chunk& chunk : chunks)
      for (size_t at = 0; at < chunk.payload.size(); ++at) {
        SCOPED_TRACE(file + " forged at " + number(chunk.payload_offset() + at));
        std::string payload(as_text(chunk.payload));
        payload[at] ^= char(0x80 | 1 << at % 7);
        std::string forged = bytes;
        forged.replace(chunk.offset, sizeof(record::ChunkHeader) + payload.size(),
                       encode_chunk(chunk.type, payload));
        testing::write_files(directory_.path(), {{file, forged}});
        Result<Measurement> measurement = read_measurement(directory_.path());
        ASSERT_TRUE(measurement.ok());
        describe(*measurement);  // follows each reference with a checked access
      }
    restore(file);
  }
}

TEST(Determinism, TheOrderOfFilesInTheFileSystemDoesNotMatter) {
  Files files = small_measurement();
  TemporaryDirectory one, two;
  testing::write_files(one.path(), files);
  for (auto file = files.rbegin(); file != files.rend(); ++file)
    testing::write_files(two.path(), {*file});
  Result<Measurement> first = read_measurement(one.path()), second = read_measurement(two.path());
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(describe(*first), describe(*second));
  ASSERT_EQ(first->warnings.size(), second->warnings.size());
  for (size_t i = 0; i < first->warnings.size(); ++i) {
    EXPECT_EQ(first->warnings[i].what, second->warnings[i].what);
    EXPECT_EQ(first->warnings[i].where, second->warnings[i].where);
  }
}

}  // namespace
}  // namespace fathom
