#include "app/record.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "app/events.h"
#include "app/launch.h"
#include "app/machine_check.h"
#include "app/recorded.h"
#include "base/files.h"
#include "base/text.h"
#include "record/writer.h"

#ifndef FATHOM_VERSION
#define FATHOM_VERSION "0.1.0"
#endif

namespace fathom {
namespace {

using Environment = std::vector<std::pair<std::string, std::string>>;

int fail(const Error& error) {
  std::fprintf(stderr, "fathom: %s\n", error.message().c_str());
  return static_cast<int>(error.kind);
}

bool is_empty_directory(const std::string& path) {
  const auto names = list_directory(path);
  return names && names->empty();
}

std::string absolute(const std::string& path) {
  char buffer[PATH_MAX];
  return realpath(path.c_str(), buffer) != nullptr ? buffer : path;
}

/// Makes the measurement directory and returns its absolute path.
Result<std::string> make_directory(const RecordArguments& arguments) {
  std::string path = arguments.directory;
  if (path.empty()) {
    const std::string& program = arguments.program.front();
    const std::string stem = "fathom-" + program.substr(program.rfind('/') + 1) + "-measurement";
    path = stem;
    for (int i = 2; access(path.c_str(), F_OK) == 0 && !is_empty_directory(path); ++i)
      path = stem + format("-%d", i);
  } else if (access(path.c_str(), F_OK) == 0 && !is_empty_directory(path)) {
    return Error{ErrorKind::usage, "exists already", path,
                 "choose another directory with -o, or remove this one"};
  }
  if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
    return Error{ErrorKind::bad_input, format("cannot be made: %s", std::strerror(errno)), path,
                 "choose a directory that can be written with -o"};
  if (access(path.c_str(), W_OK | X_OK) != 0)
    return Error{ErrorKind::bad_input, format("cannot be written: %s", std::strerror(errno)), path,
                 "choose another directory with -o"};
  return absolute(path);
}

/// Adds a library to what the program preloads. The dynamic linker splits the list at spaces and
/// colons.
void preload(const std::string& library, std::string& list) {
  if (library.find_first_of(" :") != std::string::npos) return;
  if (!list.empty()) list += ":";
  list += library;
}

Result<Environment> environment_for(const EventSet& events, const std::string& directory) {
  Environment out{{"FATHOM_OUTPUT", directory}, {"FATHOM_EVENTS", events.text}};
  if (events.cuda) {
    const Check collector = check_cuda_collector();
    if (!collector.works)
      return Error{ErrorKind::usage, "gpu=cuda cannot be recorded", collector.found,
                   collector.remedy};
    out.emplace_back("CUDA_INJECTION64_PATH", collector.found);
    const char* modes[] = {"", "continuous", "serialized"};
    out.emplace_back("FATHOM_CUDA_PC", modes[static_cast<int>(events.cuda_sampling)]);
    out.emplace_back("FATHOM_CUDA_PERIOD", std::to_string(events.cuda_period_log2));
  }
  const char* loaded = std::getenv("LD_PRELOAD");
  std::string preloaded = loaded == nullptr ? "" : loaded;
  if (events.numa) {
    const Check runtime = check_numa_runtime();
    if (!runtime.works)
      return Error{ErrorKind::usage, "numa cannot be recorded", runtime.found, runtime.remedy};
    out.emplace_back("FATHOM_NUMA", "1");
    out.emplace_back("FATHOM_NUMA_SAMPLING", std::to_string(events.numa_sampling));
    preload(runtime.found, preloaded);
  }
  if (const Check hooks = check_exit_collector(); hooks.works) preload(hooks.found, preloaded);
  if (!preloaded.empty()) out.emplace_back("LD_PRELOAD", preloaded);
  return out;
}

void write_start(record::ChunkWriter& out, const RecordArguments& arguments,
                 const EventSet& events) {
  char folder[PATH_MAX] = "", host[256] = "";
  if (getcwd(folder, sizeof folder) == nullptr) folder[0] = 0;
  gethostname(host, sizeof host - 1);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const std::string text = events.text + (arguments.trace > 1 ? " -tt"
                                          : arguments.trace   ? " -t"
                                                              : "");
  out.add_text(record::ChunkType::run_start,
               record::RunStart{static_cast<uint64_t>(std::chrono::nanoseconds(now).count())},
               {FATHOM_VERSION, join(arguments.program, " "), folder, text, host});
  out.flush();
}

std::string number_of(uint64_t count, const char* one, const char* many) {
  return human_count(count) + " " + (count == 1 ? one : many);
}

std::string numa_summary(const Recorded& recorded) {
  if (recorded.numa_processes == 0)
    return "no process could be watched: statically linked programs cannot be";
  if (recorded.numa_snapshots == 0)
    return "the program was killed before its memory accesses were written";
  if (recorded.numa_modules == 0)
    return "no instrumented code ran, so no memory access was seen: build the program with `fathom "
           "cc`, `fathom c++` or `fathom fc`";
  return "memory accesses of " + number_of(recorded.numa_threads, "thread", "threads") + " to " +
         number_of(recorded.numa_objects, "object", "objects");
}

std::string summary(const Recorded& recorded, const EventSet& events) {
  if (!events.cuda) return numa_summary(recorded);
  std::string text = "the program used no GPU through CUDA, so nothing was measured";
  if (recorded.gpu_processes > 0) {
    text =
        format("%s process%s, %s kernels, %s copies", human_count(recorded.gpu_processes).c_str(),
               recorded.gpu_processes == 1 ? "" : "es", human_count(recorded.kernels).c_str(),
               human_count(recorded.copies).c_str());
    if (recorded.samples > 0) text += ", " + human_count(recorded.samples) + " samples";
    text += ", " + human_count(recorded.binaries) + " GPU binaries";
  } else if (events.numa) {
    text = "no GPU was used through CUDA";
  }
  return events.numa ? text + "; " + numa_summary(recorded) : text;
}

Result<Done> check_program(const std::string& program) {
  const bool is_path = program.find('/') != std::string::npos;
  const bool found = is_path ? access(program.c_str(), X_OK) == 0 && !is_directory(program)
                             : find_on_path(program).has_value();
  if (found) return Done{};
  return Error{ErrorKind::usage, "no such program", program,
               "check its path and that it may be executed"};
}

int measure(const RecordArguments& arguments) {
  const auto events = parse_events(arguments.events);
  if (!events) return fail(events.error());
  if (arguments.program.empty())
    return fail(
        {ErrorKind::usage, "no program to record", "", "write `fathom record -- APP ARGS`"});
  if (auto there = check_program(arguments.program.front()); !there) return fail(there.error());
  auto directory = make_directory(arguments);
  if (!directory) return fail(directory.error());
  auto environment = environment_for(*events, *directory);
  if (!environment) return fail(environment.error());
  record::ChunkWriter file;
  const std::string path = *directory + "/run.fathom";
  if (!file.open(path))
    return fail({ErrorKind::bad_input, format("cannot be written: %s", std::strerror(file.error())),
                 path, "choose another directory with -o"});
  write_start(file, arguments, *events);

  const auto outcome = launch(arguments.program, *environment);
  if (!outcome) return fail(outcome.error());
  file.add(record::ChunkType::run_end,
           record::RunEnd{outcome->exit_code, outcome->signal, outcome->wall_ns});
  file.flush();
  unsetenv("DEBUGINFOD_URLS");  // symbols come from this machine, not from the network
  write_symbols(*directory, file);
  if (events->numa) write_variables(*directory, file);
  file.close();
  if (file.error() != 0)
    return fail({ErrorKind::bad_input, format("cannot be written: %s", std::strerror(file.error())),
                 path, "make room, and record again"});
  std::fprintf(stderr, "fathom: measured into %s (%s); next: fathom report %s\n",
               directory->c_str(), summary(count_recorded(*directory), *events).c_str(),
               directory->c_str());
  return outcome->exit_code;
}

/// One line for each event: what it does, and whether it works here.
int list_events() {
  std::string cuda, sampling;
  for (const Check& check :
       {check_cuda_collector(), check_cuda_driver(), check_gpus(), check_cupti()})
    if (cuda.empty() && !check.works) cuda = check.found + "; " + check.remedy;
  const Check permission = check_profiling_permission();
  sampling = cuda.empty() && !permission.works ? permission.found + "; " + permission.remedy : cuda;
  const auto print = [](const char* event, const char* what, const std::string& obstacle) {
    const std::string state = obstacle.empty() ? "works here" : "does not work here: " + obstacle;
    std::printf("%-26s %s; %s\n", event, what, state.c_str());
  };
  print("gpu=cuda", "times kernels, copies and waits of CUDA, with the CPU calls behind them",
        cuda);
  print("gpu=cuda,pc[@K]",
        format("also samples where kernels stall, one sample each 2^K cycles (K 5 to 31, else %u)",
               kDefaultCudaPeriodLog2)
            .c_str(),
        sampling);
  print("gpu=cuda,pc=continuous[@K]",
        "the same: kernels run as ever, samples are shared by function", sampling);
  print("gpu=cuda,pc=serialized[@K]",
        "exact for each launch, but kernels run one by one and slowly", sampling);
  const Check numa = check_numa_runtime();
  print(
      "numa[@K]",
      "memory accesses by thread, page and line, of programs built with `fathom cc`, `c++` or `fc` "
      "(@K: of one of 2^K intervals, K 0 to 16)",
      numa.works ? "" : numa.found + "; " + numa.remedy);
  return 0;
}

}  // namespace

int run_record(const RecordArguments& arguments) {
  return arguments.list ? list_events() : measure(arguments);
}

}  // namespace fathom
