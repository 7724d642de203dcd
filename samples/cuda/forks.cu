// Forks before CUDA is used: the child works on the GPU and ends with _exit, the parent never
// touches it.

#include <sys/wait.h>
#include <unistd.h>

#include "sample.h"

constexpr int kSize = 1 << 20;

__global__ void scramble_in_child(uint32_t* values, int rounds) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  uint32_t value = i;
  for (int round = 0; round < rounds; ++round) value = sample::mix(value + round);
  values[i] = value;
}

static void work_on_gpu() {
  sample::DeviceArray<uint32_t> values(kSize);
  const float ms =
      sample::median_ms(20, [&] { scramble_in_child<<<kSize / 256, 256>>>(values.get(), 256); });
  sample::report(sample::checksum(values.to_host()), ms, 20);
  std::fflush(stdout);
}

int main() {
  const pid_t child = fork();
  if (child < 0) {
    std::perror("fork");
    return 1;
  }
  if (child == 0) {
    work_on_gpu();
    _exit(0);  // neither destructors nor atexit handlers run
  }
  int status = 0;
  if (waitpid(child, &status, 0) != child) {
    std::perror("waitpid");
    return 1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
