#include "app/command_line.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace fathom {

void describe_program(CLI::App& app) {
  app.description(
      "Fathom finds out where a program on CPUs and GPUs loses its time, and what to change.");
  app.set_version_flag("--version", "fathom " FATHOM_VERSION, "Print the version");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fathom record -e gpu=cuda,pc -o run -- ./app args   measure a program\n"
      "  fathom analyze run                                  make the profile run.fdb of it\n"
      "  fathom report run.fdb                               where the time goes\n"
      "  fathom advise run.fdb                               what to change, and what it would "
      "bring\n"
      "  fathom predict k.ptx --grid 4096 --block 256        how long a kernel would take\n"
      "  fathom inspect libfoo.so --disassemble              the GPU code in a file\n"
      "  fathom doctor                                       what works on this machine\n\n"
      "`fathom COMMAND --help` tells more. report and advise take a measurement directory too.\n"
      "Exit codes: 0 done, 1 cannot answer, 2 wrong usage, 3 bad input.");
}

namespace {

/// CLI11's message in one line, in our way: "fathom: ...; see fathom report --help".
std::string usage_line(const CLI::App& app, const CLI::ParseError& error, const char* first) {
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  what = trim(what);
  while (ends_with(what, ".")) what.pop_back();
  if (*first != '-' && app.get_subcommands().empty())
    what = *first ? "there is no command \"" + std::string(first) + "\"" : "a command is missing";
  std::string command = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().back();
    command += " " + at->get_name();
  }
  return "fathom: " + printable(what) + "; see " + command + " --help";
}

}  // namespace

int run_command_line(CLI::App& app, int argc, char** argv, const int& exit_code) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "%s\n", usage_line(app, error, argc > 1 ? argv[1] : "").c_str());
    return static_cast<int>(ErrorKind::usage);
  }
  return exit_code;
}

int fail(const Error& error) {
  std::fprintf(stderr, "fathom: %s\n", printable(error.message()).c_str());
  return static_cast<int>(error.kind);
}

int print(const std::string& text) {
  bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (std::fflush(stdout) == 0 && written) return 0;
  return fail({ErrorKind::bad_input, std::string("cannot write: ") + std::strerror(errno),
               "standard output",
               "check that there is room, and that the program it is piped to reads it"});
}

void add_color_option(CLI::App& command, std::string& color) {
  color = "auto";
  command.add_option("--color", color, "auto (on a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
}

Style style_for(const std::string& color) {
  Style style;
  const char* no_color = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  bool is_terminal = isatty(STDOUT_FILENO) == 1;
  bool takes_color =
      is_terminal && !(no_color && *no_color) && terminal && std::strcmp(terminal, "dumb") != 0;
  style.color = color == "always" || (color == "auto" && takes_color);
  winsize size{};
  if (is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    style.width = std::clamp<size_t>(size.ws_col, 80, 120);
  return style;
}

void Progress::show(const std::string& what) {
  if (isatty(STDERR_FILENO) != 1) return;
  std::fprintf(stderr, "\r\033[K%s…", printable(what).c_str());
  std::fflush(stderr);
  shown_ = true;
}
Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

}  // namespace fathom
