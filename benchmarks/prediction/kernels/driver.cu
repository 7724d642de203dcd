// Runs the corpus:
//   corpus list                      the launches, without a GPU
//   corpus times SECONDS OUT         times each launch; SECONDS for all
//   corpus power SECONDS OUT [EACH]  loops each launch for EACH seconds (0.7) and measures its power
//   corpus zeros SECONDS OUT [EACH]  the same of one launch of each kernel, with zeros for all floats
// OUT is a table (TSV); lines already in it are kept, and their launches are left out. The first
// launch of each kernel comes first, then the second of each, so that little time still sees all.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <numeric>
#include <set>
#include <sstream>
#include <thread>

#include "cases.h"
#include "nvml.h"

namespace bench {

std::vector<Register>& registrations() {
  static std::vector<Register> all;
  return all;
}

namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values.empty() ? 0 : values[values.size() / 2];
}

std::string text_of(dim3 d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

std::string file_of(const Case& one) {
  size_t slash = one.file.rfind('/');
  return slash == std::string::npos ? one.file : one.file.substr(slash + 1);
}

/// "n=4096;x=@16384": arguments in their order, @ and the bytes for a buffer.
std::string arguments_of(const Case& one) {
  std::string text;
  for (const Argument& a : one.arguments)
    text += (text.empty() ? "" : ";") + a.name + "=" +
            (a.fill == Argument::Fill::none ? a.text : "@" + std::to_string(a.bytes));
  return text.empty() ? "-" : text;
}

/// The line of the source with the comment "KIND: MARKER"; 0 if there is none.
int marked_line(const std::string& path, const std::string& kind, const std::string& marker) {
  std::ifstream in(path);
  std::string line, wanted = kind + ": " + marker;
  for (int number = 1; std::getline(in, line); number++) {
    size_t at = line.find(wanted);
    if (at != std::string::npos && at + wanted.size() == line.size()) return number;
  }
  return 0;
}

/// "71=8688;80=1" of the lines that are marked so.
std::string marked_of(const Case& one, const char* kind,
                      const std::vector<std::pair<std::string, double>>& values) {
  std::string text;
  for (const auto& [marker, value] : values) {
    char part[64];
    std::snprintf(part, sizeof(part), "%d=%g", marked_line(one.file, kind, marker), value);
    text += (text.empty() ? "" : ";") + std::string(part);
  }
  return text.empty() ? "-" : text;
}
std::string trips_of(const Case& one) {
  return marked_of(one, "trips", one.trip_counts);
}
std::string near_of(const Case& one) {
  return marked_of(one, "near", one.near_bytes);
}

/// "x=f32;keys=u32:0..63": what buffers hold before the kernel runs, of those that are not just zeros.
std::string contents_of(const Case& one) {
  std::string text;
  for (const Argument& a : one.arguments) {
    if (a.type.empty()) continue;
    text += (text.empty() ? "" : ";") + a.name + "=" + a.type;
    if (!a.write) continue;
    std::vector<char> copy(a.bytes);
    a.write(copy.data());
    text += ":" + a.bounds(copy.data());
  }
  return text.empty() ? "-" : text;
}

/// What names a launch, and the first columns of each table.
std::string key_of(const Case& one) {
  return one.kernel + "\t" + file_of(one) + "\t" + text_of(one.grid) + "\t" + text_of(one.block) +
         "\t" + std::to_string(one.shared) + "\t" + arguments_of(one);
}

/// All launches: the first of each kernel, then the second... with each kernel's spread, so that
/// neighbours in its list are not taken one after the other.
std::vector<Case> all_cases() {
  Cases cases;
  for (Register add : registrations()) add(cases);
  std::map<std::string, std::vector<size_t>> by_kernel;
  for (size_t i = 0; i < cases.all.size(); i++) by_kernel[cases.all[i].kernel].push_back(i);
  std::vector<std::pair<double, size_t>> order;
  for (auto& [kernel, indices] : by_kernel) {
    size_t count = indices.size(), step = std::max<size_t>(1, count * 0.38);
    while (std::gcd(step, count) != 1) step++;
    for (size_t i = 0; i < count; i++)
      order.emplace_back(i, indices[(count / 2 + i * step) % count]);
  }
  std::stable_sort(order.begin(), order.end());
  std::vector<Case> sorted;
  for (auto& [rank, index] : order) sorted.push_back(cases.all[index]);
  return sorted;
}

__device__ unsigned mix(size_t i) {
  unsigned long long x = i * 0x9E3779B97F4A7C15ull + 0x7F4A7C15ull;
  x ^= x >> 29;
  x *= 0xBF58476D1CE4E5B9ull;
  return (unsigned)(x >> 32);
}
__global__ void fill_floats(float* to, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    to[i] = mix(i) * 2.3283064e-10f;
}
__global__ void fill_doubles(double* to, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    to[i] = mix(i) * 2.3283064365386963e-10;
}
__global__ void fill_ints(unsigned* to, size_t n, unsigned below) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    to[i] = mix(i) % below;
}

