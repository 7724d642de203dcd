// Runs the program `fathom record` itself.

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "base/files.h"
#include "base/text.h"
#include "record/test_reader.h"

namespace fathom {
namespace {

class RecordTest : public testing::Test {
 protected:
  RecordTest() {
    char pattern[] = "/tmp/fathom-record-test-XXXXXX";
    directory_ = mkdtemp(pattern);
  }
  ~RecordTest() override {
    if (std::system(("rm -rf " + directory_).c_str()) != 0) ADD_FAILURE();
  }

  /// Runs a shell command in a directory of its own, with `fathom` for the program.
  int run(const std::string& command) {
    const std::string line = "cd " + directory_ +
                             " && fathom() { " FATHOM_PROGRAM " \"$@\"; } && { " + command +
                             "; } >output 2>errors";
    const int status = std::system(line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  std::string text(const std::string& name) const {
    auto content = read_text_file(directory_ + "/" + name);
    return content ? *content : std::string();
  }
  std::string errors() const { return text("errors"); }
  void expect_one_line(const std::string& part) const {
    const std::string line = errors();
    EXPECT_EQ(std::count(line.begin(), line.end(), '\n'), 1) << line;
    EXPECT_TRUE(starts_with(line, "fathom: ")) << line;
    EXPECT_NE(line.find(part), std::string::npos) << line;
  }

  std::string directory_;
};

TEST_F(RecordTest, PassesOutputAndExitCodeThrough) {
  EXPECT_EQ(run("fathom record -o m -- sh -c 'echo hello; exit 7'"), 7);
  EXPECT_EQ(text("output"), "hello\n");
  expect_one_line("/m (");
  const auto file = record::read_chunks(directory_ + "/m/run.fathom");
  const auto starts = record::text_records<record::RunStart>(file, record::ChunkType::run_start, 5);
  ASSERT_EQ(starts.size(), 1u);
  EXPECT_EQ(starts[0].strings[1], "sh -c echo hello; exit 7");
  EXPECT_EQ(starts[0].strings[3], "gpu=cuda");
  const auto ends = record::records<record::RunEnd>(file, record::ChunkType::run_end);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].exit_code, 7);
  EXPECT_EQ(ends[0].signal, 0u);
  EXPECT_GT(ends[0].wall_ns, 0u);
}

TEST_F(RecordTest, TellsASignalAsShellsDo) {
  EXPECT_EQ(run("fathom record -o m -- sh -c 'kill -SEGV $$'"), 128 + SIGSEGV);
  const auto ends = record::records<record::RunEnd>(
      record::read_chunks(directory_ + "/m/run.fathom"), record::ChunkType::run_end);
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].signal, uint32_t(SIGSEGV));
}

TEST_F(RecordTest, PassesTerminationOnToTheProgram) {
  const std::string program =
      "trap \"echo got it; exit 4\" TERM; touch ready; while :; do sleep 0.05; done";
  const int code = run("fathom record -o m -- sh -c '" + program +
                       "' & tool=$!; "
                       "while [ ! -e ready ]; do sleep 0.05; done; "
                       "kill -TERM $(pgrep -P $tool || echo $tool); wait $tool");
  EXPECT_EQ(code, 4);
  EXPECT_EQ(text("output"), "got it\n");
}

TEST_F(RecordTest, NamesTheDirectoryAfterTheProgramAndCountsOn) {
  EXPECT_EQ(run("fathom record -- true && fathom record -- /bin/true"), 0);
  EXPECT_TRUE(is_regular_file(directory_ + "/fathom-true-measurement/run.fathom"));
  EXPECT_TRUE(is_regular_file(directory_ + "/fathom-true-measurement-2/run.fathom"));
}

TEST_F(RecordTest, RefusesADirectoryThatHoldsSomething) {
  EXPECT_EQ(run("mkdir m && touch m/x && fathom record -o m -- touch started"), 2);
  expect_one_line("m: exists already; ");
  EXPECT_FALSE(is_regular_file(directory_ + "/started"));
}

TEST_F(RecordTest, RefusesWhatItCannotDoBeforeTheProgramStarts) {
  EXPECT_EQ(run("fathom record -e gpu=abacus -- touch started"), 2);
  expect_one_line("`fathom record -L`");
  EXPECT_EQ(run("fathom record -e gpu=cuda,pc@2 -- touch started"), 2);
  expect_one_line("5 to 31");
  EXPECT_EQ(run("fathom record"), 2);
  expect_one_line("fathom record -- APP ARGS");
  EXPECT_EQ(run("fathom record -- ./no-such-program"), 2);
  expect_one_line("./no-such-program");
  EXPECT_EQ(run("fathom record -o /proc/no -- touch started"), 3);
  expect_one_line("/proc/no");
  EXPECT_FALSE(is_regular_file(directory_ + "/started"));
}

TEST_F(RecordTest, ReportsAProgramThatCannotBeExecuted) {
  EXPECT_EQ(run("printf '#!/no/such/shell\\n' >p && chmod +x p && fathom record -o m -- ./p"), 2);
  expect_one_line("./p: cannot be started");
}

TEST_F(RecordTest, KeepsWhatIsPreloadedAlready) {
  EXPECT_EQ(run("LD_PRELOAD=/nowhere.so fathom record -o m -- sh -c 'echo $LD_PRELOAD'"), 0);
  EXPECT_TRUE(starts_with(text("output"), "/nowhere.so:")) << text("output");
  EXPECT_NE(text("output").find("libfathom_exit.so"), std::string::npos);
}

