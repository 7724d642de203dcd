// Compiles small programs with clang and the pass, links them with a runtime that adds up, and
// compares with the numbers of accesses that the programs are known to make.

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/files.h"
#include "base/text.h"

namespace fathom::instrument {
namespace {

class Pass : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fathom-pass-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static std::string source(const std::string& name) {
    return FATHOM_SOURCE_DIR "/instrument/test_programs/" + name;
  }
  /// Runs a command in the test's folder; what it printed.
  std::string shell(const std::string& command) const {
    const std::string line = "cd " + folder_ + " && " + command + " >out 2>&1";
    const int status = std::system(line.c_str());
    const auto text = read_text_file(folder_ + "/out");
    EXPECT_EQ(status, 0) << line << "\n" << (text ? *text : "");
    return text ? *text : "";
  }
  std::string compile(const std::string& arguments) const {
    return shell(std::string(FATHOM_CLANG " -g -Wall -Werror -fpass-plugin=" FATHOM_PASS " ") +
                 arguments);
  }
  /// What a program of one file prints.
  std::string output_of(const std::string& file, const std::string& options) const {
    compile(options + " " + source(file) +
            " " COUNTING_RUNTIME " -Wl,-rpath,$(dirname " COUNTING_RUNTIME ") -o program");
    return shell("./program");
  }

  std::string folder_;
};

constexpr const char* kPlain =
    "scalar: 100 reads, 100 writes, 0 spin reads\n"
    "pair: %d reads, 2 writes, 0 spin reads\n"
    "bytes: 0 reads, 1 writes, 0 spin reads\n"
    "table: 1000 reads, 0 writes, 0 spin reads\n"
    "constants: 0 reads, 0 writes, 0 spin reads\n"
    "packed: 0 reads, 1 writes, 0 spin reads\n"
    "strided: 0 reads, 1024 writes, 0 spin reads\n"
    "backwards: 256 reads, 1280 writes, 0 spin reads\n";

TEST_P(Pass, CountsLoadsAndStoresExactly) {
  const std::string level = GetParam();
  const bool plain = level == "-O0";  // the optimizer keeps what it has just written
  const std::string output = output_of("plain.c", level);
  EXPECT_EQ(output.substr(0, output.find("modules")), format(kPlain, plain ? 2 : 1));
}

TEST_P(Pass, CountsAtomicsBlocksAndWaitsExactly) {
  // Unoptimized, what the loop waits for takes the way through a variable: that is left to the
  // runtime to find out.
  const bool plain = std::string(GetParam()) == "-O0";
  EXPECT_EQ(output_of("operations.c", GetParam()),
            format("counter: 0 reads, 50 writes, 0 spin reads\n"
                   "exchanged: 0 reads, 1 writes, 0 spin reads\n"
                   "from: 126 reads, 0 writes, 0 spin reads\n"
                   "to: 0 reads, 126 writes, 0 spin reads\n"
                   "small: 0 reads, 2 writes, 0 spin reads\n"
                   "points: 192 reads, 0 writes, 0 spin reads\n"
                   "flag: %d reads, 1 writes, %d spin reads\n"
                   "matrix: 64 reads, 64 writes, 0 spin reads\n"
                   "mixed: 2 reads, 2 writes, 0 spin reads\n",
                   plain, !plain));
}

TEST_P(Pass, CountsInPlaceAsTheRuntimeDoes) {
  const std::string output =
      output_of("again.c", std::string(GetParam()) + " -fno-slp-vectorize -fno-vectorize");
  EXPECT_EQ(output.substr(0, output.find("modules")),
            "rows: 69300 reads, 0 writes, 0 spin reads\n"
            "tuples: 90000 reads, 90000 writes, 0 spin reads\n"
            "corners: 0 reads, 51200 writes, 0 spin reads\n"
            "streams: 142142 reads, 0 writes, 0 spin reads\n"
            "total: 1000 reads, 1000 writes, 0 spin reads\n"
            "limits: 1000 reads, 0 writes, 0 spin reads\n");
}

// The program has counted it already when it sees the bar: it takes it back.
TEST_P(Pass, CountsOnceWhatTheRuntimeWantsToSee) {
  const std::string options = std::string(GetParam()) + " -fno-slp-vectorize -fno-vectorize";
  for (const char* program : {"again.c", "plain.c"}) {
    const std::string usual = output_of(program, options);
    setenv("COUNTING_RUNTIME_BARS", "1", 1);
    const std::string barred = output_of(program, options);
    unsetenv("COUNTING_RUNTIME_BARS");
    EXPECT_EQ(barred.substr(0, barred.find("modules")), usual.substr(0, usual.find("modules")));
    EXPECT_NE(barred, usual) << "nothing was barred: as many calls";
  }
}

INSTANTIATE_TEST_SUITE_P(Levels, Pass, ::testing::Values("-O0", "-O1", "-O2", "-O3"),
                         [](const auto& level) { return std::string(level.param + 1); });

TEST_F(Pass, CountsTheActiveLanesOfMaskedVectors) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  EXPECT_EQ(output_of("masked.c", "-O3 -mavx2"), "array: 22 reads, 22 writes, 0 spin reads\n");
}