/// Device memory for one launch's buffers, given out from one block.
class Arena {
 public:
  bool reserve(size_t bytes) {
    if (bytes <= size_) return true;
    cudaFree(base_);
    base_ = nullptr;
    size_ = 0;
    if (cudaMalloc(&base_, bytes) != cudaSuccess) return false;
    size_ = bytes;
    return true;
  }
  char* base() const { return base_; }

 private:
  char* base_ = nullptr;
  size_t size_ = 0;
};

size_t aligned(size_t bytes) { return (bytes + 511) / 512 * 512; }

bool has_floats(const Case& one) {
  return std::any_of(one.arguments.begin(), one.arguments.end(), [](const Argument& a) {
    return a.fill == Argument::Fill::floats || a.fill == Argument::Fill::doubles;
  });
}

/// The first launch of each kernel that has floats, with zeros instead.
std::vector<Case> with_zeros(const std::vector<Case>& cases) {
  std::vector<Case> chosen;
  std::set<std::string> seen;
  for (const Case& each : cases) {
    if (!has_floats(each) || !seen.insert(each.kernel).second) continue;
    chosen.push_back(each);
    for (Argument& a : chosen.back().arguments)
      if (a.fill == Argument::Fill::floats || a.fill == Argument::Fill::doubles)
        a.fill = Argument::Fill::zero;
  }
  return chosen;
}

/// Allocates and fills a launch's buffers; their addresses become the arguments' bits.
bool prepare(Case& one, Arena& arena) {
  size_t total = 0;
  for (const Argument& a : one.arguments) total += aligned(a.bytes);
  if (!arena.reserve(std::max<size_t>(total, 4ull << 30))) return false;
  char* at = arena.base();
  for (Argument& a : one.arguments) {
    if (a.fill == Argument::Fill::none) continue;
    std::memcpy(&a.bits, &at, sizeof(at));
    switch (a.fill) {
      case Argument::Fill::floats: fill_floats<<<1056, 256>>>((float*)at, a.bytes / 4); break;
      case Argument::Fill::doubles: fill_doubles<<<1056, 256>>>((double*)at, a.bytes / 8); break;
      case Argument::Fill::ints: fill_ints<<<1056, 256>>>((unsigned*)at, a.bytes / 4, a.below); break;
      case Argument::Fill::host: {
        std::vector<char> copy(a.bytes);
        a.write(copy.data());
        cudaMemcpy(at, copy.data(), a.bytes, cudaMemcpyHostToDevice);
        break;
      }
      default: cudaMemset(at, 0, a.bytes);
    }
    at += aligned(a.bytes);
  }
  return cudaDeviceSynchronize() == cudaSuccess;
}

class Launcher {
 public:
  explicit Launcher(Case& one) : one_(one) {
    for (Argument& a : one.arguments) pointers_.push_back(&a.bits);
    if (one.shared > 48 << 10)
      cudaFuncSetAttribute(one.function, cudaFuncAttributeMaxDynamicSharedMemorySize,
                           (int)one.shared);
  }
  void launch() {
    cudaLaunchKernel(one_.function, one_.grid, one_.block, pointers_.data(), one_.shared, nullptr);
  }
  void launch(int times) {
    for (int i = 0; i < times; i++) launch();
  }

 private:
  Case& one_;
  std::vector<void*> pointers_;
};

