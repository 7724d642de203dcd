// `fathom cc` and its siblings in real builds, with a runtime that adds up beside the program.

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCounts = "table: 1000 reads, 1000 writes";

class Compile : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fathom compile-XXXXXX";  // with a space: paths must survive it
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
    fs::create_directory(folder_ + "/tools");
    for (const char* file :
         {FATHOM_PROGRAM, FATHOM_PROGRAM_FOLDER "/libfathom_pass.so",
          FATHOM_PROGRAM_FOLDER "/fathom_gcc.specs", TEST_TOOLS "/libfathom_numa.so",
          TEST_TOOLS "/libfathom_numa_callbacks.a"})
      if (fs::exists(file)) fs::copy(file, folder_ + "/tools");
    for (const char* file : {"build_me.c", "add_up.c", "add_up.h"})
      fs::copy(FATHOM_SOURCE_DIR "/instrument/test_programs/" + std::string(file), folder_);
    for (const char* variable : {"FATHOM_CC", "FATHOM_CXX", "FATHOM_FC"}) unsetenv(variable);
  }
  void TearDown() override { fs::remove_all(folder_); }

  struct Outcome {
    int code;
    std::string out, err;
  };
  Outcome shell(const std::string& command) const {
    const std::string line = "cd '" + folder_ + "' && export PATH=\"$PWD/tools:$PATH\" && { " +
                             command + "; } >out 2>err </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, *read_text_file(folder_ + "/out"),
            *read_text_file(folder_ + "/err")};
  }
  void expect_counts(const std::string& command) const {
    const Outcome outcome = shell(command);
    EXPECT_EQ(outcome.code, 0) << command << "\n" << outcome.out << outcome.err;
    EXPECT_NE(outcome.out.find(kCounts), std::string::npos) << command << "\n" << outcome.out;
  }
  static bool is_there(const char* program) { return find_on_path(program).has_value(); }
  /// Clang is of use with the pass only, which builds with sanitizers or without LLVM's headers do
  /// not have.
  bool has_clang() const {
    return is_there("clang") && fs::exists(folder_ + "/tools/libfathom_pass.so");
  }
  std::vector<std::string> compilers() const {
    std::vector<std::string> out;
    if (is_there("gcc")) out.push_back("gcc");
    if (has_clang()) out.push_back("clang");
    return out;
  }

  std::string folder_;
};

TEST_F(Compile, CompilesAndLinksInOneGoAndInTwo) {
  for (const std::string& compiler : compilers()) {
    setenv("FATHOM_CC", compiler.c_str(), 1);
    for (const char* level : {"-O0", "-O2", "-O2 -flto"}) {
      if (compiler == "clang" && ends_with(level, "-flto")) continue;  // needs a plug-in
      const std::string options = std::string(level) + " -Wall -Werror ";
      expect_counts("fathom cc " + options + "build_me.c add_up.c -o one && ./one");
      expect_counts("fathom cc " + options + "-c build_me.c && fathom cc " + options +
                    "-c add_up.c && fathom cc build_me.o add_up.o -o two && ./two");
      expect_counts("fathom cc " + options + "-fPIC -shared add_up.c -o libadd.so && fathom cc " +
                    options + "build_me.c ./libadd.so -o three && ./three");
    }
  }
}

TEST_F(Compile, LinksObjectsOfSeveralCompilers) {
  if (!is_there("gcc") || !has_clang()) GTEST_SKIP() << "needs gcc, clang and the pass";
  expect_counts(
      "FATHOM_CC=gcc fathom cc -O1 -c build_me.c && FATHOM_CC=clang fathom cc -O1 -c "
      "add_up.c && FATHOM_CXX=g++ fathom c++ build_me.o add_up.o -o mixed && ./mixed");
}

TEST_F(Compile, WritesTheSameDependencyAndIntermediateFiles) {
  for (const std::string& compiler : compilers()) {
    setenv("FATHOM_CC", compiler.c_str(), 1);
    const std::string options = " -MD -save-temps -O1 ../add_up.c ../build_me.c -o ",
                      list = "; ls | sed s/prog// ; cat *.d";
    const std::string plain = compiler + options + "prog -shared -fPIC" + list;
    const auto expected = shell("mkdir plain && cd plain && " + plain);
    const auto ours = shell("mkdir ours && cd ours && fathom cc" + options + "prog -shared -fPIC" +
                            list + "; rm -r ../plain ../ours");
    EXPECT_EQ(ours.out, expected.out) << ours.err << expected.err;
  }
}