TEST_F(RecordTest, TellsTheCollectorThePeriodAlways) {
  EXPECT_EQ(run("fathom record -e gpu=cuda,pc -o m -- sh -c 'echo $FATHOM_CUDA_PERIOD'"), 0);
  EXPECT_EQ(text("output"), "16\n");
  EXPECT_EQ(run("fathom record -e gpu=cuda,pc@11 -o n -- sh -c 'echo $FATHOM_CUDA_PERIOD'"), 0);
  EXPECT_EQ(text("output"), "11\n");
}

TEST_F(RecordTest, ListsEveryEventWithItsState) {
  EXPECT_EQ(run("fathom record -L"), 0);
  EXPECT_NE(text("output").find("gpu=cuda,pc=serialized[@K]"), std::string::npos);
  EXPECT_NE(text("output").find("2^K cycles (K 5 to 31, else 16)"), std::string::npos);
  const std::string output = text("output");
  for (const auto line : split(trim(output), '\n'))
    EXPECT_NE(line.find("work"), std::string::npos) << line;
}

TEST_F(RecordTest, SaysHowToBuildAProgramForMemoryAccesses) {
  if (!is_regular_file(std::string(FATHOM_PROGRAM).substr(0, sizeof FATHOM_PROGRAM - 7) +
                       "libfathom_numa.so"))
    GTEST_SKIP() << "the NUMA runtime is not beside the program";
  EXPECT_EQ(run("fathom record -e numa@3 -o m -- sh -c 'echo $FATHOM_NUMA $FATHOM_NUMA_SAMPLING; "
                "echo $LD_PRELOAD'"),
            0);
  EXPECT_TRUE(starts_with(text("output"), "1 3\n")) << text("output");
  EXPECT_NE(text("output").find("libfathom_numa.so"), std::string::npos);
  expect_one_line("build the program with `fathom cc`");
}

TEST_F(RecordTest, ResolvesVariablesThreadsAndPlacesOfAnInstrumentedProgram) {
  ASSERT_TRUE(
      write_file(directory_ + "/p.c",
                 "#include <pthread.h>\n"
                 "struct { volatile long even, odd; } both __attribute__((aligned(64)));\n"
                 "static void* work(void* odd) {\n"
                 "  for (int i = 0; odd && i < 1000000; ++i)\n"
                 "    ++both.odd;\n"
                 "  for (int i = 0; !odd && i < 1000000; ++i)\n"
                 "    ++both.even;\n"
                 "  return 0;\n"
                 "}\n"
                 "int main(void) {\n"
                 "  pthread_t t[2];\n"
                 "  for (long i = 0; i < 2; ++i) pthread_create(&t[i], 0, work, (void*)i);\n"
                 "  for (int i = 0; i < 2; ++i) pthread_join(t[i], 0);\n"
                 "}\n"));
  if (run("fathom cc -O1 -g -pthread p.c -o p && fathom record -e numa -o m -- ./p") != 0)
    GTEST_SKIP() << "programs cannot be instrumented here: " << errors();
  expect_one_line("memory accesses of 3 threads to ");
  std::string variables, functions;
  const auto file = record::read_chunks(directory_ + "/m/run.fathom");
  for (const auto& v :
       record::text_records<record::DataSymbol>(file, record::ChunkType::data_symbol, 4))
    variables += format("%s:%u %s; ", v.strings[1].c_str(), v.record.line, v.strings[3].c_str());
  EXPECT_NE(variables.find("both:2 struct {even:0:8, odd:8:8}; "), std::string::npos) << variables;
  for (const auto& symbol :
       record::text_records<record::Symbol>(file, record::ChunkType::symbol, 3))
    functions += symbol.strings[1] + format(":%u; ", symbol.record.line);
  EXPECT_NE(functions.find("work:5; "), std::string::npos) << functions;
  EXPECT_NE(functions.find("main:12; "), std::string::npos) << functions;
  EXPECT_EQ(run("fathom advise m"), 0);
  EXPECT_NE(text("output").find("false-sharing, padding"), std::string::npos) << text("output");
  EXPECT_NE(text("output").find("odd"), std::string::npos);
  EXPECT_EQ(run("fathom analyze m && fathom advise --topology 8x16:1,2,3 m.fdb"), 2);
  EXPECT_NE(errors().find("made already"), std::string::npos) << errors();
  EXPECT_EQ(run("fathom advise --topology 8x16:1,2,3 --numa-threshold false-sharing=1e9 m"), 0);
  EXPECT_NE(text("output").find("8x16:1,2,3"), std::string::npos) << text("output");
  EXPECT_EQ(text("output").find("false-sharing, padding"), std::string::npos) << text("output");
}

#ifdef FAKE_APP
TEST_F(RecordTest, ResolvesTheCallersOfAGpuProgram) {
  // In a sanitizer's build the recorded program gets a library before the sanitizer's own, and ends
  // as fathom must let it end: with whatever it holds.
  EXPECT_EQ(run("ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0"
                " FATHOM_CUPTI=" FAKE_CUPTI_LIBRARY " FAKE_DRIVER=" FAKE_CUPTI_LIBRARY
                " fathom record -e gpu=cuda,pc=serialized@10 -o m -- " FAKE_APP " all"),
            0);
  expect_one_line("(1 process, 4 kernels, 1 copies, 40 samples, 1 GPU binaries)");
  std::vector<std::string> functions;
  for (const auto& symbol : record::text_records<record::Symbol>(
           record::read_chunks(directory_ + "/m/run.fathom"), record::ChunkType::symbol, 3)) {
    EXPECT_NE(symbol.record.address, 0u);
    functions.push_back(symbol.strings[1]);
  }
  EXPECT_GE(std::count(functions.begin(), functions.end(), "main"), 1);
  EXPECT_GE(std::count(functions.begin(), functions.end(), "fake_launch"), 1);
}
#endif

}  // namespace
}  // namespace fathom
