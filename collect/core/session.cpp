#include "core/session.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace fathom::collect {
namespace {

std::string host_name() {
  char name[256] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == 0) return "unknown";
  return name;
}

std::string executable() {
  char path[PATH_MAX];
  const ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, static_cast<size_t>(size)) : std::string();
}

/// The arguments, joined by spaces.
std::string command_line() {
  std::string text;
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char buffer[4096];
  for (ssize_t size; (size = read(file, buffer, sizeof buffer)) > 0 && text.size() < (64u << 10);)
    text.append(buffer, static_cast<size_t>(size));
  close(file);
  while (!text.empty() && text.back() == 0) text.pop_back();
  for (char& letter : text)
    if (letter == 0) letter = ' ';
  return text;
}

}  // namespace

uint64_t unix_time_ns() {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  return uint64_t(now.tv_sec) * 1000000000u + uint64_t(now.tv_nsec);
}

void say(const std::string& what, const std::string& hint) {
  const int saved = errno;
  std::string line = "fathom: " + what;
  if (!hint.empty()) line += "; " + hint;
  line += '\n';
  if (write(STDERR_FILENO, line.data(), line.size()) < 0) {
    // Nobody listens: the Message record says the same.
  }
  errno = saved;
}

Session& Session::get() {
  static Session* const session = new Session;
  return *session;
}

bool Session::is_own_process() const {
  return process_ != 0 && process_ == getpid();
}

bool Session::begin(const std::string& directory, uint64_t gpu_time_ns) {
  const uint64_t now = unix_time_ns();
  const std::string host = host_name();
  directory_ = directory;
  folder_ = directory + "/" + host + "-" + std::to_string(getpid()) + "-" + std::to_string(now);
  if (mkdir(folder_.c_str(), 0777) != 0 || !file_.open(folder_ + "/process.fathom")) {
    say("cannot write the measurement to " + folder_ + ": " + std::strerror(errno),
        "give a directory that can be written with `fathom record -o DIR`; the program runs on "
        "unmeasured");
    return false;
  }
  process_ = getpid();
  file_.add_text(record::ChunkType::process_start,
                 record::ProcessStart{now, gpu_time_ns, static_cast<uint32_t>(process_),
                                      static_cast<uint32_t>(getppid())},
                 {host, executable(), command_line()});
  modules_.refresh();
  active_.store(true, std::memory_order_release);
  flush();
  return true;
}

void Session::message(record::Severity severity, uint32_t code, const std::string& what,
                      const std::string& hint) {
  say(what, hint);
  add_text(record::ChunkType::message, record::Message{severity, code}, {what, hint});
}

void Session::write_failed(const std::string& path, int error) {
  if (told_of_failure_.exchange(true)) return;
  message(record::Severity::error, 0, "cannot write " + path + ": " + std::strerror(error),
          "make room or choose another directory with -o; the program runs on, and what was "
          "written so far can be read");
}

void Session::flush() {
  int error;
  {
    Locked locked(lock_);
    modules_.write_new(file_);
    file_.flush();
    error = file_.error();
  }
  if (error != 0) write_failed(folder_ + "/process.fathom", error);
}

void Session::end(record::EndReason reason, uint64_t gpu_time_ns) {
  if (!active_.exchange(false)) return;
  modules_.refresh();
  add(record::ChunkType::process_end, record::ProcessEnd{gpu_time_ns, reason, 0});
  flush();
}

}  // namespace fathom::collect
