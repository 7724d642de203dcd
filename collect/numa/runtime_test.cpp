// Runs a program under the runtime, and reads back what was recorded.

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sstream>

#include "record/test_reader.h"

namespace fathom::record {
namespace {

using Variables = std::map<std::string, std::string>;
using Limits = std::map<decltype(RLIMIT_AS), rlim_t>;

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

/// The last snapshot of a process.
struct Recording {
  std::vector<NumaSnapshot> snapshots;
  std::vector<NumaModule> modules;
  std::vector<NumaThread> threads;
  std::vector<NumaObject> objects;
  std::vector<NumaPage> pages;
  std::vector<NumaPageThread> page_threads;
  std::vector<NumaLine> lines;
  std::vector<NumaLineThread> line_threads;
  std::vector<NumaPlace> places;
  std::vector<CallPathNode> nodes;
  std::vector<ProcessEnd> ends;
  size_t left_over = 0, records = 0;

  explicit Recording(const std::string& folder) {
    TestFile file = read_chunks(folder + "/numa.fathom");
    left_over = file.left_over;
    nodes = fathom::record::records<CallPathNode>(file, ChunkType::call_path_node);
    snapshots = fathom::record::records<NumaSnapshot>(file, ChunkType::numa_snapshot);
    ends = fathom::record::records<ProcessEnd>(read_chunks(folder + "/process.fathom"),
                                               ChunkType::process_end);
    const auto is_end = [](const TestChunk& chunk) {
      return chunk.type == ChunkType::numa_snapshot;
    };
    auto& chunks = file.chunks;
    const auto last = std::find_if(chunks.rbegin(), chunks.rend(), is_end);
    const auto before =
        last == chunks.rend() ? last : std::find_if(last + 1, chunks.rend(), is_end);
    chunks.erase(last.base(), chunks.end());
    chunks.erase(chunks.begin(), before.base());
    take(file, ChunkType::numa_module, modules);
    take(file, ChunkType::numa_thread, threads);
    take(file, ChunkType::numa_object, objects);
    take(file, ChunkType::numa_page, pages);
    take(file, ChunkType::numa_page_thread, page_threads);
    take(file, ChunkType::numa_line, lines);
    take(file, ChunkType::numa_line_thread, line_threads);
    take(file, ChunkType::numa_place, places);
  }
  template <class T>
  void take(const TestFile& file, ChunkType type, std::vector<T>& out) {
    out = fathom::record::records<T>(file, type);
    records += out.size();
  }

  /// All records of the page at an address, added up.
  NumaPage page(uint64_t address) const {
    NumaPage out{};
    for (const auto& page : pages)
      if (page.address == address) out = page;
    return out;
  }
  NumaPageThread page_thread(uint64_t address, uint32_t thread) const {
    for (const auto& one : page_threads)
      if (pages.at(one.page).address == address && one.thread == thread) return one;
    return {};
  }
  const NumaLine* line(uint64_t address) const {
    for (const auto& line : lines)
      if (line.address == address) return &line;
    return nullptr;
  }
  const NumaObject* object(uint32_t id) const {
    for (const auto& object : objects)
      if (object.id == id) return &object;
    return nullptr;
  }
  /// Accesses to a word of a module's data or the heap, by all threads.
  uint64_t writes_to(uint64_t address) const {
    uint64_t sum = 0;
    for (const auto& page : pages)
      if (page.address == address / 4096 * 4096) sum += page.writes;
    return sum;
  }
};

constexpr rlim_t kLittle = rlim_t(200) << 20;

class RuntimeTest : public testing::Test {
 protected:
  RuntimeTest() {
    char pattern[] = "/tmp/fathom-numa-test-XXXXXX";
    directory_ = mkdtemp(pattern);
  }
  ~RuntimeTest() override {
    const std::string remove = "rm -rf " + directory_;
    if (std::system(remove.c_str()) != 0) ADD_FAILURE() << "cannot remove " << directory_;
  }

