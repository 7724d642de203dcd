#include "app/launch.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>

namespace fathom {
namespace {

std::atomic<pid_t> running{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

/// A terminal sends its signals to the program as well; pass on only those that are meant for us.
void pass_on(int signal, siginfo_t* info, void*) {
  const int saved = errno;
  const pid_t child = running.load();
  if (child > 0 && info->si_code != SI_KERNEL) kill(child, signal);
  errno = saved;
}

[[noreturn]] void become(const std::vector<std::string>& arguments,
                         const std::vector<std::pair<std::string, std::string>>& environment,
                         int report) {
  for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execvp(pointers[0], pointers.data());
  const int error = errno;
  if (write(report, &error, sizeof error) < 0) _exit(126);
  _exit(127);
}

Error cannot_start(const std::string& program, int error) {
  return {ErrorKind::usage, std::string("cannot be started: ") + std::strerror(error), program,
          "check its path and that it may be executed"};
}

Outcome outcome_of(int status) {
  Outcome out;
  if (WIFSIGNALED(status)) {
    out.signal = static_cast<uint32_t>(WTERMSIG(status));
    out.exit_code = 128 + WTERMSIG(status);
  } else {
    out.exit_code = WEXITSTATUS(status);
  }
  return out;
}

}  // namespace

Result<Outcome> launch(const std::vector<std::string>& arguments,
                       const std::vector<std::pair<std::string, std::string>>& environment) {
  int report[2];  // carries the reason if the program cannot be started; closed if it can
  if (pipe2(report, O_CLOEXEC) != 0) return cannot_start(arguments.front(), errno);
  const auto begin = std::chrono::steady_clock::now();
  const pid_t child = fork();
  if (child < 0) {
    const int error = errno;
    close(report[0]), close(report[1]);
    return cannot_start(arguments.front(), error);
  }
  if (child == 0) become(arguments, environment, report[1]);

  running = child;
  struct sigaction action {
  }, old_interrupt{}, old_terminate{};
  action.sa_sigaction = pass_on;
  action.sa_flags = SA_SIGINFO | SA_RESTART;
  sigaction(SIGINT, &action, &old_interrupt);
  sigaction(SIGTERM, &action, &old_terminate);
  close(report[1]);
  int error = 0;
  ssize_t got;
  do {
    got = read(report[0], &error, sizeof error);
  } while (got < 0 && errno == EINTR);
  close(report[0]);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  running = 0;
  sigaction(SIGINT, &old_interrupt, nullptr);
  sigaction(SIGTERM, &old_terminate, nullptr);
  if (got == sizeof error) return cannot_start(arguments.front(), error);
  Outcome out = outcome_of(status);
  out.wall_ns = static_cast<uint64_t>(
      std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return out;
}

}  // namespace fathom
