#include "instrument/driver.h"

#include <limits.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"

namespace fathom::instrument {
namespace {

using Words = std::vector<std::string>;

Error usage(std::string what, std::string where, std::string hint) {
  return {ErrorKind::usage, std::move(what), std::move(where), std::move(hint)};
}

std::string variable_of(Language language) {
  return language == Language::c     ? "FATHOM_CC"
         : language == Language::cxx ? "FATHOM_CXX"
                                     : "FATHOM_FC";
}

std::string real_path(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

/// The number that follows `mark`; 0 if none does.
int number_after(const std::string& text, const std::string& mark) {
  const size_t at = text.find(mark);
  return at == std::string::npos ? 0 : std::atoi(text.c_str() + at + mark.size());
}

/// Distributions install clang as .../llvm-14/bin/clang and gcc as x86_64-linux-gnu-gcc-12: then
/// there is no need to start it, which would take longer than all that we do.
std::string version_by_path(const std::string& path) {
  const std::string real = real_path(path), name = real.substr(real.rfind('/') + 1);
  const int llvm = number_after(real, "/lib/llvm-");
  if (llvm > 0 && starts_with(name, "clang")) return format("clang version %d", llvm);
  for (const char* driver : {"linux-gnu-gcc-", "linux-gnu-g++-", "linux-gnu-gfortran-"})
    if (const int gcc = number_after(name, driver); gcc > 0)
      return format("gcc %d\nFree Software Foundation", gcc);
  return {};
}

Result<Compiler> identify_program(Words command) {
  const bool is_path = command[0].find('/') != std::string::npos;
  const auto path = is_path ? std::optional(command[0]) : find_on_path(command[0]);
  if (!path) return usage("no such compiler", command[0], "name one that is on PATH");
  if (real_path(*path) == executable_path())
    return usage("Fathom cannot be its own compiler", command[0], "name a real one");
  command[0] = *path;
  std::string text = command.size() == 1 ? version_by_path(*path) : "";
  if (text.empty()) {
    Words question = command;
    question.push_back("--version");
    auto answer = run_program(question);
    if (!answer) return answer.error();
    text = *answer;
  }
  return identify(command, text);
}

Words words_of(const char* text) {
  Words out;
  for (const auto word : split(text, ' '))
    if (!word.empty()) out.emplace_back(word);
  return out;
}

bool uses_pass(const Compiler& compiler, const Toolbox& tools) {
  return compiler.kind != Compiler::Kind::gcc && !tools.pass.empty() &&
         compiler.version == tools.pass_llvm;
}

Result<Done> check(const Compiler& compiler, const Toolbox& tools, const Request& request) {
  if (request.is_32_bit)
    return usage("32-bit programs cannot be instrumented", "", "leave out -m32");
  if (request.links && request.is_static)
    return usage("a static program cannot be instrumented, since the runtime is a shared library",
                 "", "leave out -static");
  if (request.links && tools.runtime.empty())
    return usage("the NUMA runtime is missing", "libfathom_numa.so", "put it beside the program");
  if (uses_pass(compiler, tools)) return Done{};
  if (compiler.kind == Compiler::Kind::flang)
    return usage(format("there is no pass for version %d of LLVM", compiler.version),
                 compiler.command[0], "use gfortran");
  if (request.links && tools.callbacks.empty())
    return usage("the compiler's callbacks are missing", "libfathom_numa_callbacks.a",
                 "put it beside the program");
  if (request.compiles && compiler.kind == Compiler::Kind::gcc && tools.specs.empty())
    return usage("gcc's specs are missing", "fathom_gcc.specs", "put the file beside the program");
  return Done{};
}

/// In the specs, -fsanitize=thread is for the compiler proper alone: the linking driver does not
/// see it, and so adds no sanitizer, even when it compiles and links in one go.
void add_gcc_options(const Compiler& compiler, Language language, const Toolbox& tools,
                     Words& out) {
  out.push_back("-specs=" + tools.specs);
  if (language != Language::fortran) out.push_back("-U__SANITIZE_THREAD__");
  if (compiler.version >= 11) out.push_back("--param=tsan-distinguish-volatile=1");
  if (compiler.version >= 12) out.push_back("--param=tsan-instrument-func-entry-exit=0");
}

void add_compile_options(const Compiler& compiler, Language language, const Toolbox& tools,
                         const Request& request, Words& out) {
  if (!request.has_debug_option) out.push_back("-g");
  if (uses_pass(compiler, tools)) {
    out.push_back("-fpass-plugin=" + tools.pass);
  } else if (compiler.kind == Compiler::Kind::gcc) {
    add_gcc_options(compiler, language, tools, out);
  } else {
    for (const char* option : {"-fsanitize=thread", "-mllvm", "-tsan-distinguish-volatile=1",
                               "-mllvm", "-tsan-instrument-func-entry-exit=0"})
      out.push_back(option);
    if (request.links) out.push_back("-fno-sanitize-link-runtime");
  }
}

/// First of all, so that the runtime's functions come before those of other libraries.
void add_runtime(const Toolbox& tools, Words& out) {
  for (const char* option : {"-Xlinker", "--push-state", "-Xlinker", "--no-as-needed"})
    out.push_back(option);
  out.push_back(tools.runtime);
  for (const char* option : {"-Xlinker", "--pop-state", "-Xlinker", "-rpath", "-Xlinker"})
    out.push_back(option);
  out.push_back(tools.runtime.substr(0, tools.runtime.rfind('/')));
}

}  // namespace

Toolbox toolbox_beside(const std::string& folder) {
  const auto find = [&](const std::string& name) -> std::string {
    for (const auto& path : {folder + "/" + name, folder + "/../lib/fathom/" + name})
      if (is_regular_file(path)) return real_path(path);
    return {};
  };
  return {find("libfathom_pass.so"), FATHOM_PASS_LLVM, find("libfathom_numa.so"),
          find("libfathom_numa_callbacks.a"), find("fathom_gcc.specs")};
}

Result<Compiler> identify(const Words& command, const std::string& version_text) {
  Compiler out{command, Compiler::Kind::gcc, 0};
  for (const auto& [mark, kind] : {std::pair("flang version ", Compiler::Kind::flang),
                                   std::pair("flang-new version ", Compiler::Kind::flang),
                                   std::pair("clang version ", Compiler::Kind::clang)}) {
    out.kind = kind;
    out.version = number_after(version_text, mark);
    if (out.version > 0) return out;
  }
  const std::string first(split(version_text, '\n').front());
  const bool is_gcc = version_text.find("Free Software Foundation") != std::string::npos;
  const size_t last = first.rfind(' ');
  if (!is_gcc || last == std::string::npos)
    return usage("neither gcc nor clang", command[0],
                 "name one in FATHOM_CC, FATHOM_CXX or FATHOM_FC");
  out.kind = Compiler::Kind::gcc;
  out.version = std::atoi(first.c_str() + last + 1);
  return out;
}

Result<Compiler> find_compiler(Language language, const Toolbox& tools) {
  const std::string variable = variable_of(language);
  const char* named = std::getenv(variable.c_str());
  if (named != nullptr && !words_of(named).empty()) return identify_program(words_of(named));
  if (language == Language::fortran) {
    if (find_on_path("gfortran")) return identify_program({"gfortran"});
    return usage("no Fortran compiler is on PATH", "",
                 "install gfortran, or name one in FATHOM_FC");
  }
  const bool is_c = language == Language::c;
  const std::string clang = is_c ? "clang" : "clang++", gcc = is_c ? "gcc" : "g++";
  for (const std::string& name : {clang, clang + format("-%d", tools.pass_llvm)})
    if (find_on_path(name))
      if (auto compiler = identify_program({name}); compiler && uses_pass(*compiler, tools))
        return compiler;
  for (const std::string& name : {gcc, clang})
    if (find_on_path(name)) return identify_program({name});
  return usage("neither " + clang + " nor " + gcc + " is on PATH", "",
               "install one, or name a compiler in " + variable);
}

Result<Words> command_line(const Compiler& compiler, Language language, const Toolbox& tools,
                           const Words& arguments) {
  const Request request = read_request(arguments);
  Words out = compiler.command;
  if (request.compiles || request.links) {
    if (auto possible = check(compiler, tools, request); !possible) return possible.error();
  }
  if (request.compiles) add_compile_options(compiler, language, tools, request, out);
  if (request.links) add_runtime(tools, out);
  out.insert(out.end(), arguments.begin(), arguments.end());
  // At link time gcc would forget that it was to call us.
  if (request.compiles && request.has_lto && compiler.kind == Compiler::Kind::gcc)
    out.push_back("-fno-lto");
  // An archive serves what stands before it. Objects of other compilers may need it too.
  if (request.links && !tools.callbacks.empty())
    for (const std::string& option : {std::string("-x"), std::string("none"), tools.callbacks})
      out.push_back(option);
  return out;
}

}  // namespace fathom::instrument
