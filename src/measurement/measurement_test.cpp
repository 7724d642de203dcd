#include "measurement/measurement.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "base/files.h"
#include "measurement/disassembly_store.h"
#include "measurement/testing.h"

namespace fathom {
namespace {

using record::ChunkType;
using record::kNone;
using testing::MeasurementBuilder;
using testing::ProcessBuilder;
using testing::TemporaryDirectory;

Measurement read_or_die(const std::string& directory) {
  Result<Measurement> measurement = read_measurement(directory);
  EXPECT_TRUE(measurement.ok()) << measurement.error().message();
  return std::move(measurement).value();
}
Measurement read_back(MeasurementBuilder& builder) {
  TemporaryDirectory directory;
  builder.write(directory.path());
  return read_or_die(directory.path());
}
/// The only process of a measurement that has one.
Process only_process(MeasurementBuilder& builder, std::vector<Warning>* warnings = nullptr) {
  Measurement measurement = read_back(builder);
  EXPECT_EQ(measurement.processes.size(), 1u);
  if (warnings) *warnings = measurement.warnings;
  return measurement.processes.at(0);
}
bool mentions(const std::vector<Warning>& warnings, const std::string& where,
              const std::string& what) {
  for (const Warning& warning : warnings)
    if (warning.where.find(where) != std::string::npos &&
        warning.what.find(what) != std::string::npos)
      return true;
  return false;
}

TEST(Measurement, HoldsTheFactsOfTheRun) {
  MeasurementBuilder builder("./app --fast");
  builder.add_process();
  Measurement measurement = read_back(builder);
  const RunFacts& run = measurement.run;
  EXPECT_EQ(run.fathom_version, "0.1.0");
  EXPECT_EQ(run.command, "./app --fast");
  EXPECT_EQ(run.working_directory, "/home/user");
  EXPECT_EQ(run.events, "gpu=cuda,pc");
  EXPECT_EQ(run.host, "node1");
  EXPECT_TRUE(run.finished);
  EXPECT_DOUBLE_EQ(run.wall_seconds, 2.5);
  EXPECT_EQ(run.processes, 1u);
  EXPECT_TRUE(measurement.warnings.empty());
}

TEST(Measurement, HoldsProcessesByStartTime) {
  MeasurementBuilder builder;
  builder.add_process("/bin/first").h200();
  builder.add_process("/bin/second").h200();
  Measurement measurement = read_back(builder);
  ASSERT_EQ(measurement.processes.size(), 2u);
  const Process& second = measurement.processes[1];
  EXPECT_EQ(second.executable, "/bin/second");
  EXPECT_EQ(second.command, "/bin/second --run");
  EXPECT_EQ(second.host, "node1");
  EXPECT_EQ(second.pid, measurement.processes[0].pid + 1);
  EXPECT_EQ(second.parent_pid, 1u);
  EXPECT_TRUE(second.ended);
  EXPECT_EQ(second.devices.at(0).process, 1u);
}

TEST(Measurement, HoldsModulesDevicesContextsAndLoadedBinaries) {
  MeasurementBuilder builder;
  std::string sha256 = builder.add_binary("a binary");
  ProcessBuilder& process = builder.add_process();
  process.module("/lib/libc.so", 0x1000, 0x2000, 0x800);
  process.device({}, "small");
  uint32_t big = process.h200();
  uint32_t context = process.context(big);
  process.loaded(sha256, 0xabc, context);
  Process read = only_process(builder);
  ASSERT_EQ(read.modules.size(), 1u);
  EXPECT_EQ(read.modules[0].path, "/lib/libc.so");
  EXPECT_EQ(read.modules[0].build_id, "c0ffee");
  EXPECT_EQ(read.modules[0].start, 0x1000u);
  EXPECT_EQ(read.modules[0].end, 0x2000u);
  EXPECT_EQ(read.modules[0].bias, 0x800u);
  ASSERT_EQ(read.devices.size(), 2u);
  const DeviceFacts& device = read.devices[1];
  EXPECT_EQ(device.name, "NVIDIA H200");
  EXPECT_EQ(device.id, 1u);
  EXPECT_EQ(device.compute_major, 9u);
  EXPECT_EQ(device.multiprocessors, 132u);
  EXPECT_EQ(device.memory_bytes, 150'000'000'000u);
  EXPECT_DOUBLE_EQ(device.memory_bandwidth, 4.8e12);
  EXPECT_EQ(device.max_shared_memory_per_multiprocessor, 233472u);
  EXPECT_EQ(read.context_device.at(context), big);
  ASSERT_EQ(read.binaries.size(), 1u);
  EXPECT_EQ(read.binaries[0].sha256, sha256);
  EXPECT_EQ(read.binaries[0].crc, 0xabcu);
}

TEST(Measurement, MergesCallPathsOfAllThreads) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  uint32_t libc = process.module("/lib/libc.so"), app = process.module("/bin/app");
  for (uint32_t tid : {1, 2}) {
    auto& thread = process.thread(tid);
    uint32_t outer = thread.frame(kNone, libc, 0x10 * tid);
    thread.call(tid, thread.frame(outer, app, 0x100 * tid), record::ApiKind::copy, 50 + tid);
  }
  process.thread(2).call(9, kNone);
  Process read = only_process(builder);
  ASSERT_EQ(read.call_paths.size(), 4u);
  ASSERT_EQ(read.calls.size(), 3u);
  for (uint32_t tid : {1, 2}) {
    EXPECT_EQ(read.calls.at(tid).time_ns, 50 + tid);
    const CpuFrame& inner = read.call_paths.at(read.calls.at(tid).call_path);
    EXPECT_EQ(inner.address, 0x100 * tid);
    EXPECT_EQ(read.modules.at(inner.module).path, "/bin/app");
    const CpuFrame& outer = read.call_paths.at(inner.parent);
    EXPECT_EQ(outer.address, 0x10 * tid);
    EXPECT_EQ(outer.parent, kNoId);
  }
  EXPECT_EQ(read.calls.at(9).call_path, kNoId);
}

TEST(Measurement, SortsOperationsByStartAndKeepsTheOrderOfEqualOnes) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  process.kernel("late", 300, 400);
  process.kernel("one", 100, 150);
  process.kernel("two", 100, 120);
  Process read = only_process(builder);
  ASSERT_EQ(read.operations.size(), 3u);
  EXPECT_EQ(read.operations[0].name, "one");
  EXPECT_EQ(read.operations[1].name, "two");
  EXPECT_EQ(read.operations[2].name, "late");
}

TEST(Measurement, SortsManyOperationsWithoutLosingAny) {
  constexpr uint64_t kCount = 1000;
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  for (uint32_t i = 0; i < kCount; ++i) process.kernel("kernel", i * 377 % kCount / 2, kCount, i);
  std::vector<GpuOperation> read = only_process(builder).operations;
  ASSERT_EQ(read.size(), kCount);
  for (size_t i = 0; i < kCount; ++i) {
    EXPECT_EQ(read[i].start_ns, i / 2);
    EXPECT_EQ(read[i].correlation * 377 % kCount / 2, i / 2);
    EXPECT_EQ(read[i].name, "kernel");
    if (i % 2 == 0) continue;
    EXPECT_LT(read[i - 1].correlation, read[i].correlation) << "equal ones keep their order";
  }
}

TEST(Measurement, HoldsAllOfAKernel) {
  MeasurementBuilder builder;
  record::Kernel kernel{};
  kernel.start_ns = 5, kernel.end_ns = 9;
  kernel.correlation = 77, kernel.device = 1, kernel.context = 2, kernel.stream = 3;
  for (uint32_t i = 0; i < 3; ++i)
    kernel.grid[i] = 10 + i, kernel.block[i] = 20 + i, kernel.cluster[i] = 30 + i;
  kernel.registers_per_thread = 40;
  kernel.static_shared_memory = 41, kernel.dynamic_shared_memory = 42;
  kernel.local_memory_per_thread = 43;
  kernel.graph = 6;
  builder.add_process().kernel("_Z3addPf", kernel);
  GpuOperation read = only_process(builder).operations.at(0);
  EXPECT_EQ(read.kind, GpuOperationKind::kernel);
  EXPECT_EQ(read.start_ns, 5u);
  EXPECT_EQ(read.end_ns, 9u);
  EXPECT_EQ(read.correlation, 77u);
  EXPECT_EQ(read.device, 1u);
  EXPECT_EQ(read.context, 2u);
  EXPECT_EQ(read.stream, 3u);
  EXPECT_EQ(read.graph, 6u);
  EXPECT_EQ(read.name, "_Z3addPf");
  EXPECT_EQ(read.shape, (LaunchShape{{10, 11, 12}, {20, 21, 22}, {30, 31, 32}, 40, 41, 42, 43}));
}

TEST(Measurement, HoldsTheOtherOperations) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  process.device({}, "first");
  uint32_t context = process.context(process.h200());
  process.copy({10, 20, 4096, 1, 1, context, 7, uint32_t(CopyKind::d2h), 5});
  process.memory_set({30, 40, 64, 2, 1, context, 7, uint32_t(MemoryKind::managed), 0, kNone, 0});
  process.memory_operation({50, 128, 0xdead, 3, 1, context, 7, uint32_t(MemoryKind::device), 0});
  process.memory_operation({60, 128, 0xdead, 4, 1, context, 7, uint32_t(MemoryKind::device), 1});
  process.synchronization({70, 80, 5, context, 7, uint32_t(SyncKind::stream)});
  std::vector<GpuOperation> read = only_process(builder).operations;
  ASSERT_EQ(read.size(), 5u);
  EXPECT_EQ(read[0].kind, GpuOperationKind::copy);
  EXPECT_EQ(read[0].copy_kind, CopyKind::d2h);
  EXPECT_EQ(read[0].bytes, 4096u);
  EXPECT_EQ(read[0].graph, 5u);
  EXPECT_EQ(read[1].kind, GpuOperationKind::memory_set);
  EXPECT_EQ(read[1].memory_kind, MemoryKind::managed);
  EXPECT_EQ(read[1].bytes, 64u);
  EXPECT_EQ(read[2].kind, GpuOperationKind::allocate);
  EXPECT_EQ(read[2].start_ns, 50u);
  EXPECT_EQ(read[2].end_ns, 50u);
  EXPECT_EQ(read[3].kind, GpuOperationKind::release);
  EXPECT_EQ(read[4].kind, GpuOperationKind::synchronize);
  EXPECT_EQ(read[4].sync_kind, SyncKind::stream);
  for (const GpuOperation& operation : read) {
    EXPECT_EQ(operation.device, 1u) << "a synchronization has its context's";
    EXPECT_EQ(operation.stream, 7u);
    EXPECT_EQ(operation.correlation, uint32_t(&operation - read.data() + 1));
  }
}