  /// Runs the program and returns its wait status.
  int run(const std::string& scenario, const Variables& more = {}, const Limits& limits = {}) {
    Variables variables{{"FATHOM_NUMA", "1"},
                        {"FATHOM_OUTPUT", directory_ + "/out"},
                        {"FATHOM_NUMA_PAGE_THRESHOLD", "0"},
                        {"FATHOM_NUMA_LINE_THRESHOLD", "0"},
                        {"LD_PRELOAD", FATHOM_EXIT_LIBRARY}};
    for (const auto& [name, value] : more) variables[name] = value;
    mkdir((directory_ + "/out").c_str(), 0777);
    const pid_t child = fork();
    if (child == 0) {
      redirect(STDOUT_FILENO, "/told");
      redirect(STDERR_FILENO, "/errors");
      for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
      for (const auto& [resource, most] : limits) {
        const rlimit limit{most, most};
        setrlimit(resource, &limit);
      }
      execl(NUMA_TEST_PROGRAM, NUMA_TEST_PROGRAM, scenario.c_str(), static_cast<char*>(nullptr));
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return status;
  }
  void redirect(int descriptor, const std::string& name) const {
    dup2(open((directory_ + name).c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666), descriptor);
  }
  std::string text(const std::string& name) const {
    std::ifstream in(directory_ + name);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// An address that the program told.
  uint64_t told(const std::string& name) const {
    std::istringstream in(text("/told"));
    std::string word;
    uint64_t address = 0, out = 0;
    while (in >> word >> std::hex >> address)
      if (word == name) out = address;
    return out;
  }
  std::vector<Recording> recordings() const {
    std::vector<Recording> out;
    for (const auto& name : names_in(directory_ + "/out"))
      out.emplace_back(directory_ + "/out/" + name);
    return out;
  }
  Recording only() const {
    auto all = recordings();
    EXPECT_EQ(all.size(), 1u);
    return all.empty() ? Recording(directory_) : all.front();
  }
  void expect_good(int status) const { EXPECT_EQ(status, 0) << text("/errors"); }

  std::string directory_;
};

TEST_F(RuntimeTest, CountsAreExactByThreadAndPage) {
  expect_good(run("exact"));
  const Recording all = only();
  const uint64_t array = told("array");
  ASSERT_EQ(all.threads.size(), 3u);
  const NumaPage first = all.page(array), second = all.page(array + 4096);
  EXPECT_EQ(first.first_thread, 0u);
  EXPECT_EQ(first.reads, 1536u);
  EXPECT_EQ(first.writes, 512u);
  EXPECT_EQ(first.remote_reads, 1536u);
  EXPECT_EQ(first.remote_writes, 0u);
  EXPECT_EQ(first.reads_after_last_write, 1536u);
  EXPECT_EQ(first.remote_after_last_write, 1536u);
  EXPECT_EQ(first.threads, 2u);
  EXPECT_EQ(second.reads, 0u);
  EXPECT_EQ(second.writes, 1024u);
  EXPECT_EQ(second.remote_writes, 512u);
  EXPECT_EQ(all.page_thread(array, 1).reads, 1536u);
  EXPECT_EQ(all.page_thread(array + 4096, 0).writes, 512u);
  EXPECT_EQ(all.page_thread(array + 4096, 2).writes, 512u);
  const NumaObject* object = all.object(first.object);
  ASSERT_NE(object, nullptr);
  EXPECT_EQ(object->kind, ObjectKind::heap);
  EXPECT_EQ(object->address, array);
  EXPECT_EQ(object->size, 8192u);
  EXPECT_EQ(object->reads, 1536u);
  EXPECT_EQ(object->writes, 1536u);
  EXPECT_EQ(object->remote_accesses, 2048u);
  EXPECT_NE(object->call_path, kNone);
}

TEST_F(RuntimeTest, TheSnapshotIsWholeAndSaysHowItWasMade) {
  expect_good(
      run("exact", {{"FATHOM_NUMA_PAGE_THRESHOLD", "600"}, {"FATHOM_NUMA_LINE_THRESHOLD", "9"}}));
  const Recording all = only();
  ASSERT_EQ(all.snapshots.size(), 1u);
  const NumaSnapshot& snapshot = all.snapshots.front();
  EXPECT_EQ(all.left_over, 0u);
  EXPECT_EQ(snapshot.records, all.records);
  EXPECT_EQ(snapshot.accesses_not_counted, 0u);
  EXPECT_EQ(snapshot.number, 1u);
  EXPECT_EQ(snapshot.is_last, 1u);
  EXPECT_EQ(snapshot.page_threshold, 600u);
  EXPECT_EQ(snapshot.line_threshold, 9u);
  EXPECT_GE(snapshot.epochs, 3u);
  EXPECT_EQ(all.modules.size(), 1u);
  EXPECT_FALSE(all.places.empty());
  EXPECT_EQ(all.ends.size(), 1u);
  for (const auto& page : all.pages) EXPECT_GE(page.reads + page.writes, 600u);
  for (const auto& page : all.pages)
    EXPECT_LE(page.remote_reads + page.remote_writes, page.reads + page.writes);
}

TEST_F(RuntimeTest, FalseAndTrueSharingAreToldApart) {
  expect_good(run("sharing"));
  const Recording all = only();
  const uint64_t array = told("array");
  const NumaLine* own = all.line(array);
  const NumaLine* common = all.line(array + 64);
  ASSERT_TRUE(own != nullptr && common != nullptr);
  EXPECT_DOUBLE_EQ(own->false_invalidations, 2 * (100000.0 * 100000 / 200000));
  EXPECT_DOUBLE_EQ(own->true_invalidations, 0);
  EXPECT_DOUBLE_EQ(common->true_invalidations, 2 * (50000.0 * 50000 / 100000));
  EXPECT_DOUBLE_EQ(common->false_invalidations, 0);
  EXPECT_EQ(own->writes, 200000u);
  for (const auto& thread : all.line_threads)
    if (&all.lines.at(thread.line) == own) {
      const uint32_t me = thread.thread - 1;
      for (uint32_t word = 0; word < 16; ++word) {
        EXPECT_EQ(thread.reads[word], 0u);
        EXPECT_EQ(thread.writes[word], word / 2 == me ? 100000u : 0u);
      }
    }
}

TEST_F(RuntimeTest, PhasesBeginAtBarriers) {
  expect_good(run("ping_pong"));
  const NumaLine* line = only().line(told("array"));
  const Recording all = only();
  line = all.line(told("array"));
  ASSERT_NE(line, nullptr);
  EXPECT_DOUBLE_EQ(line->false_invalidations + line->true_invalidations, 9);
  EXPECT_EQ(all.threads.at(1).barrier_waits, 10u);
}

TEST_F(RuntimeTest, TwoHundredThreads) {
  expect_good(run("many"));
  const Recording all = only();
  const uint64_t array = told("array");
  EXPECT_EQ(all.threads.size(), 201u);
  EXPECT_EQ(all.page(array).reads, 20000u);
  EXPECT_EQ(all.page(array).threads, 201u);
  for (uint32_t i = 1; i <= 200; ++i) {
    EXPECT_EQ(all.page(array + i * 4096).writes, 300u);
    EXPECT_EQ(all.page(array + i * 4096).first_thread, i);
  }
}

TEST_F(RuntimeTest, ThreadsThatAreStartedAnewCountAsOne) {
  expect_good(run("restarts"));
  const Recording all = only();
  ASSERT_EQ(all.threads.size(), 3u);
  const uint64_t array = told("array");
  for (uint32_t me = 0; me < 2; ++me) {
    const NumaPage page = all.page(array + me * 4096);
    EXPECT_EQ(page.writes, 300'000u);
    EXPECT_EQ(page.remote_writes, 0u);
    EXPECT_EQ(page.first_thread, me + 1);
  }
}

TEST_F(RuntimeTest, SpinWaitsAreNotWork) {
  expect_good(run("spinning"));
  const Recording all = only();
  EXPECT_GT(all.threads.at(1).spin_reads, 1000u);
  EXPECT_LT(all.threads.at(1).reads, 200u);
}

TEST_F(RuntimeTest, MappedMemoryThatIsReplacedHasANewFirstThread) {
  expect_good(run("remapped"));
  const Recording all = only();
  const uint64_t array = told("array");
  uint64_t writes = 0, remote = 0;
  for (const auto& page : all.pages)
    if (page.address == array) writes += page.writes, remote += page.remote_writes;
  EXPECT_EQ(writes, 1536u);
  EXPECT_EQ(remote, 0u);
}

TEST_F(RuntimeTest, CopiesOfBlocksAreCounted) {
  expect_good(run("copies"));
  const Recording all = only();
  EXPECT_EQ(all.page(told("array")).reads, 5120u);
  EXPECT_EQ(all.page(told("array") + 4096).writes, 5120u);
}

TEST_F(RuntimeTest, AtomicOperationsDoWhatTheyShould) {
  expect_good(run("atomics"));
  expect_good(run("atomics", {{"FATHOM_NUMA", "0"}}));
}

TEST_F(RuntimeTest, EveryAllocationFunctionMakesAnObject) {
  expect_good(run("objects"));
  const Recording all = only();
  uint64_t large = 0, mapped = 0, small = 0;
  for (const auto& object : all.objects) {
    if (object.kind == ObjectKind::heap && object.size == 8192 && object.writes == 1024) ++large;
    if (object.kind == ObjectKind::mapping && object.size == 8192 && object.writes == 1024)
      ++mapped;
    if (object.kind == ObjectKind::heap && object.size == 48 && object.count == 100)
      small = object.writes;
  }
  EXPECT_EQ(large, 8u);
  EXPECT_EQ(mapped, 1u);
  EXPECT_EQ(small, 600u);
}

TEST_F(RuntimeTest, LocksThatAreTakenAreCounted) {
  expect_good(run("locks"));
  const Recording all = only();
  EXPECT_EQ(all.threads.at(0).contended_locks, 0u);
  EXPECT_EQ(all.threads.at(1).contended_locks, 9u);
  EXPECT_GT(all.threads.at(1).wait_ns, 100'000'000u);
}

TEST_F(RuntimeTest, WaitsAreCounted) {
  expect_good(run("waits"));
  const Recording all = only();
  EXPECT_GE(all.threads.at(1).condition_waits, 2u);
  EXPECT_EQ(all.threads.at(1).semaphore_waits, 2u);
  EXPECT_EQ(all.threads.at(1).barrier_waits, 1u);
  EXPECT_EQ(all.threads.at(0).barrier_waits, 1u);
}

TEST_F(RuntimeTest, ThreadsAndLocksOfC11AreSeen) {
  expect_good(run("c11", {{"FATHOM_NUMA", "0"}}));
  expect_good(run("c11"));
  const Recording all = only();
  ASSERT_EQ(all.threads.size(), 2u);
  EXPECT_EQ(all.threads.at(1).kind, ThreadKind::pthread);
  EXPECT_NE(all.threads.at(1).start_address, 0u);
  EXPECT_EQ(all.threads.at(1).contended_locks, 3u);
  EXPECT_GE(all.threads.at(1).condition_waits, 2u);
  EXPECT_EQ(all.page(told("array")).writes, 512u);
  EXPECT_EQ(all.page(told("array")).first_thread, 1u);
  EXPECT_GE(all.snapshots.back().epochs, 2u);
}

TEST_F(RuntimeTest, PlacesOfWaitsAreInTheProgramsOwnCode) {
  expect_good(run("waits"));
  const Recording all = only();
  uint64_t waits = 0, counted = 0;
  for (const auto& place : all.places) {
    if (place.object != kNone) continue;
    EXPECT_EQ(place.module, all.modules.at(0).module);
    waits += place.samples;
  }
  for (const auto& thread : all.threads)
    counted += thread.contended_locks + thread.condition_waits + thread.barrier_waits;
  EXPECT_GE(counted, 4u);
  EXPECT_EQ(waits, counted);
}

TEST_F(RuntimeTest, CallsReturnWhatTheyWould) {
  expect_good(run("errors"));
  expect_good(run("errors", {{"FATHOM_NUMA", "0"}}));
  expect_good(run("small_stack"));
  expect_good(run("small_stack", {{"FATHOM_NUMA", "0"}}));
}

TEST_F(RuntimeTest, WorksWhereMemoryIsLimited) {
  expect_good(run("exact", {}, {{RLIMIT_AS, kLittle}}));
  EXPECT_EQ(only().page(told("array")).reads, 1536u);
}

/// The kernel counts for RLIMIT_DATA what it counts for vm.overcommit_memory=2: all private memory
/// that may be written, whether it was touched or not and however it was mapped.
TEST_F(RuntimeTest, WorksWhereMemoryMustBeCommitted) {
  expect_good(run("exact", {}, {{RLIMIT_DATA, kLittle / 2}}));
  EXPECT_EQ(only().page(told("array")).reads, 1536u);
  EXPECT_EQ(only().snapshots.back().accesses_not_counted, 0u);
}

TEST_F(RuntimeTest, CommitsLittleForEachThread) {
  constexpr rlim_t kStack = 1 << 20, kEach = 4 << 20;
  expect_good(run("many", {}, {{RLIMIT_STACK, kStack}, {RLIMIT_DATA, 200 * kEach}}));
  EXPECT_EQ(only().page(told("array")).reads, 20000u);
}

TEST_F(RuntimeTest, MemoryThatRunsOutIsTheProgramsToDealWith) {
  expect_good(run("memory", {}, {{RLIMIT_AS, kLittle}}));
  EXPECT_EQ(only().snapshots.back().is_last, 1u);
}

TEST_F(RuntimeTest, MemoryThatCannotBeCommittedIsTheProgramsToDealWith) {
  expect_good(run("memory", {}, {{RLIMIT_DATA, kLittle / 2}}));
  EXPECT_EQ(only().snapshots.back().is_last, 1u);
}

TEST_F(RuntimeTest, NothingIsRecordedUnlessItIsAskedFor) {
  expect_good(run("exact", {{"FATHOM_NUMA", "0"}}));
  EXPECT_TRUE(recordings().empty());
}

TEST_F(RuntimeTest, TheChildOfAForkRecordsNothing) {
  expect_good(run("fork"));
  EXPECT_EQ(only().writes_to(told("counter")) / 1000, 2u);
}

TEST_F(RuntimeTest, AProgramThatIsReplacedLeavesItsSnapshot) {
  expect_good(run("exec"));
  const auto all = recordings();
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].snapshots.back().is_last, 0u);
  EXPECT_GE(all[0].writes_to(told("counter")), 1000u);
  EXPECT_EQ(all[1].snapshots.back().is_last, 1u);
  EXPECT_EQ(all[1].page(told("array")).reads, 1536u);
}

TEST_F(RuntimeTest, LongJumpsLoseNothing) {
  expect_good(run("longjmp"));
  const uint64_t writes = only().writes_to(told("counter"));
  EXPECT_GE(writes, 1000u);
  EXPECT_LT(writes, 1100u);
}

TEST_F(RuntimeTest, ExitHandlersAreCounted) {
  expect_good(run("exits"));
  EXPECT_GE(only().writes_to(told("counter")), 2000u);
}

TEST_F(RuntimeTest, OtherEndsAreSeen) {
  EXPECT_TRUE(WIFSIGNALED(run("abort")));
  EXPECT_GE(only().writes_to(told("counter")), 1000u);
  EXPECT_EQ(WEXITSTATUS(run("quick_exit")), 3);
  EXPECT_EQ(recordings().size(), 2u);
  for (const auto& one : recordings()) EXPECT_EQ(one.snapshots.back().is_last, 1u);
}

TEST_F(RuntimeTest, AKilledProgramLeavesTheLastSnapshot) {
  EXPECT_TRUE(WIFSIGNALED(run("killed")));
  const Recording all = only();
  ASSERT_GE(all.snapshots.size(), 1u);
  EXPECT_EQ(all.snapshots.back().is_last, 0u);
  EXPECT_GE(all.writes_to(told("counter")), 1000u);
}

TEST_F(RuntimeTest, AProcessEndsThatItsMainThreadHasLeft) {
  expect_good(run("main_leaves"));
  EXPECT_GE(only().writes_to(told("counter")), 1000u);
}

TEST_F(RuntimeTest, ThreadsThatAreCancelledEnd) {
  expect_good(run("cancels"));
  EXPECT_EQ(only().threads.size(), 3u);
}

TEST_F(RuntimeTest, SignalHandlersMayInterruptTheRuntime) {
  expect_good(run("signals"));
  EXPECT_EQ(only().snapshots.size(), 1u);
}

#ifdef NUMA_TEST_OPENMP
TEST_F(RuntimeTest, OpenMpRegionsAndBarriersArePhases) {
  expect_good(run("parallel"));
  const Recording all = only();
  ASSERT_EQ(all.threads.size(), 4u);
  for (const auto& thread : all.threads) {
    EXPECT_EQ(thread.kind, thread.index == 0 ? ThreadKind::main : ThreadKind::openmp);
    EXPECT_EQ(thread.barrier_waits, 6u);
    EXPECT_EQ(thread.condition_waits + thread.contended_locks, 0u);
  }
  EXPECT_EQ(all.page(told("array")).writes, 6000u);
  EXPECT_EQ(all.snapshots.back().epochs, 13u);
}
#endif

TEST_F(RuntimeTest, SamplingCountsAPart) {
  expect_good(run("lasting", {{"FATHOM_NUMA_SAMPLING", "3"}}));
  const Recording all = only();
  EXPECT_EQ(all.snapshots.back().sampling, 3u);
  const auto counted = static_cast<double>(all.page(told("array")).writes);
  const auto made = static_cast<double>(told("times"));
  EXPECT_GT(counted / made, 1.0 / 32);
  EXPECT_LT(counted / made, 1.0 / 2);
}

}  // namespace
}  // namespace fathom::record
