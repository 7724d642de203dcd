#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>

#include "base/files.h"
#include "base/text.h"
#include "binary/decoder.h"

namespace fathom {
namespace {

bool is_program(const std::string& path) {
  return is_regular_file(path) && access(path.c_str(), X_OK) == 0;
}

std::optional<std::string> first_program(const std::string& pattern) {
  glob_t found{};
  std::optional<std::string> program;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
    for (size_t i = found.gl_pathc; i-- > 0 && !program;)  // the newest toolkit sorts last
      if (is_program(found.gl_pathv[i])) program = found.gl_pathv[i];
  }
  globfree(&found);
  return program;
}

/// Where Python keeps its packages, user packages included.
std::optional<std::string> in_python_packages() {
  Result<std::string> folders =
      run_program({"python3", "-c",
                   "import site,sysconfig;print('\\n'.join([sysconfig.get_paths()['purelib'],"
                   "site.getusersitepackages()]+site.getsitepackages()))"});
  if (!folders) return std::nullopt;
  for (std::string_view folder : split(*folders, '\n')) {
    if (folder.empty()) continue;
    std::optional<std::string> program =
        first_program(std::string(folder) + "/nvidia/*/bin/nvdisasm");
    if (program) return program;
  }
  return std::nullopt;
}

std::optional<std::string> search() {
  if (std::optional<std::string> program = find_on_path("nvdisasm")) return program;
  if (is_program("/usr/local/cuda/bin/nvdisasm")) return "/usr/local/cuda/bin/nvdisasm";
  if (std::optional<std::string> program = first_program("/usr/local/cuda-*/bin/nvdisasm"))
    return program;
  return in_python_packages();
}

}  // namespace

std::optional<std::string> find_nvdisasm() {
  // Named by the user: that one or none, so that a mistyped path does not go unnoticed.
  if (const char* named = std::getenv("FATHOM_NVDISASM"); named && *named)
    return is_program(named) ? std::optional<std::string>(named) : std::nullopt;
  static std::mutex guard;
  static std::optional<std::optional<std::string>> found;
  std::lock_guard lock(guard);
  if (!found) found = search();
  return *found;
}

Result<std::string> run_nvdisasm(const std::string& nvdisasm, const std::string& cubin_path) {
  Result<std::string> text = run_program({nvdisasm, "-c", cubin_path});
  if (text) return text;
  Error error = text.error();
  if (error.what.find("architecture") != error.what.npos)
    error.hint = "a newer nvdisasm may know this architecture: pip install -U nvidia-cuda-nvdisasm";
  return error;
}

}  // namespace fathom