TEST_F(Compile, ServesMake) {
  ASSERT_TRUE(
      write_file(folder_ + "/Makefile",
                 "CFLAGS = -O2\nprogram: build_me.o add_up.o\n\t$(CC) $(LDFLAGS) $^ -o $@\n")
          .ok());
  expect_counts("make -s CC='fathom cc' program && ./program");
}

TEST_F(Compile, ServesCMake) {
  ASSERT_TRUE(write_file(folder_ + "/CMakeLists.txt",
                         "cmake_minimum_required(VERSION 3.16)\nproject(p C CXX)\n"
                         "add_library(add SHARED add_up.c)\nadd_executable(program build_me.c)\n"
                         "target_link_libraries(program add)\n")
                  .ok());
  for (const char* type : {"Debug", "Release"})
    expect_counts(
        "rm -rf b && CC='fathom cc' CXX='fathom c++' cmake -S . -B b -DCMAKE_BUILD_TYPE=" +
        std::string(type) + " && cmake --build b && b/program");
}

TEST_F(Compile, AnswersQuestionsAsTheCompilerDoes) {
  setenv("FATHOM_CC", "gcc", 1);
  for (const char* question :
       {"--version", "-dumpmachine", "-print-prog-name=ld", "-E -dM -x c -"}) {
    const auto ours = shell(std::string("fathom cc ") + question);
    EXPECT_EQ(ours.out, shell(std::string("gcc ") + question).out) << question;
    EXPECT_EQ(ours.code, 0) << question;
  }
  EXPECT_EQ(shell("fathom cc").err, shell("gcc").err);
}

TEST_F(Compile, PassesTheCompilersExitCodeAndMessagesOn) {
  ASSERT_TRUE(write_file(folder_ + "/wrong.c", "int main(void) { return x; }\n").ok());
  for (const std::string& compiler : compilers()) {
    setenv("FATHOM_CC", compiler.c_str(), 1);
    const auto ours = shell("fathom cc -c wrong.c"), plain = shell(compiler + " -c wrong.c");
    EXPECT_EQ(ours.code, plain.code);
    EXPECT_EQ(ours.err, plain.err);
  }
}

TEST_F(Compile, SaysInOneLineWhatIsMissing) {
  for (const char* command :
       {"FATHOM_CC=absent fathom cc -c add_up.c", "PATH=$PWD/tools fathom cc -c add_up.c",
        "PATH=$PWD/tools fathom fc -c a.f90", "FATHOM_CC=gcc fathom cc -static add_up.c",
        "rm tools/libfathom_numa.so; FATHOM_CC=gcc fathom cc build_me.c add_up.c"}) {
    const auto outcome = shell(command);
    EXPECT_EQ(outcome.code, 2) << command;
    EXPECT_TRUE(starts_with(outcome.err, "fathom: ")) << outcome.err;
    EXPECT_EQ(std::count(outcome.err.begin(), outcome.err.end(), '\n'), 1) << outcome.err;
  }
}

TEST_F(Compile, CompilesFortran) {
  if (!is_there("gfortran")) GTEST_SKIP() << "needs gfortran";
  ASSERT_TRUE(
      write_file(
          folder_ + "/sum.f90",
          "subroutine fill(a, n) bind(c)\n  use iso_c_binding\n  integer(c_int), value :: n\n"
          "  integer(c_long) :: a(n)\n  a = 3\nend subroutine\n")
          .ok());
  ASSERT_TRUE(
      write_file(
          folder_ + "/main.c",
          "void fill(long*, int);\nvoid print_counts(const char*, const void*, unsigned long);\n"
          "long a[1024] __attribute__((aligned(64)));\n"
          "int main(void) { fill(a, 1000); print_counts(\"a\", a, sizeof a); }\n")
          .ok());
  const auto outcome = shell(
      "fathom fc -O0 -c sum.f90 && fathom cc -c main.c && fathom fc main.o sum.o -o f && ./f");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("1000 writes"), std::string::npos) << outcome.out;
}

}  // namespace
}  // namespace fathom
