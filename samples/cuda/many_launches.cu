// Launches a tiny kernel many times, from some frames deep in the stack, through the runtime or
// the driver interface: what a profiler costs for each launch.
// The loop runs ROUNDS times, and its median time is told.
// usage: many_launches [LAUNCHES] [runtime|driver] [DEPTH] [ROUNDS]

#include <cuda.h>

#include <algorithm>
#include <chrono>
#include <functional>

#include "sample.h"

__global__ void count_up(unsigned* counter) {
  if (threadIdx.x == 0) ++*counter;
}

using LaunchKernel = decltype(&cuLaunchKernel);

static LaunchKernel driver_launch() {
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found;
  CHECK(
      cudaGetDriverEntryPointByVersion("cuLaunchKernel", &entry, 12000, cudaEnableDefault, &found));
  if (found == cudaDriverEntryPointSuccess) return reinterpret_cast<LaunchKernel>(entry);
  std::fprintf(stderr, "the driver has no cuLaunchKernel\n");
  std::exit(1);
}

// The addition after the call keeps the compiler from making a loop or a jump of it.
__attribute__((noinline)) static int at_depth(int depth, const std::function<int()>& work) {
  return depth > 0 ? at_depth(depth - 1, work) + 1 : work();
}

int main(int argc, char** argv) {
  const auto begin = std::chrono::steady_clock::now();
  const int launches = sample::launches(argc, argv, 10000);
  const bool driver = argc > 2 && std::strcmp(argv[2], "driver") == 0;
  const int depth = argc > 3 ? std::atoi(argv[3]) : 8;
  const int rounds = argc > 4 ? std::max(1, std::atoi(argv[4])) : 1;

  sample::DeviceArray<unsigned> counter(1);
  unsigned* counter_address = counter.get();
  std::function<int()> launch = [&] {
    count_up<<<1, 32>>>(counter_address);
    CHECK(cudaGetLastError());
    return 0;
  };
  if (driver) {
    cudaFunction_t function;
    CHECK(cudaGetFuncBySymbol(&function, reinterpret_cast<const void*>(count_up)));
    launch = [=, launch_kernel = driver_launch()]() mutable {
      void* arguments[] = {&counter_address};
      return int(launch_kernel(function, 1, 1, 1, 32, 1, 1, 0, nullptr, arguments, nullptr));
    };
  }

  // The first launch loads the code, which is part of the start.
  int depths = at_depth(depth, launch);  // a launch that fails adds its error
  CHECK(cudaDeviceSynchronize());

  const auto start = std::chrono::steady_clock::now();
  std::vector<double> loops;
  for (int round = 0; round < rounds; ++round) {
    const auto begin_loop = std::chrono::steady_clock::now();
    for (int i = 0; i < launches; ++i) depths += at_depth(depth, launch);
    CHECK(cudaDeviceSynchronize());
    const auto end_loop = std::chrono::steady_clock::now();
    loops.push_back(std::chrono::duration<double>(end_loop - begin_loop).count());
  }
  std::nth_element(loops.begin(), loops.begin() + rounds / 2, loops.end());

  std::printf("checksum %u\n", counter.to_host()[0]);
  const std::chrono::duration<double> setup = start - begin;
  std::printf("setup_seconds %.6f\nloop_seconds %.6f\nlaunches %d\n", setup.count(),
              loops[rounds / 2], launches);
  return depths == (launches * rounds + 1) * depth ? 0 : 1;
}
