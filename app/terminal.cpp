#include "app/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "base/text.h"

namespace fathom {

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
