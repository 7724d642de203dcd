#include "numa/names.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace fathom {
namespace {

constexpr size_t kMostFrames = 1000;

/// Allocators and language libraries: nobody wants to hear that an array was allocated in them.
bool is_library(const std::string& module) {
  constexpr std::array kLibraries = {
      "libc.",     "libc-",        "libstdc++.",      "libc++.",         "libc++abi.",
      "libgcc_s.", "libgfortran.", "libgomp.",        "libomp.",         "libpthread",
      "ld-linux",  "libiomp5.",    "libfathom_numa.", "libfathom_exit.", "libfathom_cuda.",
      "libm.",     "libquadmath.", "libflang",        "libFortran"};
  std::string name = name_of_file(module);
  return std::any_of(kLibraries.begin(), kLibraries.end(),
                     [&](const char* start) { return starts_with(name, start); });
}

bool is_library_function(const std::string& function) {
  constexpr std::array kStarts = {"std::",      "__gnu_cxx::",   "operator new", "operator delete",
                                  "_gfortran_", "__fathom_numa", "__libc_",      "__tsan_"};
  constexpr std::array kNames = {
      "malloc", "calloc",       "realloc", "free", "posix_memalign", "aligned_alloc", "memalign",
      "valloc", "reallocarray", "strdup",  "mmap", "pthread_create", "_start"};
  std::string name = short_name(function);
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](const char* start) { return starts_with(name, start); }) ||
         std::any_of(kNames.begin(), kNames.end(),
                     [&](const char* known) { return name == known; });
}

/// Code of the standard library that the compiler put into the program.
bool is_library_source(const std::string& file) {
  return file.find("/include/c++/") != std::string::npos ||
         file.find("/include/c++/v1/") != std::string::npos || starts_with(file, "/usr/lib/gcc/") ||
         starts_with(file, "/usr/include/");
}

bool is_users(const NamedFrame& frame) {
  return !is_library(frame.module) && !is_library_function(frame.function) &&
         !is_library_source(frame.at.file);
}

}  // namespace

std::string source_name(const std::string& mangled) {
  constexpr std::string_view kModule = "_MOD_";
  size_t at = mangled.find(kModule);
  if (starts_with(mangled, "__") && at != std::string::npos && at > 2)
    return mangled.substr(2, at - 2) + "::" + mangled.substr(at + kModule.size());
  return demangle(mangled);
}

std::string name_of_file(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

const CpuModule* Names::module(uint32_t module) const {
  return module < process_.modules.size() ? &process_.modules[module] : nullptr;
}

std::vector<NamedFrame> Names::code(uint32_t module, uint64_t address) const {
  const CpuModule* known = this->module(module);
  std::string path = known ? known->path : std::string();
  std::vector<NamedFrame> out;
  if (auto found = measurement_.symbols.find({path, address}); found != measurement_.symbols.end())
    for (auto level = found->second.rbegin(); level != found->second.rend(); ++level) {
      NamedFrame& frame =
          out.emplace_back(NamedFrame{source_name(level->function), level->at, path});
      auto pointer = measurement_.pointer_functions.find({path, level->function});
      if (pointer == measurement_.pointer_functions.end()) continue;
      frame.returns_pointer = true;
      frame.returns_void_pointer = pointer->second;
    }
  if (out.empty()) out.push_back({"", {}, path});
  return out;
}

NamedFrame Names::user_code(uint32_t module, uint64_t address) const {
  std::vector<NamedFrame> levels = code(module, address);
  auto own = std::find_if(levels.begin(), levels.end(), is_users);
  return own == levels.end() ? levels.front() : *own;
}

std::vector<NamedFrame> Names::user_frames(uint32_t call_path) const {
  std::vector<NamedFrame> users, others;
  for (size_t left = kMostFrames; call_path < process_.call_paths.size() && left > 0; --left) {
    const CpuFrame& frame = process_.call_paths[call_path];
    for (NamedFrame& level : code(frame.module, frame.address)) {
      if (!is_users(level)) {
        if (level.at.line) others.push_back(std::move(level));
      } else if (!level.function.empty() || !level.module.empty()) {
        users.push_back(std::move(level));
      }
    }
    call_path = frame.parent;
  }
  return users.empty() ? others : users;
}

const std::vector<DataVariable>* Names::variables(uint32_t module) const {
  const CpuModule* known = this->module(module);
  if (known == nullptr) return nullptr;
  auto found = measurement_.variables.find(known->path);
  return found == measurement_.variables.end() ? nullptr : &found->second;
}

std::string Names::start(const NumaThread& thread) const {
  if (thread.start_module == kNoId) return "";
  return short_name(code(thread.start_module, thread.start_address).back().function);
}

std::string Names::thread(const NumaThread& thread) const {
  std::string name = thread.kind == NumaThreadKind::main ? "main" : start(thread);
  std::string number = format("thread %u", thread.index);
  return name.empty() ? number : number + " (" + name + ")";
}

}  // namespace fathom
