#include "app/compile.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "app/terminal.h"
#include "base/files.h"
#include "base/text.h"
#include "instrument/driver.h"

namespace fathom {
namespace {

using instrument::Compiler;
using instrument::Language;

constexpr std::pair<const char*, Language> kCommands[] = {
    {"cc", Language::c}, {"c++", Language::cxx}, {"fc", Language::fortran}};

instrument::Toolbox toolbox() {
  const std::string program = executable_path();
  return instrument::toolbox_beside(program.substr(0, program.rfind('/')));
}

int become(Language language, const std::vector<std::string>& arguments) {
  const auto tools = toolbox();
  const auto compiler = find_compiler(language, tools);
  if (!compiler) return fail(compiler.error());
  const auto words = command_line(*compiler, language, tools, arguments);
  if (!words) return fail(words.error());
  std::vector<char*> command;
  for (const std::string& word : *words) command.push_back(const_cast<char*>(word.c_str()));
  command.push_back(nullptr);
  execv(command[0], command.data());
  return fail({ErrorKind::usage, std::string("cannot be started: ") + std::strerror(errno),
               words->front(), "check the compiler"});
}

}  // namespace

std::optional<int> run_as_compiler(int argc, char** argv) {
  for (const auto& [command, language] : kCommands)
    if (argc > 1 && std::strcmp(argv[1], command) == 0)
      return become(language, {argv + 2, argv + argc});
  return std::nullopt;
}

Check check_clang_pass() {
  const auto tools = toolbox();
  Check out{"pass for clang", false, "", "`fathom cc` uses gcc, and measured programs run slower",
            "build Fathom where LLVM's headers (llvm-14-dev, or up to 19) and the same clang are"};
  if (tools.pass.empty()) {
    out.found = "libfathom_pass.so is not beside the program";
    return out;
  }
  const auto compiler = find_compiler(Language::c, tools);
  out.works =
      compiler && compiler->kind == Compiler::Kind::clang && compiler->version == tools.pass_llvm;
  out.found = out.works ? format("%s, for %s", tools.pass.c_str(), compiler->command[0].c_str())
                        : format("%s is for clang %d, which was not found", tools.pass.c_str(),
                                 tools.pass_llvm);
  return out;
}

}  // namespace fathom