TEST(Measurement, HoldsWhatKernelsWereLaunchedWith) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  process.argument("k", {0xabc, 4, 0, 2, 16, 8, 0});
  process.argument("k", {5, 4, 0, 3, 24, 4, 0});
  process.argument("other", {6, 7, 0, 0, 0, 1, 0});
  process.launch_arguments(1, 12, 7);
  process.launch_arguments(2, 11, 4);
  process.memory_operation({50, 128, 0xdead, 3, 1, 1, 7, uint32_t(MemoryKind::device), 0});
  const Process read = only_process(builder);
  ASSERT_EQ(read.argument_sets.size(), 2u);
  const ArgumentSet& set = read.argument_sets.at(4);
  EXPECT_EQ(set.kernel, "k");
  ASSERT_EQ(set.words.size(), 2u);
  EXPECT_EQ(set.words[0].value, 0xabcu);
  EXPECT_EQ(set.words[0].position, 2u);
  EXPECT_EQ(set.words[0].offset, 16u);
  EXPECT_EQ(set.words[0].bytes, 8u);
  EXPECT_EQ(read.argument_sets.at(7).kernel, "other");
  EXPECT_EQ(read.launch_arguments, (std::vector<std::pair<uint32_t, uint32_t>>{{11, 4}, {12, 7}}));
  EXPECT_EQ(read.operations.at(0).address, 0xdeadu) << "which tells how large buffers are";
}

