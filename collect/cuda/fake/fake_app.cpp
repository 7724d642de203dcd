// A program that "uses the GPU" of the test double in one of several ways, for the collector's
// tests: fake_app SCENARIO. It loads the collector as NVIDIA's driver would.

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cuda/fake/fake_cupti.h"

namespace {

struct Gpu {
  decltype(&fake_create_context) create_context;
  decltype(&fake_destroy_context) destroy_context;
  decltype(&fake_load_module) load_module;
  decltype(&fake_unload_module) unload_module;
  decltype(&fake_launch) launch;
  decltype(&fake_launch_with) launch_with;
  decltype(&fake_graph_launch) graph_launch;
  decltype(&fake_copy) copy;
  decltype(&fake_memory_set) memory_set;
  decltype(&fake_allocate) allocate;
  decltype(&fake_synchronize) synchronize;
};
Gpu gpu;

bool open_driver() {
  void* library = dlopen(getenv("FAKE_DRIVER"), RTLD_NOW);
  if (library == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), false;
#define FIND(name) gpu.name = reinterpret_cast<decltype(gpu.name)>(dlsym(library, "fake_" #name))
  FIND(create_context), FIND(destroy_context), FIND(load_module), FIND(unload_module);
  FIND(launch), FIND(launch_with), FIND(graph_launch), FIND(copy), FIND(memory_set), FIND(allocate),
      FIND(synchronize);
#undef FIND
  const char* injected = getenv("CUDA_INJECTION64_PATH");
  if (injected == nullptr) return true;
  void* collector = dlopen(injected, RTLD_NOW | RTLD_LOCAL);
  if (collector == nullptr) return std::fprintf(stderr, "%s\n", dlerror()), false;
  const auto start = reinterpret_cast<int (*)()>(dlsym(collector, "InitializeInjection"));
  return start != nullptr && start() == 1;
}

constexpr char kBinary[] = "a GPU binary, as far as the collector knows";

__attribute__((noinline)) void inner_launch(void* context, uint32_t stream) {
  gpu.launch(context, stream, "_Z6kernelv");
  asm volatile("");
}
__attribute__((noinline)) void outer_launch(void* context, uint32_t stream) {
  inner_launch(context, stream);
  asm volatile("");
}

void* start_context() {
  void* context = gpu.create_context();
  gpu.load_module(context, 1, kBinary, sizeof kBinary);
  return context;
}

void use_all(void* context) {
  gpu.allocate(context, 4096);
  gpu.copy(context, 7, 4096);
  gpu.memory_set(context, 7, 512);
  outer_launch(context, 7);
  gpu.graph_launch(context, 7, 3);
  gpu.synchronize(context);
}

void use_threads(void* context, int threads, int launches) {
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i)
    all.emplace_back([=] {
      for (int k = 0; k < launches; ++k) outer_launch(context, static_cast<uint32_t>(i));
    });
  for (auto& thread : all) thread.join();
}

/// The arguments of saxpy in tests/fixtures/ptx/kernels.cu.
struct Saxpy {
  uint64_t y, x;
  float a;
  int n;
};

void launch_saxpy(void* context, const char* function, Saxpy arguments, bool packed = false,
                  const std::string& code = {}) {
  void* values[] = {&arguments.y, &arguments.x, &arguments.a, &arguments.n};
  size_t size = sizeof arguments;
  void* const pointer_key = reinterpret_cast<void*>(1);  // CU_LAUNCH_PARAM_BUFFER_POINTER
  void* const size_key = reinterpret_cast<void*>(2);     // CU_LAUNCH_PARAM_BUFFER_SIZE
  void* extra[] = {pointer_key, &arguments, size_key, &size, nullptr};
  const FakeLaunch launch{function,
                          context,
                          packed ? nullptr : values,
                          packed ? extra : nullptr,
                          code.empty() ? nullptr : code.data(),
                          code.size()};
  gpu.launch_with(context, "saxpy", &launch);
}

