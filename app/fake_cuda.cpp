// A CUDA driver without a GPU, for the tests of `fathom calibrate`: it compiles PTX with ptxas, so
// that the machine code is real, and "runs" a kernel by writing the times that one with four cycles
// for each line of its PTX would write.

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

namespace {

constexpr int kMultiprocessors = 6;
constexpr int kNoBinary = 209;
double now_ms = 0;
std::string ptx, cubin;

std::string shell_name(const char* suffix) {
  return "/tmp/fathom-fake-cuda-" + std::to_string(getpid()) + suffix;
}

bool assemble() {
  const char* ptxas = std::getenv("FAKE_CUDA_PTXAS");
  const std::string source = shell_name(".ptx"), object = shell_name(".cubin");
  std::ofstream(source) << ptx;
  const std::string command =
      std::string(ptxas ? ptxas : "ptxas") + " -arch=sm_90 " + source + " -o " + object;
  const bool done = std::system(command.c_str()) == 0;
  std::ifstream in(object, std::ios::binary);
  cubin.assign(std::istreambuf_iterator<char>(in), {});
  unlink(source.c_str());
  unlink(object.c_str());
  return done;
}

/// Cycles of a round of the function with this handle: its lines of PTX are in the handle.
uint64_t cycles_of_round(void* function) {
  return 4 * reinterpret_cast<uint64_t>(function);
}

void write_times(uint64_t* out, uint64_t cycles, unsigned blocks, unsigned threads) {
  const unsigned warps = (threads + 31) / 32;
  for (unsigned block = 0; block < blocks; ++block) {
    const uint64_t begin = 1000 + block / kMultiprocessors * (cycles + 700);
    for (unsigned warp = 0; warp < warps; ++warp) {
      uint64_t* entry = out + 3 * (uint64_t(block) * warps + warp);
      entry[0] = begin;
      entry[1] = begin + cycles;
      entry[2] = block % kMultiprocessors;
    }
  }
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  return 0;
}
int cuDeviceGet(int* device, int index) {
  return (*device = index) == 0 ? 0 : 101;
}
int cuDeviceGetName(char* name, int size, int) {
  std::snprintf(name, static_cast<size_t>(size), "Fake GPU");
  return 0;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  switch (attribute) {
    case 16:
      *value = kMultiprocessors;
      break;
    case 38:
      *value = 50 << 20;
      break;
    case 75:
      *value = 9;
      break;
    case 76:
      *value = 0;
      break;
    case 97:
      *value = 232448;
      break;
    default:
      *value = 0;
  }
  return 0;
}
int cuDeviceGetPCIBusId(char* text, int size, int) {
  std::snprintf(text, static_cast<size_t>(size), "0000:00:00.0");
  return 0;
}
int cuDevicePrimaryCtxRetain(void** context, int) {
  *context = &now_ms;
  return 0;
}
int cuDevicePrimaryCtxRelease_v2(int) {
  return 0;
}
int cuCtxSetCurrent(void*) {
  return 0;
}
int cuCtxSynchronize() {
  return 0;
}
int cuGetErrorString(int code, const char** text) {
  *text = code == kNoBinary ? "no binary for this GPU" : "an error of the fake driver";
  return 0;
}
int cuLinkCreate_v2(unsigned, int*, void**, void** state) {
  *state = &ptx;
  return 0;
}
int cuLinkAddData_v2(void*, int, void* data, size_t, const char*, unsigned, int*, void**) {
  ptx = static_cast<const char*>(data);
  return 0;
}
int cuLinkComplete(void*, void** image, size_t* size) {
  if (!assemble()) return kNoBinary;
  *image = cubin.data();
  *size = cubin.size();
  return 0;
}
int cuLinkDestroy(void*) {
  return 0;
}
int cuModuleLoadData(void** module, const void*) {
  // A function is known by its length; one that writes no times is 1 long.
  const bool timed = ptx.find("p_rounds") != std::string::npos;
  *module = reinterpret_cast<void*>(timed ? std::count(ptx.begin(), ptx.end(), '\n') : 1);
  return 0;
}
int cuModuleUnload(void*) {
  return 0;
}
int cuModuleGetFunction(void** function, void* module, const char*) {
  *function = module;
  return 0;
}
int cuFuncSetAttribute(void*, int, int) {
  return 0;
}
/// As much as is asked for, none of it there before it is touched.
int cuMemAlloc_v2(uint64_t* address, size_t bytes) {
  void* memory = mmap(nullptr, bytes + 4096, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return 2;
  std::memcpy(memory, &bytes, sizeof(bytes));
  *address = reinterpret_cast<uint64_t>(memory) + 4096;
  return 0;
}
int cuMemFree_v2(uint64_t address) {
  size_t bytes = 0;
  char* memory = reinterpret_cast<char*>(address - 4096);
  std::memcpy(&bytes, memory, sizeof(bytes));
  return munmap(memory, bytes + 4096);
}
int cuMemsetD8_v2(uint64_t, unsigned char, size_t) {
  return 0;
}
int cuMemcpyHtoD_v2(uint64_t to, const void* from, size_t bytes) {
  std::memcpy(reinterpret_cast<void*>(to), from, bytes);
  return 0;
}
int cuMemcpyDtoH_v2(void* to, uint64_t from, size_t bytes) {
  std::memcpy(to, reinterpret_cast<const void*>(from), bytes);
  return 0;
}
int cuLaunchKernel(void* function, unsigned blocks, unsigned, unsigned, unsigned threads, unsigned,
                   unsigned, unsigned, void*, void** arguments, void**) {
  uint64_t values[2] = {0, 0};
  const bool timed = function != reinterpret_cast<void*>(1);
  for (int i = 0; i < (timed ? 2 : 1); ++i) std::memcpy(&values[i], arguments[i], 8);
  const uint64_t cycles = values[1] * cycles_of_round(function);
  if (timed) write_times(reinterpret_cast<uint64_t*>(values[0]), cycles, blocks, threads);
  const double waves = blocks / kMultiprocessors + 1.0;
  now_ms += 0.002 + waves * 1e-5 + static_cast<double>(cycles) / 1.5e6;
  return 0;
}
int cuStreamCreate(void** stream, unsigned) {
  *stream = &now_ms;
  return 0;
}
int cuStreamDestroy_v2(void*) {
  return 0;
}
int cuEventCreate(void** event, unsigned) {
  *event = new double(0);
  return 0;
}
int cuEventDestroy_v2(void* event) {
  delete static_cast<double*>(event);
  return 0;
}
int cuEventRecord(void* event, void*) {
  *static_cast<double*>(event) = now_ms;
  return 0;
}
int cuEventSynchronize(void*) {
  return 0;
}
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  *ms = static_cast<float>(*static_cast<double*>(end) - *static_cast<double*>(begin));
  return 0;
}
int cuStreamBeginCapture_v2(void*, int) {
  return 0;
}
int cuStreamEndCapture(void*, void** graph) {
  *graph = &now_ms;
  return 0;
}
int cuGraphInstantiateWithFlags(void** executable, void*, unsigned long long) {
  *executable = &now_ms;
  return 0;
}
int cuGraphLaunch(void*, void*) {
  now_ms += 0.5;
  return 0;
}
int cuGraphExecDestroy(void*) {
  return 0;
}
int cuGraphDestroy(void*) {
  return 0;
}
}