TEST(Measurement, HoldsSamplesAndTheirTotals) {
  MeasurementBuilder builder;
  for (int i = 0; i < 2; ++i) {
    ProcessBuilder& process = builder.add_process();
    process.pc_sample(0xabc, "kernel", 0x40, "stalled_barrier", 12);
    process.pc_sample(0xabc, "helper", 0x80, "stalled_wait", 3);
    process.sampling(100, 10, 1, 14, record::SamplingMode::serialized);
    process.sampling(50, 5, 2, 14, record::SamplingMode::serialized);
  }
  Measurement measurement = read_back(builder);
  const Process& process = measurement.processes.at(1);
  ASSERT_EQ(process.samples.size(), 2u);
  const PcSampleRecord& sample = process.samples[1];
  EXPECT_EQ(sample.crc, 0xabcu);
  EXPECT_EQ(sample.pc_offset, 0x80u);
  EXPECT_EQ(process.names.at(sample.function), "helper");
  EXPECT_EQ(process.stall_reasons.at(sample.stall_reason), "stalled_wait");
  EXPECT_EQ(sample.samples, 3u);
  EXPECT_EQ(process.sampling.total, 150u);
  EXPECT_EQ(process.sampling.dropped, 15u);
  EXPECT_EQ(process.sampling.non_user, 3u);
  EXPECT_EQ(process.sampling.period_log2, 14u);
  EXPECT_TRUE(process.sampling.serialized);
  EXPECT_EQ(measurement.run.samples_total, 300u);
  EXPECT_EQ(measurement.run.samples_dropped, 30u);
  EXPECT_EQ(measurement.run.samples_non_user, 6u);
  EXPECT_EQ(measurement.run.sampling_period_log2, 14u);
  EXPECT_TRUE(measurement.run.sampling_serialized);
  EXPECT_TRUE(measurement.warnings.empty());
}

