#include "instrument/driver.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/files.h"
#include "base/text.h"

namespace fathom::instrument {
namespace {

using Words = std::vector<std::string>;

const Toolbox kTools{"/t/libfathom_pass.so", 14, "/t/libfathom_numa.so",
                     "/t/libfathom_numa_callbacks.a", "/t/fathom_gcc.specs"};
const Compiler kClang{{"/usr/bin/clang"}, Compiler::Kind::clang, 14};
const Compiler kNewerClang{{"/usr/bin/clang-17"}, Compiler::Kind::clang, 17};
const Compiler kGcc{{"/usr/bin/gcc"}, Compiler::Kind::gcc, 12};

Words words(const std::string& text) {
  Words out;
  for (const auto word : split(text, ' ')) out.emplace_back(word);
  return out;
}
Request request(const std::string& text) {
  return read_request(words(text));
}
std::string command(const Compiler& compiler, const std::string& arguments,
                    Language language = Language::c) {
  const auto line = command_line(compiler, language, kTools, words(arguments));
  return line ? " " + join(*line, " ") + " " : line.error().message();
}
bool has(const std::string& text, const std::string& part) {
  return text.find(" " + part + " ") != std::string::npos;
}

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fathom-driver-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

TEST(Arguments, CompilingAndLinkingAreToldApart) {
  const auto both = request("a.c b.o -o prog -lm");
  EXPECT_TRUE(both.compiles && both.links);
  for (const char* only :
       {"-c a.c", "-O2 -c -o x.o a.cpp", "-S a.f90", "-c -x c -", "-r a.c b.o", "-c a.c -l m"}) {
    EXPECT_TRUE(request(only).compiles) << only;
    EXPECT_FALSE(request(only).links) << only;
  }
  for (const char* only : {"a.o -o prog", "-shared -o lib.so a.o", "-o x -lfoo", "a.s -o a",
                           "-x assembler - -o a", "lib.so.1"}) {
    EXPECT_FALSE(request(only).compiles) << only;
    EXPECT_TRUE(request(only).links) << only;
  }
}

TEST(Arguments, QuestionsAndPreprocessingAskForNeither) {
  for (const char* question :
       {"--version", "-v", "--help", "-dumpmachine", "-print-prog-name=ld", "-print-search-dirs",
        "-E a.c", "-E -dM -x c -", "-M a.c", "-MM a.c", "-fsyntax-only a.c", "-Wl,--version",
        "-print-file-name=libc.so a.c", "-cc1 a.c", "a.h", "-x c++-header a.hpp -o a.pch"}) {
    EXPECT_FALSE(request(question).compiles) << question;
    EXPECT_FALSE(request(question).links) << question;
  }
  EXPECT_FALSE(read_request({}).links);
}

TEST(Arguments, ValuesOfOptionsAreNoInputs) {
  EXPECT_FALSE(request("-o a.c -I b.c -MF c.d -include d.c -Xlinker e.c -dumpbase f.c").compiles);
  EXPECT_FALSE(request("-Ia.c -DNAME=x.c -Lb.c").links);
  EXPECT_TRUE(request("-MD -MF a.d -MT a.o -c a.c").compiles);
}

TEST(Arguments, LanguagesAreHeededAsFarAsTheyReach) {
  EXPECT_TRUE(request("-x c a.txt -c").compiles);
  EXPECT_TRUE(request("-xc++ - -o a").compiles);
  EXPECT_FALSE(request("-x c -x none a.txt -o a").compiles);
  EXPECT_TRUE(request("-x none a.txt -o a").links);
}

TEST(Arguments, DebugOptionsAreKnown) {
  for (const char* option : {"-g", "-g0", "-g1", "-ggdb3", "-gdwarf-4", "-gline-tables-only"})
    EXPECT_TRUE(request(std::string(option) + " -c a.c").has_debug_option) << option;
  for (const char* option : {"-gz", "-gno-column-info", "-O2", "--gcc-toolchain=/g"})
    EXPECT_FALSE(request(std::string(option) + " -c a.c").has_debug_option) << option;
}

TEST_F(Files, ResponseFilesCount) {
  ASSERT_TRUE(write_file(folder_ + "/one", "-c 'a b.c'\n @" + folder_ + "/two \"x\\\"y\"").ok());
  ASSERT_TRUE(write_file(folder_ + "/two", "-g\\ 1").ok());
  EXPECT_EQ(with_response_files({"@" + folder_ + "/one", "@absent"}),
            (Words{"-c", "a b.c", "-g 1", "x\"y", "@absent"}));
  EXPECT_TRUE(read_request({"@" + folder_ + "/one"}).compiles);
  EXPECT_FALSE(read_request({"@" + folder_ + "/one"}).links);
}

TEST_F(Files, ResponseFilesThatIncludeThemselvesEnd) {
  const std::string at = "@" + folder_ + "/loop";
  ASSERT_TRUE(write_file(folder_ + "/loop", "x.c " + at + " " + at).ok());
  EXPECT_LT(with_response_files({at}).size(), size_t{1} << 21);
}

TEST(Driver, QuestionsPassUntouched) {
  EXPECT_EQ(command(kGcc, "--version"), " /usr/bin/gcc --version ");
  EXPECT_EQ(command(kClang, "-E a.c -static"), " /usr/bin/clang -E a.c -static ");
}

TEST(Driver, ClangGetsThePassOfItsVersionOnly) {
  const auto own = command(kClang, "-c a.c"), other = command(kNewerClang, "a.c");
  EXPECT_EQ(own, " /usr/bin/clang -g -fpass-plugin=/t/libfathom_pass.so -c a.c ");
  EXPECT_EQ(other.find("-fpass-plugin"), std::string::npos);
  EXPECT_TRUE(has(other, "-fsanitize=thread"));
  EXPECT_TRUE(has(other, "-fno-sanitize-link-runtime"));
}

TEST(Driver, LinkingNeverSeesTheSanitizer) {
  for (const auto* compiler : {&kClang, &kNewerClang, &kGcc})
    EXPECT_EQ(command(*compiler, "a.o -o a").find("-fsanitize"), std::string::npos);
  EXPECT_EQ(command(kGcc, "a.c -o a").find("-fsanitize"), std::string::npos);
  EXPECT_TRUE(has(command(kGcc, "a.c -o a"), "-specs=/t/fathom_gcc.specs"));
  EXPECT_FALSE(has(command(kGcc, "a.o -o a"), "-specs=/t/fathom_gcc.specs"));
}

TEST(Driver, ParametersOfNewerCompilersAreNotForOlderOnes) {
  const Compiler old{{"/usr/bin/gcc-10"}, Compiler::Kind::gcc, 10};
  EXPECT_EQ(command(old, "-c a.c").find("--param"), std::string::npos);
  EXPECT_TRUE(has(command(kGcc, "-c a.c"), "--param=tsan-instrument-func-entry-exit=0"));
}

TEST(Driver, TheRuntimeComesFirstAndTheCallbacksLast) {
  const auto line = command_line(kGcc, Language::c, kTools, words("-x c a.txt -ljemalloc -o a"));
  ASSERT_TRUE(line.ok());
  const auto at = [&](const std::string& word) {
    return std::find(line->begin(), line->end(), word) - line->begin();
  };
  EXPECT_LT(at("/t/libfathom_numa.so"), at("a.txt"));
  EXPECT_EQ((Words{line->end() - 3, line->end()}),
            (Words{"-x", "none", "/t/libfathom_numa_callbacks.a"}));
  EXPECT_EQ((*line)[static_cast<size_t>(at("-rpath")) + 2], "/t");
}

TEST(Driver, GccDoesNotPutTheInstrumentationOffToLinkTime) {
  EXPECT_TRUE(has(command(kGcc, "-flto=auto -c a.c"), "-c a.c -fno-lto"));
  EXPECT_FALSE(has(command(kGcc, "-flto a.o -o a"), "-fno-lto"));
  EXPECT_FALSE(has(command(kClang, "-flto -c a.c"), "-fno-lto"));
}

TEST(Driver, WhatCannotBeInstrumentedIsSaid) {
  EXPECT_NE(command(kGcc, "a.c -static -o a").find("leave out -static"), std::string::npos);
  EXPECT_TRUE(has(command(kGcc, "-static -c a.c"), "-static"));
  EXPECT_NE(command(kGcc, "-m32 -c a.c").find("32-bit"), std::string::npos);
  const auto line = command_line(kGcc, Language::c, {}, words("a.o -o a"));
  ASSERT_FALSE(line.ok());
  EXPECT_NE(line.error().message().find("libfathom_numa.so"), std::string::npos);
}

TEST(Driver, CompilersAreKnownByWhatTheySay) {
  const auto gcc = identify(
      {"x"}, "gcc (Debian 12.2.0-14) 12.2.0\nCopyright (C) 2022 Free Software Foundation, Inc.");
  ASSERT_TRUE(gcc.ok());
  EXPECT_EQ(gcc->kind, Compiler::Kind::gcc);
  EXPECT_EQ(gcc->version, 12);
  const auto clang = identify({"x"}, "Debian clang version 14.0.6\nTarget: x86_64-pc-linux-gnu");
  ASSERT_TRUE(clang.ok());
  EXPECT_EQ(clang->kind, Compiler::Kind::clang);
  EXPECT_EQ(clang->version, 14);
  const auto flang = identify({"x"}, "flang-new version 19.1.7");
  ASSERT_TRUE(flang.ok());
  EXPECT_EQ(flang->kind, Compiler::Kind::flang);
  EXPECT_FALSE(identify({"x"}, "").ok());
  EXPECT_FALSE(identify({"x"}, "Some compiler 3.1").ok());
}

class Choice : public Files {
 protected:
  void SetUp() override {
    Files::SetUp();
    path_ = std::getenv("PATH");
    setenv("PATH", folder_.c_str(), 1);
    for (const char* name : {"FATHOM_CC", "FATHOM_CXX", "FATHOM_FC"}) unsetenv(name);
  }
  void TearDown() override {
    setenv("PATH", path_.c_str(), 1);
    unsetenv("FATHOM_CC");
    Files::TearDown();
  }
  void add(const std::string& name, const std::string& says) {
    const std::string path = folder_ + "/" + name;
    ASSERT_TRUE(write_file(path, "#!/bin/sh\necho '" + says + "'\n").ok());
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  std::string chosen(Language language = Language::c) {
    const auto compiler = find_compiler(language, kTools);
    if (!compiler) return compiler.error().message();
    return join(compiler->command, " ").substr(folder_.size() + 1);
  }
  const std::string kFree = "x (y) 12.2.0\nFree Software Foundation";
  std::string path_;
};

TEST_F(Choice, ClangIsPreferredIfThePassFitsIt) {
  EXPECT_NE(chosen().find("neither clang nor gcc is on PATH"), std::string::npos);
  add("clang", "clang version 17.0.1");
  EXPECT_EQ(chosen(), "clang");
  add("gcc", kFree);
  EXPECT_EQ(chosen(), "gcc");
  add("clang-14", "clang version 14.0.0");
  EXPECT_EQ(chosen(), "clang-14");
  add("clang", "clang version 14.0.6");
  EXPECT_EQ(chosen(), "clang");
}

TEST_F(Choice, TheEnvironmentDecides) {
  add("clang", "clang version 14.0.6");
  add("mine", kFree);
  setenv("FATHOM_CC", " mine  -m64", 1);
  EXPECT_EQ(chosen(), "mine -m64");
  setenv("FATHOM_CC", "absent", 1);
  EXPECT_NE(chosen().find("absent"), std::string::npos);
  setenv("FATHOM_CC", executable_path().c_str(), 1);
  EXPECT_NE(chosen().find("its own compiler"), std::string::npos);
}

TEST_F(Choice, FortranIsForGfortran) {
  EXPECT_NE(chosen(Language::fortran).find("gfortran"), std::string::npos);
  add("gfortran", kFree);
  EXPECT_EQ(chosen(Language::fortran), "gfortran");
}

}  // namespace
}  // namespace fathom::instrument
