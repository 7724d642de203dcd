#include "base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>

#include "base/text.h"

extern char** environ;

namespace fathom {
namespace {

Error system_error(const std::string& path, const char* doing) {
  return {ErrorKind::bad_input, format("cannot %s: %s", doing, std::strerror(errno)), path, ""};
}

template <class Container>
Result<Container> read_whole(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return system_error(path, "open");
  struct stat facts {};
  if (fstat(file, &facts) == 0 && S_ISDIR(facts.st_mode)) {
    close(file);
    return Error{ErrorKind::bad_input, "is a directory, not a file", path, ""};
  }
  Container content;
  // One byte more, so that the end is found without growing.
  content.resize(facts.st_size > 0 ? facts.st_size + 1 : 0);
  size_t done = 0;
  for (;;) {
    if (done == content.size()) content.resize(done + (done ? done / 2 : 4096));
    ssize_t got = read(file, content.data() + done, content.size() - done);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      Error error = system_error(path, "read");
      close(file);
      return error;
    }
    if (got == 0) break;
    done += got;
  }
  close(file);
  content.resize(done);
  return content;
}

std::string drain(int file) {
  std::string text;
  char buffer[65536];
  for (;;) {
    ssize_t got = read(file, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer, got);
  }
}

/// A file without a name for a child's standard error: a second pipe could fill up and block it.
int anonymous_file() {
  char path[] = "/tmp/fathom-XXXXXX";
  int file = mkostemp(path, O_CLOEXEC);
  if (file >= 0) unlink(path);
  return file;
}

}  // namespace

Result<std::vector<uint8_t>> read_file(const std::string& path) {
  return read_whole<std::vector<uint8_t>>(path);
}
Result<std::string> read_text_file(const std::string& path) {
  return read_whole<std::string>(path);
}

Result<Done> write_file(const std::string& path, std::string_view content) {
  std::string temporary = path + format(".%d.tmp", getpid());
  int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return system_error(path, "create");
  while (!content.empty()) {
    ssize_t done = write(file, content.data(), content.size());
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) {
      Error error = system_error(path, "write");
      close(file);
      unlink(temporary.c_str());
      return error;
    }
    content.remove_prefix(done);
  }
  close(file);
  if (rename(temporary.c_str(), path.c_str()) != 0) {
    Error error = system_error(path, "create");
    unlink(temporary.c_str());
    return error;
  }
  return Done{};
}

bool is_directory(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode);
}

bool is_regular_file(const std::string& path) {
  struct stat facts {};
  return stat(path.c_str(), &facts) == 0 && S_ISREG(facts.st_mode);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  DIR* directory = opendir(path.c_str());
  if (!directory) return system_error(path, "open");
  std::vector<std::string> names;
  while (const dirent* entry = readdir(directory)) {
    std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(std::move(name));
  }
  closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

std::string executable_path() {
  char path[PATH_MAX];
  ssize_t size = readlink("/proc/self/exe", path, sizeof path);
  return size > 0 ? std::string(path, size) : std::string();
}

std::optional<std::string> find_on_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (std::string_view folder : split(path ? path : "", ':')) {
    std::string candidate = std::string(folder.empty() ? "." : folder) + "/" + name;
    if (is_regular_file(candidate) && access(candidate.c_str(), X_OK) == 0) return candidate;
  }
  return std::nullopt;
}

Result<std::string> run_program(const std::vector<std::string>& arguments) {
  FATHOM_INVARIANT(!arguments.empty());
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return system_error(arguments[0], "start");
  int errors = anonymous_file();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  if (errors >= 0) posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  int failure = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string output = failure ? "" : drain(ends[0]);
  close(ends[0]);
  std::string complaint;
  int status = 0;
  if (!failure) {
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (errors >= 0 && lseek(errors, 0, SEEK_SET) == 0) complaint = drain(errors);
  }
  if (errors >= 0) close(errors);
  if (failure) {
    errno = failure;
    return system_error(arguments[0], "start");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return output;
  std::string how = WIFEXITED(status) ? format("exited with %d", WEXITSTATUS(status))
                                      : format("was ended by signal %d", WTERMSIG(status));
  std::string first_line = complaint.substr(0, complaint.find('\n'));
  return Error{ErrorKind::bad_input, first_line.empty() ? how : how + ": " + first_line,
               arguments[0], ""};
}

}  // namespace fathom