TEST(Measurement, HoldsSymbolsWithTheirInlinedLevels) {
  MeasurementBuilder builder;
  builder.add_process();
  builder.symbol("/bin/app", 0x40, "main", "main.cpp", 12, 0);
  builder.symbol("/bin/app", 0x40, "inlined", "inline.h", 3, 1);
  builder.symbol("/bin/app", 0x40, "main", "main.cpp", 12, 0);
  builder.symbol("/bin/app", 0x80, "lonely", "main.cpp", 1, 1);
  Measurement measurement = read_back(builder);
  ASSERT_EQ(measurement.symbols.size(), 1u);
  const auto& levels = measurement.symbols.at({"/bin/app", 0x40});
  ASSERT_EQ(levels.size(), 2u) << "the repeated level counts once";
  EXPECT_EQ(levels[0].function, "main");
  EXPECT_EQ(levels[1].at, (SourceLocation{"inline.h", 3}));
  EXPECT_TRUE(mentions(measurement.warnings, "run.fathom", "without the level outside"));
}

TEST(Measurement, PassesTheCollectorsMessagesOn) {
  MeasurementBuilder builder;
  builder.add_process().message(record::Severity::error, "no counters", "ask the administrator");
  std::vector<Warning> warnings;
  Process process = only_process(builder, &warnings);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_EQ(warnings[0].severity, WarningSeverity::error);
  EXPECT_EQ(warnings[0].what, "no counters");
  EXPECT_EQ(warnings[0].hint, "ask the administrator");
  EXPECT_EQ(warnings[0].where, "process " + std::to_string(process.pid) + " on node1");
}