struct Events {
  cudaEvent_t begin, end;
  Events() {
    cudaEventCreate(&begin);
    cudaEventCreate(&end);
  }
  ~Events() {
    cudaEventDestroy(begin);
    cudaEventDestroy(end);
  }
  /// Microseconds of what `work` puts on the stream.
  template <class F>
  double time_us(F work) {
    cudaEventRecord(begin);
    work();
    cudaEventRecord(end);
    cudaEventSynchronize(end);
    float ms = 0;
    cudaEventElapsedTime(&ms, begin, end);
    return ms * 1e3;
  }
};

/// A table that is written line by line, and what it held before.
class Table {
 public:
  Table(const char* path, const char* columns) {
    std::ifstream before(path);
    std::string line;
    bool empty = true;
    while (std::getline(before, line)) {
      empty = false;
      size_t end = 0;
      for (int tab = 0; tab < 6 && end != std::string::npos; tab++) end = line.find('\t', end + 1);
      done_.insert(line.substr(0, end));
    }
    file_ = std::fopen(path, "a");
    if (file_ && empty) std::fprintf(file_, "kernel\tfile\tgrid\tblock\tshared\targuments\t%s\n", columns);
  }
  ~Table() {
    if (file_) std::fclose(file_);
  }
  bool ok() const { return file_ != nullptr; }
  bool has(const std::string& key) const { return done_.count(key) != 0; }
  void write(const std::string& line) {
    std::fprintf(file_, "%s\n", line.c_str());
    std::fflush(file_);
  }

 private:
  std::set<std::string> done_;
  FILE* file_ = nullptr;
};

__global__ void flush_cache(float4* data, size_t n) {
  for (size_t i = blockIdx.x * (size_t)blockDim.x + threadIdx.x; i < n;
       i += (size_t)gridDim.x * blockDim.x)
    data[i].x += 1.0f;
}

struct Machine {
  Nvml nvml;
  Arena arena;
  float4* flushed = nullptr;
  static constexpr size_t kFlushBytes = 256 << 20;

  bool open() {
    std::string error;
    if (cudaMalloc(&flushed, kFlushBytes) != cudaSuccess) {
      std::fprintf(stderr, "no GPU: %s\n", cudaGetErrorString(cudaGetLastError()));
      return false;
    }
    if (!nvml.open(0, error)) std::fprintf(stderr, "no NVML: %s\n", error.c_str());
    return true;
  }
  void flush() { flush_cache<<<1056, 256>>>(flushed, kFlushBytes / sizeof(float4)); }
};

/// Warms a launch up; microseconds of one, or below 0 after an error.
double warm_up(Launcher& launcher, Events& events) {
  launcher.launch();
  if (cudaDeviceSynchronize() != cudaSuccess) return -1;
  double once = events.time_us([&] { launcher.launch(); });
  if (once < 2000) once = events.time_us([&] { launcher.launch(10); }) / 10;
  return cudaGetLastError() == cudaSuccess ? std::max(once, 1.0) : -1;
}

std::string time_case(Case& one, Machine& machine) {
  Events events;
  Launcher launcher(one);
  double once = warm_up(launcher, events);
  if (once < 0) return "";
  int batches = once > 10000 ? 3 : 7;
  int repetitions = std::clamp((int)std::lround(5000 / once), 1, 2000);
  std::vector<double> times, single, cold;
  unsigned clock = 0;
  for (int b = 0; b < batches; b++) {
    times.push_back(events.time_us([&] {
      launcher.launch(repetitions);
      if (b == batches - 1) clock = machine.nvml.sm_mhz();
    }) / repetitions);
  }
  for (int s = 0; s < (once > 10000 ? 1 : 5); s++)
    single.push_back(events.time_us([&] { launcher.launch(); }));
  for (int c = 0; c < (once > 10000 ? 1 : 3); c++) {
    machine.flush();
    cold.push_back(events.time_us([&] { launcher.launch(); }));
  }
  if (cudaDeviceSynchronize() != cudaSuccess) return "";
  cudaFuncAttributes attributes{};
  cudaFuncGetAttributes(&attributes, one.function);
  char line[1000];
  std::snprintf(line, sizeof(line), "%s\t%s\t%s\t%d\t%zu\t%zu\t%d\t%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%u\t%u",
                trips_of(one).c_str(), near_of(one).c_str(), contents_of(one).c_str(), attributes.numRegs, attributes.sharedSizeBytes,
                attributes.localSizeBytes, repetitions * batches, median(times),
                *std::min_element(times.begin(), times.end()),
                *std::max_element(times.begin(), times.end()), median(single), median(cold), clock,
                machine.nvml.memory_mhz());
  return key_of(one) + "\t" + line;
}

