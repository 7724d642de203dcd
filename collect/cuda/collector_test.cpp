// Runs programs against the test double of CUPTI and reads back what the collector recorded.

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

#include "cuda/fake/fake_cupti.h"
#include "record/test_reader.h"

namespace fathom::record {
namespace {

using Variables = std::map<std::string, std::string>;

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> out;
  DIR* directory = opendir(folder.c_str());
  if (directory == nullptr) return out;
  while (const dirent* entry = readdir(directory))
    if (entry->d_name[0] != '.') out.emplace_back(entry->d_name);
  closedir(directory);
  std::sort(out.begin(), out.end());
  return out;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// What a process left in its folder.
struct Recording {
  std::vector<TextRecord<ProcessStart>> starts;
  std::vector<ProcessEnd> ends;
  std::vector<TextRecord<LoadModule>> modules;
  std::vector<TextRecord<Message>> messages;
  std::vector<GpuBinary> binaries;
  std::vector<GpuContext> contexts;
  std::vector<TextRecord<Device>> devices;
  std::vector<CallPathNode> nodes;  ///< of the last thread file, by id
  std::vector<ApiCall> calls;       ///< of all threads
  std::vector<Synchronization> waits;
  std::vector<KernelArgument> arguments;
  std::vector<LaunchArguments> launches;  ///< of all threads
  std::vector<Kernel> kernels;
  std::vector<PcSample> samples;
  std::vector<SamplingSummary> summaries;
  std::vector<TextRecord<String>> strings;
  TestFile gpu;
  size_t threads = 0, left_over = 0;

  explicit Recording(const std::string& folder) {
    const TestFile process = read_chunks(folder + "/process.fathom");
    left_over += process.left_over;
    starts = text_records<ProcessStart>(process, ChunkType::process_start, 3);
    ends = records<ProcessEnd>(process, ChunkType::process_end);
    modules = text_records<LoadModule>(process, ChunkType::load_module, 2);
    messages = text_records<Message>(process, ChunkType::message, 2);
    binaries = records<GpuBinary>(process, ChunkType::gpu_binary);
    contexts = records<GpuContext>(process, ChunkType::gpu_context);
    devices = text_records<Device>(process, ChunkType::device, 1);
    gpu = read_chunks(folder + "/gpu.fathom");
    left_over += gpu.left_over;
    kernels = records<Kernel>(gpu, ChunkType::kernel);
    samples = records<PcSample>(gpu, ChunkType::pc_sample);
    arguments = records<KernelArgument>(gpu, ChunkType::kernel_argument);
    summaries = records<SamplingSummary>(gpu, ChunkType::sampling_summary);
    strings = text_records<String>(gpu, ChunkType::string, 1);
    for (const auto& name : names_in(folder)) {
      if (name.rfind("thread-", 0) != 0) continue;
      ++threads;
      const TestFile file = read_chunks(folder + "/" + name);
      left_over += file.left_over;
      nodes = records<CallPathNode>(file, ChunkType::call_path_node);
      for (const auto& wait : records<Synchronization>(file, ChunkType::synchronization))
        waits.push_back(wait);
      for (const auto& launch : records<LaunchArguments>(file, ChunkType::launch_arguments))
        launches.push_back(launch);
      for (const auto& call : records<ApiCall>(file, ChunkType::api_call)) calls.push_back(call);
    }
  }

  uint64_t sample_count() const {
    uint64_t sum = 0;
    for (const auto& sample : samples) sum += sample.samples;
    return sum;
  }
  std::set<uint32_t> call_ids() const {
    std::set<uint32_t> out;
    for (const auto& call : calls) out.insert(call.correlation);
    return out;
  }
};

class CollectorTest : public testing::Test {
 protected:
  CollectorTest() {
    char pattern[] = "/tmp/fathom-collector-test-XXXXXX";
    directory_ = mkdtemp(pattern);
  }
  ~CollectorTest() override {
    const std::string remove = "chmod -R u+w " + directory_ + " && rm -rf " + directory_;
    if (std::system(remove.c_str()) != 0) ADD_FAILURE() << "cannot remove " << directory_;
  }