TEST(Measurement, HoldsIntactBinariesOnly) {
  MeasurementBuilder builder;
  std::string good = builder.add_binary("good"), bad = builder.add_binary("bad");
  std::string gone = builder.add_binary("gone");
  builder.add_disassembly(good, "nvdisasm 13.0", "NOP ;");
  ProcessBuilder& process = builder.add_process();
  for (const std::string& sha256 : {good, bad, gone}) process.loaded(sha256, 1);
  auto files = builder.files();
  files["gpubins/" + bad + ".cubin"] = "changed";
  files.erase("gpubins/" + gone + ".cubin");
  TemporaryDirectory directory;
  testing::write_files(directory.path(), files);
  Measurement measurement = read_or_die(directory.path());
  ASSERT_EQ(measurement.binaries.size(), 1u);
  const StoredBinary& binary = measurement.binaries.at(good);
  EXPECT_EQ(binary.path, directory.path() + "/gpubins/" + good + ".cubin");
  EXPECT_EQ(as_text(*binary.bytes), "good");
  EXPECT_EQ(binary.disassembly, "NOP ;");
  EXPECT_EQ(binary.disassembly_tool, "nvdisasm 13.0");
  EXPECT_EQ(measurement.warnings.size(), 2u);
  EXPECT_TRUE(mentions(measurement.warnings, bad, "damaged"));
  EXPECT_TRUE(mentions(measurement.warnings, gone, "missing"));
}

TEST(Measurement, RefusesTheDisassemblyOfAnotherBinary) {
  MeasurementBuilder builder;
  builder.add_process();
  std::string one = builder.add_binary("one"), two = builder.add_binary("two");
  builder.add_disassembly(one, "tool", "text");
  auto files = builder.files();
  files["gpubins/" + two + ".fathom"] = files["gpubins/" + one + ".fathom"];
  TemporaryDirectory directory;
  testing::write_files(directory.path(), files);
  Measurement measurement = read_or_die(directory.path());
  EXPECT_EQ(measurement.binaries.at(one).disassembly, "text");
  EXPECT_EQ(measurement.binaries.at(two).disassembly, "");
  EXPECT_TRUE(mentions(measurement.warnings, two, "another binary"));
}

TEST(Measurement, SaysWhatMissingEndsMean) {
  MeasurementBuilder builder;
  builder.add_process().killed();
  builder.unfinished();
  Measurement measurement = read_back(builder);
  EXPECT_FALSE(measurement.run.finished);
  EXPECT_FALSE(measurement.processes.at(0).ended);
  EXPECT_TRUE(mentions(measurement.warnings, "run.fathom", "end of the run was not recorded"));
  EXPECT_TRUE(mentions(measurement.warnings, measurement.processes[0].folder, "killed"));
}

TEST(Measurement, DoesWithoutTheFilesOfRunAndProcess) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  process.kernel("kernel", 1, 2);
  auto files = builder.files();
  files.erase("run.fathom");
  files.erase(process.folder() + "/process.fathom");
  TemporaryDirectory directory;
  testing::write_files(directory.path(), files);
  Measurement measurement = read_or_die(directory.path());
  EXPECT_EQ(measurement.processes.at(0).operations.size(), 1u);
  EXPECT_EQ(measurement.processes[0].host, "node1") << "from the folder's name";
  EXPECT_EQ(measurement.processes[0].pid, 4711u);
  EXPECT_TRUE(mentions(measurement.warnings, "run.fathom", "missing"));
  EXPECT_TRUE(mentions(measurement.warnings, process.folder(), "start was not recorded"));
}