/// Launches 1 to 6 have two different sets of arguments, and the code is loaded within the first; 7
/// and 8 are of kernels that nobody describes or that are given nothing; then come 200 sets.
void use_arguments(void* context) {
  std::ifstream file(getenv("FAKE_CUBIN"), std::ios::binary);
  const std::string cubin{std::istreambuf_iterator<char>(file), {}};
  const Saxpy one{0x7f0000001000, 0x7f0000002000, 2.5f, 4096};
  Saxpy other = one;
  other.n = 8192;
  launch_saxpy(context, "cuLaunchKernel_ptsz", one, false, cubin);
  launch_saxpy(context, "cuLaunchKernel_ptsz", other);
  launch_saxpy(context, "cuLaunchKernel_ptsz", one, true);
  launch_saxpy(context, "cuLaunchKernelEx", other);
  launch_saxpy(context, "cuLaunchKernelEx", one, true);
  launch_saxpy(context, "cuLaunchCooperativeKernel", one);
  int value = 5;
  void* values[] = {&value};
  FakeLaunch launch{"cuLaunchKernel_ptsz", &value, values, nullptr, nullptr, 0};
  gpu.launch_with(context, "described_by_nobody", &launch);
  launch = {"cuLaunchKernel_ptsz", context, nullptr, nullptr, nullptr, 0};
  gpu.launch_with(context, "saxpy", &launch);
  for (int i = 0; i < 200; ++i) {
    other.n = 10000 + i;
    launch_saxpy(context, "cuLaunchKernel_ptsz", other);
  }
}

/// Returns the exit code, or does not return.
int play(const char* scenario, char** arguments) {
  void* context = start_context();
  const auto is = [scenario](const char* name) { return std::strcmp(scenario, name) == 0; };
  if (is("all")) {
    use_all(context);
  } else if (is("arguments")) {
    use_arguments(context);
  } else if (is("threads")) {
    use_threads(context, 8, 500);
  } else if (is("many")) {
    use_threads(context, 2, 20000);
  } else if (is("modules")) {
    for (uint32_t i = 2; i < 20; ++i) {
      gpu.load_module(context, i, kBinary, sizeof kBinary - i);
      outer_launch(context, 1);
      gpu.unload_module(context, i);
    }
  } else if (is("destroy")) {
    outer_launch(context, 1);
    gpu.destroy_context(context);
    outer_launch(start_context(), 1);
  } else if (is("fork")) {
    outer_launch(context, 1);
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 100; ++i) outer_launch(context, 2);
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    outer_launch(context, 3);
    return WEXITSTATUS(status);
  } else if (is("fork_exec") || is("exec")) {
    outer_launch(context, 1);
    const pid_t child = is("exec") ? 0 : fork();
    if (child == 0) {
      execl(arguments[0], arguments[0], "all", static_cast<char*>(nullptr));
      return 99;
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status);
  } else if (is("failed_exec")) {
    outer_launch(context, 1);
    execl("/nonexistent", "x", static_cast<char*>(nullptr));
    outer_launch(context, 2);
    return errno == ENOENT ? 0 : 98;
  } else if (is("_exit")) {
    outer_launch(context, 1);
    _exit(5);
  } else if (is("quick_exit")) {
    outer_launch(context, 1);
    quick_exit(6);
  } else if (is("abort")) {
    outer_launch(context, 1);
    abort();
  } else if (is("kill")) {
    outer_launch(context, 1);
    usleep(1500000);
    outer_launch(context, 2);
    kill(getpid(), SIGKILL);
  } else if (is("errno")) {
    errno = 1234;
    outer_launch(context, 1);
    return errno == 1234 ? 0 : 97;
  } else if (is("hang")) {
    outer_launch(context, 1);
    _exit(0);
  }
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 || !open_driver()) return 90;
  return play(arguments[1], arguments);
}