  /// Runs the program and returns its wait status; its standard error goes to errors().
  int run(const std::string& scenario, const Variables& more = {}) {
    Variables variables{{"FATHOM_OUTPUT", directory_ + "/out"},
                        {"CUDA_INJECTION64_PATH", FATHOM_CUDA_LIBRARY},
                        {"FATHOM_CUPTI", FAKE_CUPTI_LIBRARY},
                        {"FAKE_DRIVER", FAKE_CUPTI_LIBRARY},
                        {"TSAN_OPTIONS", "die_after_fork=0"},
                        {"LD_PRELOAD", FATHOM_EXIT_LIBRARY},
                        {"ASAN_OPTIONS", "verify_asan_link_order=0:detect_leaks=0"}};
    for (const auto& [name, value] : more) variables[name] = value;
    mkdir((directory_ + "/out").c_str(), 0777);
    const pid_t child = fork();
    if (child == 0) {
      const int file = open((directory_ + "/errors").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
      dup2(file, STDERR_FILENO);
      for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
      execl(FAKE_APP, FAKE_APP, scenario.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  static bool exited_with(int status, int code) {
    return WIFEXITED(status) && WEXITSTATUS(status) == code;
  }

  std::string errors() const { return read_text(directory_ + "/errors"); }
  std::vector<Recording> recordings() const {
    std::vector<Recording> out;
    for (const auto& name : names_in(directory_ + "/out"))
      if (name != "gpubins") out.emplace_back(directory_ + "/out/" + name);
    return out;
  }
  Recording only() const {
    auto all = recordings();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Recording(directory_) : all.front();
  }

  std::string directory_;
};

TEST_F(CollectorTest, RecordsEachKindOfOperationWithItsCall) {
  ASSERT_TRUE(exited_with(run("all"), 0)) << errors();
  EXPECT_EQ(errors(), "");
  const Recording got = only();
  EXPECT_EQ(got.left_over, 0u);
  ASSERT_EQ(got.starts.size(), 1u);
  EXPECT_EQ(got.starts[0].strings[1], FAKE_APP);
  ASSERT_EQ(got.ends.size(), 1u);
  EXPECT_EQ(got.ends[0].reason, EndReason::exit);
  ASSERT_EQ(got.devices.size(), 1u);
  EXPECT_EQ(got.devices[0].strings[0], "Fake GPU");
  EXPECT_EQ(got.devices[0].record.multiprocessors, 132u);
  ASSERT_EQ(got.contexts.size(), 1u);
  EXPECT_EQ(got.contexts[0].id, 1u);

  std::vector<ApiKind> kinds;
  for (const auto& call : got.calls) kinds.push_back(call.kind);
  EXPECT_EQ(kinds,
            (std::vector{ApiKind::allocate, ApiKind::copy, ApiKind::memory_set,
                         ApiKind::kernel_launch, ApiKind::graph_launch, ApiKind::synchronize}));
  ASSERT_EQ(got.kernels.size(), 4u);
  EXPECT_EQ(got.kernels[0].grid[0], 4u);
  EXPECT_EQ(got.kernels[0].block[0], 128u);
  EXPECT_EQ(got.kernels[0].cluster[0], 2u);
  EXPECT_EQ(got.kernels[0].registers_per_thread, 42u);
  EXPECT_EQ(got.kernels[0].graph, kNone);
  EXPECT_EQ(got.strings.at(got.kernels[0].name).strings[0], "_Z6kernelv");
  for (const auto& kernel : got.kernels) EXPECT_EQ(got.call_ids().count(kernel.correlation), 1u);

  const auto copies = records<Copy>(got.gpu, ChunkType::copy);
  ASSERT_EQ(copies.size(), 1u);
  EXPECT_EQ(copies[0].bytes, 4096u);
  EXPECT_EQ(copies[0].kind, 1u);
  const auto sets = records<MemorySet>(got.gpu, ChunkType::memory_set);
  ASSERT_EQ(sets.size(), 1u);
  EXPECT_EQ(sets[0].value, 0xabu);
  EXPECT_EQ(sets[0].memory_kind, 3u);
  const auto memory = records<MemoryOperation>(got.gpu, ChunkType::memory_operation);
  ASSERT_EQ(memory.size(), 1u);
  EXPECT_EQ(memory[0].address, 0x1000u);
  EXPECT_EQ(memory[0].is_release, 0u);
  ASSERT_EQ(got.waits.size(), 1u);
  EXPECT_EQ(got.waits[0].kind, 4u);
  EXPECT_GE(got.waits[0].end_ns, got.waits[0].start_ns);
  const auto call = std::find_if(got.calls.begin(), got.calls.end(), [](const ApiCall& one) {
    return one.kind == ApiKind::synchronize;
  });
  ASSERT_NE(call, got.calls.end());
  EXPECT_EQ(got.waits[0].correlation, call->correlation);
  EXPECT_EQ(got.waits[0].start_ns, call->gpu_time_ns);
}

TEST_F(CollectorTest, KeepsEachSetOfArgumentsOnceAndSaysWhichALaunchHad) {
  const std::string cubin =
      std::string(FATHOM_SOURCE_DIR) + "/tests/fixtures/ptx/kernels.sm_90.cubin";
  ASSERT_TRUE(exited_with(run("arguments", {{"FAKE_CUBIN", cubin}}), 0)) << errors();
  EXPECT_EQ(errors(), "");
  const Recording got = only();
  EXPECT_EQ(got.kernels.size(), 208u);
  std::map<uint32_t, uint32_t> sets;  // by correlation
  for (const LaunchArguments& launch : got.launches) sets[launch.correlation] = launch.set;
  for (uint32_t one : {1u, 3u, 5u, 6u}) EXPECT_EQ(sets.at(one), 0u) << one;
  for (uint32_t other : {2u, 4u}) EXPECT_EQ(sets.at(other), 1u) << other;
  for (uint32_t none : {7u, 8u}) EXPECT_EQ(sets.count(none), 0u) << none;
  EXPECT_EQ(sets.size(), 6u + 62u) << "64 sets of a kernel, and no more";
  ASSERT_EQ(got.arguments.size(), 64u * 4);
  const uint32_t bits = 0x40200000;  // 2.5f
  const KernelArgument expected[] = {{0x7f0000001000, 0, 0, 0, 0, 8, 0},
                                     {0x7f0000002000, 0, 0, 1, 8, 8, 0},
                                     {bits, 0, 0, 2, 16, 4, 0},
                                     {4096, 0, 0, 3, 20, 4, 0}};
  for (size_t i = 0; i < 4; ++i) {
    const KernelArgument& argument = got.arguments[i];
    EXPECT_EQ(argument.value, expected[i].value) << i;
    EXPECT_EQ(argument.set, 0u) << i;
    EXPECT_EQ(argument.position, expected[i].position) << i;
    EXPECT_EQ(argument.offset, expected[i].offset) << i;
    EXPECT_EQ(argument.bytes, expected[i].bytes) << i;
    EXPECT_EQ(got.strings.at(argument.name).strings[0], "saxpy");
  }
}

TEST_F(CollectorTest, KernelsOfAGraphShareTheLaunchsCorrelation) {
  ASSERT_TRUE(exited_with(run("all"), 0));
  const Recording got = only();
  const auto launch = std::find_if(got.calls.begin(), got.calls.end(), [](const ApiCall& call) {
    return call.kind == ApiKind::graph_launch;
  });
  ASSERT_NE(launch, got.calls.end());
  EXPECT_EQ(std::count_if(got.kernels.begin(), got.kernels.end(),
                          [&](const Kernel& kernel) {
                            return kernel.correlation == launch->correlation && kernel.graph == 5;
                          }),
            3);
}

TEST_F(CollectorTest, CallPathsLeadFromTheLaunchToMain) {
  ASSERT_TRUE(exited_with(run("all"), 0));
  const Recording got = only();
  const auto launch = std::find_if(got.calls.begin(), got.calls.end(), [](const ApiCall& call) {
    return call.kind == ApiKind::kernel_launch;
  });
  ASSERT_NE(launch, got.calls.end());
  size_t depth = 0;
  uint32_t outermost = kNone;
  std::map<uint32_t, std::string> paths;
  for (const auto& module : got.modules) paths[module.record.id] = module.strings[0];
  std::vector<std::string> files;
  for (uint32_t id = launch->call_path; id != kNone; id = got.nodes.at(id).parent) {
    ASSERT_LT(id, got.nodes.size());
    outermost = id;
    files.push_back(paths[got.nodes[id].module]);
    ++depth;
  }
  // fake_launch (in the double's library), inner, outer, use_all, play, main, libc's start, _start.
  EXPECT_GE(depth, 7u);
  EXPECT_EQ(got.nodes[outermost].reserved, 0u) << "the whole stack was walked";
  for (const auto& file : files)
    EXPECT_EQ(file.find("libfathom"), std::string::npos) << "the collector shows itself";
  EXPECT_EQ(files.back(), FAKE_APP);
}

TEST_F(CollectorTest, GivesEachThreadItsOwnFileAndLosesNoLaunch) {
  ASSERT_TRUE(exited_with(run("threads"), 0)) << errors();
  const Recording got = only();
  EXPECT_EQ(got.threads, 8u);
  EXPECT_EQ(got.kernels.size(), 8u * 500);
  EXPECT_EQ(got.call_ids().size(), 8u * 500);
  std::set<uint32_t> streams;
  for (const auto& kernel : got.kernels) streams.insert(kernel.stream);
  EXPECT_EQ(streams.size(), 8u);
}

TEST_F(CollectorTest, CountsEverySampleOnceInContinuousMode) {
  ASSERT_TRUE(exited_with(run("many", {{"FATHOM_CUDA_PC", "continuous"}}), 0)) << errors();
  const Recording got = only();
  const uint64_t taken = 2u * 20000 * kFakeSamplesPerLaunch;
  EXPECT_EQ(got.sample_count(), taken);
  uint64_t total = 0;
  for (const auto& summary : got.summaries) {
    total += summary.total_samples;
    EXPECT_EQ(summary.period_log2, 15u);
    EXPECT_EQ(summary.mode, SamplingMode::continuous);
  }
  EXPECT_EQ(total, taken);
  for (const auto& sample : got.samples) {
    EXPECT_EQ(sample.correlation, 0u);
    EXPECT_EQ(sample.crc, kFakeCrc);
    EXPECT_EQ(sample.function_index, 7u);
  }
  EXPECT_EQ(text_records<StallReasonName>(got.gpu, ChunkType::stall_reason, 1).size(), 3u);
  EXPECT_LT(got.samples.size(), 2000u) << "identical samples are added up";
}

TEST_F(CollectorTest, KeepsTheLaunchOfEachSampleInSerializedMode) {
  ASSERT_TRUE(exited_with(
      run("threads", {{"FATHOM_CUDA_PC", "serialized"}, {"FATHOM_CUDA_PERIOD", "12"}}), 0));
  const Recording got = only();
  std::set<uint32_t> correlations;
  for (const auto& sample : got.samples) correlations.insert(sample.correlation);
  EXPECT_EQ(correlations, got.call_ids());
  ASSERT_FALSE(got.summaries.empty());
  EXPECT_EQ(got.summaries[0].period_log2, 12u);
  EXPECT_EQ(got.summaries[0].mode, SamplingMode::serialized);
}

TEST_F(CollectorTest, StoresEachGpuBinaryOnceUnderItsHash) {
  ASSERT_TRUE(exited_with(run("modules", {{"FATHOM_CUDA_PC", "continuous"}}), 0)) << errors();
  ASSERT_TRUE(exited_with(run("modules"), 0)) << errors();
  const auto files = names_in(directory_ + "/out/gpubins");
  EXPECT_EQ(files.size(), 19u);
  for (const auto& file : files) {
    EXPECT_EQ(file.size(), 64 + std::string(".cubin").size()) << file;
    const std::string sum = "cd " + directory_ + "/out/gpubins && echo " + file.substr(0, 64) +
                            "  " + file + " | sha256sum --check --quiet";
    EXPECT_EQ(std::system(sum.c_str()), 0) << file;
  }
  for (const auto& got : recordings()) {
    EXPECT_EQ(got.binaries.size(), 19u);
    EXPECT_EQ(got.binaries[0].crc, kFakeCrc);
  }
}

TEST_F(CollectorTest, FetchesTheSamplesOfAContextThatIsDestroyed) {
  ASSERT_TRUE(exited_with(run("destroy", {{"FATHOM_CUDA_PC", "continuous"}}), 0)) << errors();
  const Recording got = only();
  std::map<uint32_t, uint64_t> by_context;
  for (const auto& sample : got.samples) by_context[sample.context] += sample.samples;
  EXPECT_EQ(by_context,
            (std::map<uint32_t, uint64_t>{{1, kFakeSamplesPerLaunch}, {2, kFakeSamplesPerLaunch}}));
}

TEST_F(CollectorTest, AForkedChildWritesNothing) {
  ASSERT_TRUE(exited_with(run("fork"), 0)) << errors();
  const Recording got = only();
  EXPECT_EQ(got.left_over, 0u);
  EXPECT_EQ(got.calls.size(), 2u);
  EXPECT_EQ(got.kernels.size(), 2u);
  EXPECT_EQ(got.ends.size(), 1u);
}

TEST_F(CollectorTest, AProgramStartedByTheChildIsMeasuredOnItsOwn) {
  ASSERT_TRUE(exited_with(run("fork_exec"), 0)) << errors();
  const auto all = recordings();
  ASSERT_EQ(all.size(), 2u);
  std::multiset<size_t> kernels;
  for (const auto& one : all) {
    kernels.insert(one.kernels.size());
    EXPECT_EQ(one.ends.size(), 1u);
  }
  EXPECT_EQ(kernels, (std::multiset<size_t>{1, 4}));
}

TEST_F(CollectorTest, NothingIsLostWhenTheProgramReplacesItself) {
  ASSERT_TRUE(exited_with(run("exec"), 0)) << errors();
  const auto all = recordings();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].kernels.size() + all[1].kernels.size(), 5u);
  EXPECT_EQ(all[0].calls.size() + all[1].calls.size(), 7u);
}

TEST_F(CollectorTest, GoesOnAfterAFailedExec) {
  ASSERT_TRUE(exited_with(run("failed_exec"), 0)) << errors();
  EXPECT_EQ(only().kernels.size(), 2u);
}

TEST_F(CollectorTest, SuddenEndsLoseNothingAndKeepTheirStatus) {
  ASSERT_TRUE(exited_with(run("_exit"), 5));
  ASSERT_TRUE(exited_with(run("quick_exit"), 6));
  const int status = run("abort");
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
  const auto all = recordings();
  ASSERT_EQ(all.size(), 3u);
  std::multiset<EndReason> reasons;
  for (const auto& one : all) {
    EXPECT_EQ(one.kernels.size(), 1u);
    EXPECT_EQ(one.calls.size(), 1u);
    ASSERT_EQ(one.ends.size(), 1u);
    reasons.insert(one.ends[0].reason);
  }
  EXPECT_EQ(reasons, (std::multiset{EndReason::exit, EndReason::quick_exit, EndReason::abort}));
}

TEST_F(CollectorTest, AKilledProgramLeavesWholeChunksOfAllButTheLastSecond) {
  const int status = run("kill", {{"FATHOM_CUDA_PC", "continuous"}});
  ASSERT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
  const Recording got = only();
  EXPECT_EQ(got.left_over, 0u);
  EXPECT_EQ(got.ends.size(), 0u);
  EXPECT_GE(got.kernels.size(), 1u);
  EXPECT_GE(got.calls.size(), 1u);
  EXPECT_EQ(got.devices.size(), 1u);
}

TEST_F(CollectorTest, AHangingDriverCannotHoldTheProgramBack) {
  ASSERT_TRUE(exited_with(run("hang", {{"FAKE_CUPTI_HANG", "1"}}), 0));
}

TEST_F(CollectorTest, LeavesErrnoAlone) {
  ASSERT_TRUE(exited_with(run("errno", {{"FATHOM_CUDA_PC", "continuous"}}), 0)) << errors();
}

/// One line, with what was wrong and what to do, and a Message record that says the same.
void expect_one_line(const std::string& text, const std::string& part) {
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_EQ(text.rfind("fathom: ", 0), 0u) << text;
  EXPECT_NE(text.find(part), std::string::npos) << text;
  EXPECT_NE(text.find("; "), std::string::npos) << text;
}

TEST_F(CollectorTest, SaysWhatToDoAboutMissingPermissionAndStillTimesKernels) {
  ASSERT_TRUE(exited_with(
      run("all", {{"FATHOM_CUDA_PC", "continuous"}, {"FAKE_CUPTI_SAMPLING", "35"}}), 0));
  expect_one_line(errors(), "NVreg_RestrictProfilingToAdminUsers=0");
  const Recording got = only();
  EXPECT_EQ(got.kernels.size(), 4u);
  ASSERT_EQ(got.messages.size(), 1u);
  EXPECT_EQ(got.messages[0].record.vendor_code, 35u);
  EXPECT_EQ(got.messages[0].record.severity, Severity::error);
}

TEST_F(CollectorTest, SaysThatAnotherToolListensAlready) {
  ASSERT_TRUE(exited_with(run("all", {{"FAKE_CUPTI_SUBSCRIBE", "39"}}), 0));
  expect_one_line(errors(), "another profiler");
  const Recording got = only();
  EXPECT_EQ(got.kernels.size(), 0u);
  EXPECT_EQ(got.messages.size(), 1u);
  EXPECT_EQ(got.ends.size(), 1u);
}

TEST_F(CollectorTest, SaysThatCuptiDoesNotFitTheDriver) {
  ASSERT_TRUE(exited_with(run("all", {{"FAKE_CUPTI_ACTIVITY", "14"}}), 0));
  expect_one_line(errors(), "update the driver");
  EXPECT_EQ(only().calls.size(), 6u) << "calls are recorded nevertheless";
}

TEST_F(CollectorTest, SaysThatCuptiIsMissing) {
  ASSERT_TRUE(exited_with(run("all", {{"FATHOM_CUPTI", "/nonexistent/libcupti.so"}}), 0));
  expect_one_line(errors(), "/nonexistent/libcupti.so");
  EXPECT_EQ(only().messages.size(), 1u);
}

TEST_F(CollectorTest, SaysThatSamplesWereLostWhenTheBufferIsFull) {
  ASSERT_TRUE(
      exited_with(run("all", {{"FATHOM_CUDA_PC", "continuous"}, {"FAKE_CUPTI_FULL", "1"}}), 0));
  expect_one_line(errors(), "larger K");
  const Recording got = only();
  EXPECT_TRUE(std::any_of(got.summaries.begin(), got.summaries.end(),
                          [](const auto& summary) { return summary.hardware_buffer_full != 0; }));
}

TEST_F(CollectorTest, RunsOnUnmeasuredWhereNothingCanBeWritten) {
  ASSERT_TRUE(exited_with(run("all", {{"FATHOM_OUTPUT", "/proc/nothing"}}), 0));
  expect_one_line(errors(), "/proc/nothing");
}

TEST_F(CollectorTest, DoesNothingUnlessAsked) {
  ASSERT_TRUE(exited_with(run("all", {{"FATHOM_OUTPUT", ""}}), 0));
  EXPECT_EQ(errors(), "");
  EXPECT_TRUE(recordings().empty());
}

}  // namespace
}  // namespace fathom::record