TEST(Measurement, ReadsRecordsWhoseReferencesComeLaterInTheFile) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  auto& thread = process.file("thread-1.fathom");
  thread.add(ChunkType::api_call, record::ApiCall{8, 3, record::ApiKind::copy, 1, 0});
  thread.add(ChunkType::call_path_node, record::CallPathNode{3, kNone, kNone, 0, 0x99});
  auto& gpu = process.file("gpu.fathom");
  record::Kernel kernel{};
  kernel.name = 5;
  gpu.add(ChunkType::kernel, kernel);
  gpu.add(ChunkType::string, record::String{5}, {"afterwards"});
  std::vector<Warning> warnings;
  Process read = only_process(builder, &warnings);
  EXPECT_EQ(read.operations.at(0).name, "afterwards");
  EXPECT_EQ(read.call_paths.at(read.calls.at(8).call_path).address, 0x99u);
  EXPECT_TRUE(warnings.empty());
}

/// Each makes one bad record beside a good one.
struct BadRecord {
  const char* what;  ///< part of the warning
  void (*make)(ProcessBuilder&);
};
class BadRecords : public ::testing::TestWithParam<BadRecord> {};

TEST_P(BadRecords, CostThemselvesAndAWarningOnly) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  process.module("/bin/app");
  process.context(process.h200());
  auto& thread = process.thread(1);
  thread.call(1, thread.frame(kNone, 0, 0x10));
  process.kernel("good", 100, 200);
  process.pc_sample(1, "good", 0, "stalled_wait", 5);
  process.sampling(5);
  GetParam().make(process);
  std::vector<Warning> warnings;
  Process read = only_process(builder, &warnings);
  EXPECT_EQ(read.modules.size(), 1u);
  EXPECT_EQ(read.devices.size(), 1u);
  EXPECT_EQ(read.call_paths.size(), 1u);
  EXPECT_EQ(read.calls.size(), 1u);
  EXPECT_EQ(read.operations.size(), 1u);
  EXPECT_EQ(read.samples.size(), 1u);
  EXPECT_EQ(read.sampling.total, 5u);
  EXPECT_TRUE(read.ended);
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].what.find(GetParam().what), std::string::npos) << warnings[0].what;
  EXPECT_NE(warnings[0].where.find(process.folder() + "/"), std::string::npos);
  EXPECT_NE(warnings[0].where.find("byte "), std::string::npos);
}