TEST_F(Pass, CountsWideVectorsAsBlocks) {
  if (!__builtin_cpu_supports("avx2")) GTEST_SKIP() << "this processor has no AVX2";
  for (const char* options : {"-O1 -mavx2", "-O3 -mavx2"}) {
    const std::string output = output_of("wide.c", options);
    const auto has = [&](const char* line) { return output.find(line) != std::string::npos; };
    EXPECT_TRUE(has("once: 4 reads, 4 writes")) << output;
    EXPECT_TRUE(has("many: 1024 reads, 1024 writes")) << output;
    EXPECT_TRUE(has("scattered: 40 reads, 40 writes")) << output;
  }
}

TEST_F(Pass, CallsOnceForALoopThatItCanCount) {
  const std::string output = output_of("plain.c", "-O2");
  const size_t at = output.find("strided calls: ");
  ASSERT_NE(at, std::string::npos);
  EXPECT_GE(std::atoi(output.c_str() + at + 15), 3) << output;
}

TEST_F(Pass, TellsOfEachLinkedModuleOnce) {
  compile("-O2 -DPART=first -c " + source("module.c") + " -o first.o");
  compile("-O2 -DPART=second -fPIC -shared " + source("module.c") +
          " " COUNTING_RUNTIME " -o libsecond.so");
  compile("-O2 -c " + source("module.c") + " -o main.o");
  shell(FATHOM_CLANG " main.o first.o libsecond.so " COUNTING_RUNTIME
                     " -Wl,-rpath,$PWD:$(dirname " COUNTING_RUNTIME ") -o program");
  EXPECT_EQ(split(shell("./program"), ',')[0], "modules: 2");
}

TEST_F(Pass, LinkTimeOptimizationLosesNothing) {
  const std::string plugin(trim(shell(FATHOM_CLANG " -print-file-name=LLVMgold.so")));
  if (!is_regular_file(plugin)) GTEST_SKIP() << "no linker plug-in of LLVM";
  const std::string output = output_of("plain.c", "-O2 -flto -fuse-ld=bfd");
  EXPECT_EQ(output.substr(0, output.find("modules")), format(kPlain, 1));
}

/// Which struct the code takes memory for is in the debug information, where there is any.
TEST_F(Pass, TellsTheStructThatAFieldIsOf) {
  std::ofstream(folder_ + "/fields.cpp") << R"(
    struct pair { long first, second; };
    namespace inner { struct base { int a, b; }; struct derived : base { double c; }; }
    struct bits { int low : 3, high : 5; int whole; };
    void f(pair* p, inner::derived* d, bits* b, long* plain, int i) {
      p[i].second += i; d[i].c += 1; b[i].whole += i; plain[i] += 1;
    })";
  compile("-O2 -c fields.cpp -o typed.o");
  shell(FATHOM_CLANG " -O2 -g0 -fpass-plugin=" FATHOM_PASS " -c fields.cpp -o untyped.o");
  const auto typed = read_text_file(folder_ + "/typed.o");
  const auto untyped = read_text_file(folder_ + "/untyped.o");
  ASSERT_TRUE(typed && untyped);
  const auto has = [&](const char* text) { return typed->find(text) != std::string::npos; };
  EXPECT_TRUE(has("__fathom_numa_type 8 16 pair {first:0:8, second:8:8}"));
  EXPECT_TRUE(has("__fathom_numa_type 8 16 derived {base:0:8, c:8:8}"));
  EXPECT_FALSE(has("bits {"));  // its bit fields have no bytes of their own
  EXPECT_EQ(untyped->find("__fathom_numa_type"), std::string::npos);
}

TEST_F(Pass, StaysQuickOnLongFunctions) {
  std::ofstream file(folder_ + "/long.c");
  file << "void f(volatile int* p, int* q, int n) {\n";
  for (int i = 0; i < 1500; ++i)
    file << "q[p[" << i % 100 << "] * n + " << i * 64 << "] += " << i << ";\n";
  file << "}\n";
  file.close();
  const auto processor_seconds = [] {  // of programs that were run; what others do does not count
    rusage used{};
    getrusage(RUSAGE_CHILDREN, &used);
    return static_cast<double>(used.ru_utime.tv_sec) +
           1e-6 * static_cast<double>(used.ru_utime.tv_usec);
  };
  const double before = processor_seconds();
  compile("-O1 -c long.c");
  EXPECT_LT(processor_seconds() - before, 15);
}

}  // namespace
}  // namespace fathom::instrument
