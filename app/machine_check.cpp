#include "app/machine_check.h"

#include <dlfcn.h>
#include <glob.h>
#include <unistd.h>

#include <cstdlib>
#include <optional>

#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::optional<std::string> first_match(const std::string& pattern) {
  glob_t found{};
  std::optional<std::string> out;
  if (glob(pattern.c_str(), 0, nullptr, &found) == 0 && found.gl_pathc > 0)
    out = found.gl_pathv[found.gl_pathc - 1];
  globfree(&found);
  return out;
}

/// Whether the dynamic linker finds a library; nothing of it is called. It stays open: vendors'
/// libraries are not made to be unloaded (CUPTI leaves memory behind).
bool can_open(const std::string& name) {
  return dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr;
}

/// The collector looks in the same places.
std::optional<std::string> find_cupti() {
  if (const auto wanted = variable("FATHOM_CUPTI"); !wanted.empty())
    return can_open(wanted) ? std::optional(wanted + " (FATHOM_CUPTI)") : std::nullopt;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"})
    if (can_open(name)) return std::string(name) + " on the library path";
  std::vector<std::string> roots;
  for (const char* name : {"CUDA_HOME", "CUDA_PATH"})
    if (const auto home = variable(name); !home.empty()) roots.push_back(home);
  roots.push_back("/usr/local/cuda*");
  for (const auto& root : roots)
    for (const char* folder : {"/extras/CUPTI/lib64", "/lib64"})
      if (auto path = first_match(root + folder + "/libcupti.so.*"); path && can_open(*path))
        return path;
  return std::nullopt;
}

Check collector(const std::string& thing, const std::string& library, const std::string& cost,
                const std::string& remedy) {
  const std::string path = collector_library(library);
  return {thing, !path.empty(), path.empty() ? library + " is not beside the program" : path, cost,
          remedy};
}

}  // namespace

std::string collector_library(const std::string& name) {
  const std::string program = executable_path();
  const std::string folder = program.substr(0, program.rfind('/'));
  for (const auto& path : {folder + "/" + name, folder + "/../lib/fathom/" + name})
    if (is_regular_file(path)) return path;
  return {};
}

Check check_cuda_collector() {
  return collector("CUDA collector", "libfathom_cuda.so", "nothing on NVIDIA GPUs can be recorded",
                   "build Fathom where the CUDA toolkit's headers are (CUDA_HOME), or carry the "
                   "library along");
}

Check check_exit_collector() {
  return collector("exit hooks", "libfathom_exit.so",
                   "programs that end by _exit or abort lose their last half second",
                   "carry the library along with the program");
}

Check check_numa_runtime() {
  return collector("NUMA runtime", "libfathom_numa.so",
                   "memory accesses and sharing (-e numa) cannot be recorded",
                   "carry the library along with the program");
}

Check check_cuda_driver() {
  const bool works = can_open("libcuda.so.1");
  std::string found = works ? "libcuda.so.1" : "libcuda.so.1 cannot be opened";
  if (auto text = read_text_file("/proc/driver/nvidia/version"))
    found += ", " + std::string(trim(split(*text, '\n').front()));
  return {"NVIDIA driver", works, found, "CUDA programs do not run here",
          "install NVIDIA's driver, or record on a machine that has a GPU"};
}

Check check_gpus() {
  size_t count = 0;
  std::string models;
  if (auto gpus = list_directory("/proc/driver/nvidia/gpus")) {
    for (const auto& gpu : *gpus) {
      ++count;
      auto text = read_text_file("/proc/driver/nvidia/gpus/" + gpu + "/information");
      if (!text) continue;
      for (const auto line : split(*text, '\n'))
        if (starts_with(line, "Model:"))
          models += (models.empty() ? "" : ", ") + std::string(trim(line.substr(6)));
    }
  }
  return {"NVIDIA GPUs", count > 0, count > 0 ? format("%zu: ", count) + models : "none is visible",
          "nothing can be recorded on a GPU here",
          "use a machine with a GPU; in a container, start it with the GPUs (--gpus all)"};
}

Check check_cupti() {
  const auto path = find_cupti();
  return {"CUPTI", path.has_value(), path.value_or("no libcupti.so found"),
          "GPU kernels can neither be timed nor sampled",
          "install the CUDA toolkit (package cuda-cupti), or name a libcupti.so in FATHOM_CUPTI"};
}

Check check_profiling_permission() {
  Check out{"permission to sample", false, "", "pc sampling is refused (CUPTI error 35)",
            "load the nvidia module with NVreg_RestrictProfilingToAdminUsers=0, or run as root (in "
            "a container: --cap-add=SYS_ADMIN)"};
  const auto text = read_text_file("/proc/driver/nvidia/params");
  if (!text) {
    out.found = "no NVIDIA driver is loaded";
    out.remedy = "install NVIDIA's driver, or record on a machine that has a GPU";
    return out;
  }
  const bool restricted = text->find("RmProfilingAdminOnly: 1") != std::string::npos;
  out.works = !restricted || geteuid() == 0;
  out.found = restricted ? (out.works ? "administrators only, and you are one"
                                      : "administrators only, and you are not one")
                         : "every user may";
  return out;
}

Check check_nvdisasm() {
  auto path = find_on_path("nvdisasm");
  if (!path) path = first_match("/usr/local/cuda*/bin/nvdisasm");
  return {"nvdisasm", path.has_value(), path.value_or("not found"),
          "instructions of GPUs that Fathom does not decode itself stay unknown",
          "install the CUDA toolkit (package cuda-nvdisasm)"};
}

Check check_cuda_toolkit() {
  auto path = find_on_path("nvcc");
  if (!path) path = first_match("/usr/local/cuda*/bin/nvcc");
  return {"CUDA toolkit", path.has_value(), path.value_or("no nvcc found"),
          "the CUDA samples cannot be built; recording and calibrating do not need it",
          "install the CUDA toolkit and put its bin folder on PATH"};
}

}  // namespace fathom