constexpr BadRecord kBadRecords[] = {
    {"second start",
     [](ProcessBuilder& p) {
       p.file("process.fathom").add(ChunkType::process_start, record::ProcessStart{}, {"", "", ""});
     }},
    {"kind of end",
     [](ProcessBuilder& p) {
       p.file("process.fathom")
           .add(ChunkType::process_end, record::ProcessEnd{0, record::EndReason(9), 0});
     }},
    {"module that ends before", [](ProcessBuilder& p) { p.module("/bad", 2, 1); }},
    {"module with the id",
     [](ProcessBuilder& p) {
       p.file("process.fathom").add(ChunkType::load_module, record::LoadModule{}, {"/again", ""});
     }},
    {"device with the id",
     [](ProcessBuilder& p) {
       p.file("process.fathom").add(ChunkType::device, record::Device{}, {"again"});
     }},
    {"GPU context",
     [](ProcessBuilder& p) {
       p.file("process.fathom").add(ChunkType::gpu_context, record::GpuContext{1, 5});
     }},
    {"severity", [](ProcessBuilder& p) { p.message(record::Severity(3), "what", "hint"); }},
    {"string with the id",
     [](ProcessBuilder& p) {
       p.file("gpu.fathom").add(ChunkType::string, record::String{0}, {"again"});
     }},
    {"parent did not come before", [](ProcessBuilder& p) { p.thread(1).frame(1, 0, 0x20); }},
    {"node with the id",
     [](ProcessBuilder& p) {
       p.file("thread-1.fathom")
           .add(ChunkType::call_path_node, record::CallPathNode{0, kNone, 0, 0, 0});
     }},
    {"call of an unknown kind",
     [](ProcessBuilder& p) { p.thread(1).call(2, 0, record::ApiKind(0)); }},
    {"ends before it starts", [](ProcessBuilder& p) { p.kernel("bad", 9, 8); }},
    {"argument of an impossible size",
     [](ProcessBuilder& p) {
       p.argument("k", {1, 0, 0, 0, 0, 9, 0});
     }},
    {"unknown kind",
     [](ProcessBuilder& p) {
       p.copy({1, 2, 0, 0, 0, 1, 0, uint32_t(kCopyKindCount), kNone});
     }},
    {"unknown kind",
     [](ProcessBuilder& p) {
       p.memory_set({1, 2, 0, 0, 0, 1, 0, uint32_t(kMemoryKindCount), 0, kNone, 0});
     }},
    {"unknown kind",
     [](ProcessBuilder& p) {
       p.memory_operation({1, 0, 0, 0, 0, 1, 0, 0, 2});
     }},
    {"unknown kind",
     [](ProcessBuilder& p) {
       p.synchronization({1, 2, 0, 1, 0, uint32_t(kSyncKindCount)});
     }},
    {"two names",
     [](ProcessBuilder& p) {
       p.file("gpu.fathom").add(ChunkType::stall_reason, record::StallReasonName{0}, {"other"});
     }},
    {"impossible sampling period", [](ProcessBuilder& p) { p.sampling(7, 0, 0, 64); }},
    {"unknown sampling mode",
     [](ProcessBuilder& p) { p.sampling(7, 0, 0, 12, record::SamplingMode(3)); }},
    {"no multiple", [](ProcessBuilder& p) { p.file("gpu.fathom").add(ChunkType::pc_sample, 'x'); }},
    {"leaves its chunk",
     [](ProcessBuilder& p) {
       p.file("gpu.fathom")
           .add(ChunkType::stall_reason, record::StallReasonName{9});  // no string follows
     }},
    {"type that is unknown", [](ProcessBuilder& p) { p.file("gpu.fathom").add(ChunkType(77), 0); }},
    {"type that is unknown",
     [](ProcessBuilder& p) { p.file("gpu.fathom").add(ChunkType::run_end, record::RunEnd{}); }},
};
INSTANTIATE_TEST_SUITE_P(Measurement, BadRecords, ::testing::ValuesIn(kBadRecords));

TEST(Measurement, KeepsRecordsWhoseReferencesAreLost) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  auto& thread = process.thread(1);
  thread.call(1, 12345);
  thread.call(2, thread.frame(kNone, 99, 0x10));
  record::Kernel kernel{};
  kernel.end_ns = 1, kernel.name = 99;
  process.file("gpu.fathom").add(ChunkType::kernel, kernel);
  process.file("gpu.fathom")
      .add(ChunkType::pc_sample, record::PcSample{1, 0, 99, 0, 44, 6, 0, kNone});
  std::vector<Warning> warnings;
  Process read = only_process(builder, &warnings);
  EXPECT_EQ(read.calls.at(1).call_path, kNoId);
  EXPECT_EQ(read.call_paths.at(read.calls.at(2).call_path).module, kNoId);
  EXPECT_EQ(read.operations.at(0).name, "<unknown>");
  EXPECT_EQ(read.names.at(read.samples.at(0).function), "<unknown>");
  EXPECT_EQ(read.stall_reasons.at(44), "<unknown>");
  EXPECT_TRUE(mentions(warnings, "thread-1.fathom", "call path is not in the file"));
  EXPECT_TRUE(mentions(warnings, "thread-1.fathom", "unknown module"));
  EXPECT_TRUE(mentions(warnings, "gpu.fathom", "a name that is not in the file"));
  EXPECT_TRUE(mentions(warnings, process.folder(), "stall reason of 6 samples"));
}