struct Sample {
  double seconds, watts;
  uint64_t energy;
  unsigned mhz, celsius;
};

/// Watts from the energy counter between its first and last change after `from` seconds.
double counter_watts(const std::vector<Sample>& samples, double from) {
  const Sample *first = nullptr, *last = nullptr;
  for (size_t i = 1; i < samples.size(); i++) {
    if (samples[i].seconds < from || samples[i].energy == samples[i - 1].energy) continue;
    if (!first) first = &samples[i];
    last = &samples[i];
  }
  if (!first || last == first) return 0;
  return (last->energy - first->energy) / 1e3 / (last->seconds - first->seconds);
}

double mean_after(const std::vector<Sample>& samples, double from, double (*value)(const Sample&)) {
  double sum = 0;
  int count = 0;
  for (const Sample& s : samples)
    if (s.seconds >= from) {
      sum += value(s);
      count++;
    }
  return count ? sum / count : 0;
}

/// Samples until `done()`; the reader's own work is small beside the launches.
template <class F>
std::vector<Sample> sample_until(const Nvml& nvml, F done) {
  std::vector<Sample> samples;
  Clock::time_point start = Clock::now();
  while (!done()) {
    Sample s;
    s.energy = nvml.energy_mj();
    s.seconds = since(start);
    s.watts = nvml.power_w();
    s.mhz = nvml.sm_mhz();
    s.celsius = nvml.temperature();
    samples.push_back(s);
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return samples;
}

constexpr double kSettle = 0.2;  // seconds until power has settled

std::string power_case(Case& one, Machine& machine, double each, double idle) {
  Events events;
  Launcher launcher(one);
  double once = warm_up(launcher, events);
  if (once < 0) return "";
  int chunk = std::clamp((int)std::lround(20000 / once), 1, 2000);
  Clock::time_point start = Clock::now();
  std::vector<double> times;
  bool finished = false;
  std::vector<Sample> samples;
  std::thread reader([&] {
    samples = sample_until(machine.nvml, [&] { return __atomic_load_n(&finished, __ATOMIC_ACQUIRE); });
  });
  // One chunk waits in the queue while the one before it runs, so that the GPU never idles.
  Events ring[2];
  cudaEventRecord(ring[0].begin);
  launcher.launch(chunk);
  cudaEventRecord(ring[0].end);
  for (int c = 1; since(start) < each || c < 2; c++) {
    Events &next = ring[c % 2], &last = ring[(c + 1) % 2];
    cudaEventRecord(next.begin);
    launcher.launch(chunk);
    cudaEventRecord(next.end);
    cudaEventSynchronize(last.end);
    float ms = 0;
    cudaEventElapsedTime(&ms, last.begin, last.end);
    if (since(start) > kSettle) times.push_back(ms * 1e3 / chunk);
  }
  __atomic_store_n(&finished, true, __ATOMIC_RELEASE);
  reader.join();
  if (cudaDeviceSynchronize() != cudaSuccess) return "";
  double time = times.empty() ? once : median(times);
  double counter = counter_watts(samples, kSettle);
  double instant = mean_after(samples, kSettle, [](const Sample& s) { return s.watts; });
  double mhz = mean_after(samples, kSettle, [](const Sample& s) { return (double)s.mhz; });
  double heat = mean_after(samples, kSettle, [](const Sample& s) { return (double)s.celsius; });
  double watts = counter > 0 ? counter : instant;
  char line[300];
  std::snprintf(line, sizeof(line), "%.3f\t%.5f\t%.2f\t%.2f\t%.0f\t%.1f\t%.2f\t%llx", time,
                watts * time / 1e3, watts, instant, mhz, heat, idle,
                (unsigned long long)machine.nvml.throttle());
  return key_of(one) + "\t" + line;
}

/// Tells how often the energy counter and the power move, and gives the idle power in watts.
double look_at_idle(const Nvml& nvml) {
  for (const char* what : {"energy", "power"}) {
    std::vector<double> gaps;
    Clock::time_point start = Clock::now();
    double last = 0;
    uint64_t before = nvml.energy_mj();
    double power = nvml.power_w();
    while (since(start) < 0.7) {
      bool moved = *what == 'e' ? nvml.energy_mj() != before : nvml.power_w() != power;
      if (!moved) continue;
      double now = since(start);
      if (last > 0) gaps.push_back(now - last);
      last = now;
      before = nvml.energy_mj();
      power = nvml.power_w();
    }
    std::fprintf(stderr, "# %s moves each %.1f ms (median of %zu)\n", what, median(gaps) * 1e3,
                 gaps.size());
  }
  Clock::time_point start = Clock::now();
  std::vector<Sample> samples = sample_until(nvml, [&] { return since(start) > 1.2; });
  double watts = counter_watts(samples, 0.2);
  std::fprintf(stderr, "# idle: %.2f W, %u MHz, %u C\n", watts, nvml.sm_mhz(), nvml.temperature());
  return watts;
}

const char kTimeColumns[] =
    "trips\tnear\tcontents\tregisters\tstatic_shared\tlocal\trepetitions\ttime_us\tmin_us\tmax_us\tsingle_us\tcold_us\tsm_mhz\tmemory_mhz";
const char kPowerColumns[] =
    "time_us\tenergy_mj\tpower_w\tinstant_w\tsm_mhz\ttemperature\tidle_w\tthrottle";

int run(const std::string& mode, double seconds, const char* path, double each) {
  bool power = mode != "times";
  std::vector<Case> cases = mode == "zeros" ? with_zeros(all_cases()) : all_cases();
  Table table(path, power ? kPowerColumns : kTimeColumns);
  Machine machine;
  if (!table.ok() || !machine.open()) return 1;
  Clock::time_point start = Clock::now();
  double idle = power ? look_at_idle(machine.nvml) : 0;
  size_t done = 0, failures = 0, left = 0;
  for (Case& one : cases) {
    if (table.has(key_of(one))) continue;
    if (since(start) > seconds) {
      left++;
      continue;
    }
    std::string line;
    if (prepare(one, machine.arena))
      line = power ? power_case(one, machine, each, idle) : time_case(one, machine);
    cudaError_t error = cudaGetLastError();
    if (line.empty() || error != cudaSuccess) {
      std::fprintf(stderr, "FAILED: %s: %s\n", key_of(one).c_str(), cudaGetErrorString(error));
      failures++;
      // A fault leaves the context unusable: the caller starts the program again.
      if (cudaDeviceSynchronize() != cudaSuccess) {
        table.write(key_of(one) + "\tFAILED");
        return 3;
      }
      continue;
    }
    table.write(line);
    if (++done % 50 == 0) std::fprintf(stderr, "# %zu launches, %.0f s\n", done, since(start));
  }
  std::fprintf(stderr, "# %zu launches measured, %zu failed, %zu left out for time, %.0f s\n", done,
               failures, left, since(start));
  return 0;
}

int list() {
  std::map<std::string, int> kernels;
  for (const Case& one : all_cases()) {
    size_t bytes = 0;
    for (const Argument& a : one.arguments) bytes += a.bytes;
    std::printf("%s\t%s\t%s\t%s\t%zu MB\n", key_of(one).c_str(), trips_of(one).c_str(),
                near_of(one).c_str(), contents_of(one).c_str(), bytes >> 20);
    kernels[one.kernel]++;
  }
  std::fprintf(stderr, "%zu kernels\n", kernels.size());
  return 0;
}

}  // namespace
}  // namespace bench

int main(int argc, char** argv) {
  std::string mode = argc > 1 ? argv[1] : "";
  if (mode == "list") return bench::list();
  if ((mode == "times" || mode == "power" || mode == "zeros") && argc >= 4)
    return bench::run(mode, std::atof(argv[2]), argv[3], argc > 4 ? std::atof(argv[4]) : 0.7);
  std::fprintf(stderr, "usage: corpus list | times SECONDS OUT | power|zeros SECONDS OUT [EACH]\n");
  return 2;
}
