#include "cuda/cupti_table.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace fathom::collect::cuda {
namespace {

int find_loaded(dl_phdr_info* info, size_t, void* data) {
  const char* path = info->dlpi_name;
  if (path == nullptr) return 0;
  const char* slash = std::strrchr(path, '/');
  if (std::strncmp(slash == nullptr ? path : slash + 1, "libcupti.so", 11) != 0) return 0;
  *static_cast<std::string*>(data) = path;
  return 1;
}

/// Libraries of toolkits in the usual places, newest version first.
std::vector<std::string> toolkit_libraries() {
  std::vector<std::string> patterns;
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* home = std::getenv(variable); home != nullptr && *home != 0) {
      patterns.push_back(std::string(home) + "/extras/CUPTI/lib64/libcupti.so.*");
      patterns.push_back(std::string(home) + "/lib64/libcupti.so.*");
    }
  patterns.push_back("/usr/local/cuda*/extras/CUPTI/lib64/libcupti.so.*");
  patterns.push_back("/usr/local/cuda*/lib64/libcupti.so.*");
  std::vector<std::string> out;
  for (const auto& pattern : patterns) {
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0)
      for (size_t i = found.gl_pathc; i-- > 0;) out.push_back(found.gl_pathv[i]);
    globfree(&found);
  }
  return out;
}

}  // namespace

bool CuptiTable::open(const std::string& name) {
  library_ = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) {
    if (const char* reason = dlerror(); reason != nullptr && problem_.empty()) problem_ = reason;
    return false;
  }
  path_ = name;
  return true;
}

bool CuptiTable::open_any() {
  if (const char* wanted = std::getenv("FATHOM_CUPTI"); wanted != nullptr && *wanted != 0)
    return open(wanted);
  std::string loaded;
  dl_iterate_phdr(find_loaded, &loaded);
  if (!loaded.empty() && open(loaded)) return true;
  for (const char* name : {"libcupti.so.13", "libcupti.so.12"})
    if (open(name)) return true;
  for (const auto& path : toolkit_libraries())
    if (open(path)) return true;
  return false;
}

bool CuptiTable::resolve() {
  const auto find = [this](const char* name) { return dlsym(library_, name); };
#define FATHOM_RESOLVE(name)                            \
  name = reinterpret_cast<decltype(name)>(find(#name)); \
  if (name == nullptr) {                                \
    problem_ = path_ + " has no " #name;                \
    return false;                                       \
  }
  FATHOM_CUPTI_REQUIRED(FATHOM_RESOLVE)
#undef FATHOM_RESOLVE
  can_sample_ = true;
#define FATHOM_RESOLVE(name)                            \
  name = reinterpret_cast<decltype(name)>(find(#name)); \
  can_sample_ = can_sample_ && name != nullptr;
  FATHOM_CUPTI_SAMPLING(FATHOM_RESOLVE)
#undef FATHOM_RESOLVE
  return true;
}

bool CuptiTable::load() {
  return open_any() && resolve();
}

std::string CuptiTable::describe(CUptiResult result) const {
  const char* text = nullptr;
  if (cuptiGetResultString != nullptr && cuptiGetResultString(result, &text) == CUPTI_SUCCESS &&
      text != nullptr)
    return text;
  return "CUPTI error " + std::to_string(result);
}

std::string remedy(CUptiResult result) {
  switch (static_cast<int>(result)) {
    case CUPTI_ERROR_INSUFFICIENT_PRIVILEGES:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES:
      return "the driver lets only administrators profile: load the nvidia module with "
             "NVreg_RestrictProfilingToAdminUsers=0, or run as root (in a container: "
             "--cap-add=SYS_ADMIN)";
    case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
      return "another profiler or debugger of NVIDIA's is attached to the program: end it and "
             "record again";
    case CUPTI_ERROR_NOT_COMPATIBLE:
    case CUPTI_ERROR_OLD_PROFILER_API_INITIALIZED:
    case CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED:
    case CUPTI_ERROR_API_NOT_IMPLEMENTED:
    case CUPTI_ERROR_NOT_INITIALIZED:
      return "CUPTI and the driver do not fit: update the driver, or name the libcupti.so of a "
             "toolkit that the driver supports in FATHOM_CUPTI (nvidia-smi shows the version)";
    case CUPTI_ERROR_HARDWARE_BUSY:
      return "another profiler uses the GPU's counters: end it and record again";
    case CUPTI_ERROR_DISABLED:
      return "CUPTI is switched off: unset the variables of other profilers and record again";
    case CUPTI_ERROR_OUT_OF_MEMORY:
      return "memory is short: sample less often (pc@K with a larger K) or free GPU memory";
    case CUPTI_ERROR_NOT_SUPPORTED:
    case CUPTI_ERROR_VIRTUALIZED_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED:
    case CUPTI_ERROR_CMP_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_SLI_DEVICE_NOT_SUPPORTED:
    case CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED:
      return "this GPU or its setting (virtual, confidential, MIG) cannot do it: record with -e "
             "gpu=cuda alone, or on another GPU";
    default:
      return "run `fathom doctor` to see what works here";
  }
}

}  // namespace fathom::collect::cuda