TEST(Measurement, SaysTheSameThingOnceForAMillionRecords) {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  for (int i = 0; i < 1'000'000; ++i) process.thread(1).call(i, kNone, record::ApiKind(99));
  std::vector<Warning> warnings;
  EXPECT_TRUE(only_process(builder, &warnings).calls.empty());
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].what.find("1,000,000 times"), std::string::npos);
  EXPECT_NE(warnings[0].where.find("first at byte 16"), std::string::npos);
}

TEST(Measurement, RefusesWhatIsNoMeasurementAndSaysWhatOneIs) {
  TemporaryDirectory directory;
  std::string nowhere = directory.path() + "/nowhere";
  Result<Measurement> missing = read_measurement(nowhere);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(missing.error().where, nowhere);
  EXPECT_NE(missing.error().hint.find("fathom record"), std::string::npos);
  testing::write_files(directory.path(), {{"run.fathom", "no chunk"}, {"sub/notes.txt", "text"}});
  Result<Measurement> other = read_measurement(directory.path());
  ASSERT_FALSE(other.ok());
  EXPECT_NE(other.error().what.find("not a measurement directory"), std::string::npos);
  EXPECT_NE(other.error().hint.find("fathom record"), std::string::npos);
}

TEST(Measurement, DoesNotWaitForAPipe) {
  MeasurementBuilder builder;
  std::string folder = builder.add_process().folder();
  TemporaryDirectory directory;
  builder.write(directory.path());
  ASSERT_EQ(mkfifo((directory.path() + "/" + folder + "/thread-1.fathom").c_str(), 0600), 0);
  Measurement measurement = read_or_die(directory.path());
  EXPECT_TRUE(mentions(measurement.warnings, "thread-1.fathom", "not a regular file"));
}

TEST(DisassemblyStore, KeepsADisassemblyForTheNextReader) {
  MeasurementBuilder builder;
  builder.add_process();
  std::string sha256 = builder.add_binary("a binary");
  TemporaryDirectory directory;
  builder.write(directory.path());
  for (std::string text : {"first", "MOV R1, c[0x0][0x28] ;\nEXIT ;\n"}) {
    Result<Done> stored = store_disassembly(directory.path(), sha256, {"nvdisasm 13.0.85", text});
    ASSERT_TRUE(stored.ok()) << stored.error().message();
    const StoredBinary binary = read_or_die(directory.path()).binaries.at(sha256);
    EXPECT_EQ(binary.disassembly, text);
    EXPECT_EQ(binary.disassembly_tool, "nvdisasm 13.0.85");
  }
  EXPECT_EQ(list_directory(directory.path() + "/gpubins").value().size(), 2u)
      << "nothing temporary stays";
}

TEST(DisassemblyStore, RefusesWhatItCannotKeep) {
  TemporaryDirectory directory;
  std::string sha256(64, 'a');
  EXPECT_FALSE(store_disassembly(directory.path(), "../../etc/passwd", {"tool", "text"}).ok());
  EXPECT_FALSE(store_disassembly(directory.path(), std::string(64, 'X'), {"tool", "text"}).ok());
  Result<Done> no_folder = store_disassembly(directory.path(), sha256, {"tool", "text"});
  ASSERT_FALSE(no_folder.ok());
  EXPECT_NE(no_folder.error().where.find("gpubins"), std::string::npos);
  std::string long_text(record::kMaxChunkPayload, ' ');
  Result<Done> too_long = store_disassembly(directory.path(), sha256, {"tool", long_text});
  ASSERT_FALSE(too_long.ok());
  EXPECT_NE(too_long.error().what.find("too long"), std::string::npos);
}

}  // namespace
}  // namespace fathom
