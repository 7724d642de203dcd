#include "app/predict.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "app/predict_launch.h"
#include "app/predict_recording.h"
#include "app/predict_recording_views.h"
#include "app/predict_views.h"
#include "app/terminal.h"
#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

Error usage(const std::string& what, const std::string& where, const std::string& hint) {
  return {ErrorKind::usage, what, where, hint};
}

/// "x", "x,y" or "x,y,z", each from 1 to `most`.
Result<std::array<uint32_t, 3>> read_shape(const std::string& text, const std::string& option,
                                           uint64_t most) {
  std::array<uint32_t, 3> shape{1, 1, 1};
  const std::vector<std::string_view> parts = split(text, ',');
  for (size_t i = 0; i < parts.size(); ++i) {
    const std::string part(trim(parts[i]));
    char* end = nullptr;
    const unsigned long long value = std::strtoull(part.c_str(), &end, 10);
    if (i >= 3 || part.empty() || part[0] == '-' || *end != '\0' || value == 0 || value > most)
      return usage("\"" + text + "\" is no shape", option,
                   "write x, x,y or x,y,z, each at least 1");
    shape[i] = static_cast<uint32_t>(value);
  }
  return shape;
}

Result<Launch> read_launch(const PredictArguments& arguments) {
  Launch launch;
  auto grid = read_shape(arguments.grid, "--grid", 0x7fffffff);
  if (!grid) return grid.error();
  auto block = read_shape(arguments.block, "--block", 1024);
  if (!block) return block.error();
  launch.grid = *grid;
  launch.block = *block;
  if (launch.grid[1] > 65535 || launch.grid[2] > 65535)
    return usage("the grid's second and third extents are at most 65535", "--grid",
                 "make the first one longer");
  if (uint64_t{launch.block[0]} * launch.block[1] * launch.block[2] > 1024)
    return usage("a block has at most 1024 threads", "--block",
                 "make it smaller and the grid larger");
  launch.dynamic_shared = arguments.shared;
  Result<std::vector<TripCount>> trips = read_trips(arguments.trips);
  if (!trips) return trips.error();
  launch.trips = std::move(*trips);
  Result<std::vector<NearbyData>> nearby = read_nearby(arguments.near);
  if (!nearby) return nearby.error();
  launch.nearby = std::move(*nearby);
  return launch;
}

class Prediction {
 public:
  explicit Prediction(const PredictArguments& arguments) : arguments_(arguments) {}

  int run() {
    Result<Done> done = prepare();
    if (!done) return fail(done.error());
    if (!source_->binary && !source_->note.empty())
      std::fprintf(stderr, "fathom: %s: %s; predicted from PTX\n",
                   printable(arguments_.file).c_str(), printable(source_->note).c_str());
    return arguments_.sweep.empty() ? each_kernel() : sweep();
  }

 private:
  Result<Done> prepare() {
    Result<Done> found = machine_.choose(arguments_.device.empty() ? "H200" : arguments_.device);
    if (!found) return found;
    Result<Launch> launch = read_launch(arguments_);
    if (!launch) return launch.error();
    launch_ = *launch;
    Result<std::vector<ArgumentValue>> values = read_values(arguments_.arguments);
    if (!values) return values.error();
    values_ = *values;
    SourceOptions options;
    options.arch = machine_.get().arch;
    options.kernel = arguments_.kernel;
    if (!arguments_.ptxas.empty()) options.ptxas = arguments_.ptxas;
    Result<KernelSource> source = open_kernels(arguments_.file, options);
    if (!source) return source.error();
    source_ = std::move(*source);
    return Done{};
  }

  Result<KernelPrediction> one(const std::string& kernel, Launch launch) const {
    std::vector<Parameter> parameters = source_->parameters(kernel);
    if (Result<Done> applied = apply_arguments(values_, parameters); !applied)
      return applied.error();
    return predict_launch(*source_, kernel, std::move(parameters), std::move(launch),
                          machine_.get(), model_of(arguments_.model));
  }

  int each_kernel() const {
    std::vector<KernelPrediction> kernels;
    for (const std::string& each : source_->kernels) {
      Result<KernelPrediction> prediction = one(each, launch_);
      if (!prediction) return fail(prediction.error());
      kernels.push_back(std::move(*prediction));
    }
    return print(arguments_.format == "json"
                     ? prediction_json(kernels, machine_.get())
                     : prediction_text(kernels, machine_.get(), style_for(arguments_.color)));
  }

  /// "block=64..1024": blocks of as many threads; the grid keeps the number of threads.
  int sweep() const {
    unsigned least = 0, most = 0;
    char rest = 0;
    if (std::sscanf(arguments_.sweep.c_str(), "block=%u..%u%c", &least, &most, &rest) != 2 ||
        least == 0 || most > 1024 || least > most)
      return fail(
          usage("\"" + arguments_.sweep + "\" is no range", "--sweep", "write block=64..1024"));
    if (source_->kernels.size() != 1)
      return fail(usage("several kernels are meant", "--sweep",
                        "name one: --kernel " + short_name(demangle(source_->kernels.front()))));
    std::vector<KernelPrediction> launches;
    const uint64_t across = uint64_t{launch_.grid[0]} * launch_.block[0];
    for (uint32_t threads = 32; threads <= 1024; threads += threads < 128   ? 32
                                                            : threads < 512 ? 64
                                                                            : 128) {
      const uint32_t others = launch_.block[1] * launch_.block[2];
      if (threads < least || threads > most || threads % others != 0) continue;
      Launch launch = launch_;
      launch.block[0] = threads / others;
      launch.grid[0] = static_cast<uint32_t>((across + launch.block[0] - 1) / launch.block[0]);
      Result<KernelPrediction> prediction = one(source_->kernels.front(), launch);
      // A block that does not fit is left out; a wrong argument is wrong for all of them.
      if (!prediction && prediction.error().kind != ErrorKind::cannot_answer)
        return fail(prediction.error());
      if (prediction) launches.push_back(std::move(*prediction));
    }
    if (launches.empty())
      return fail({ErrorKind::cannot_answer, "no block in the range runs", "--sweep",
                   "blocks are multiples of 32 threads"});
    std::stable_sort(
        launches.begin(), launches.end(),
        [](const KernelPrediction& a, const KernelPrediction& b) { return a.time_us < b.time_us; });
    return print(arguments_.format == "json" ? prediction_json(launches, machine_.get())
                                             : sweep_text(launches, machine_.get()));
  }

  const PredictArguments& arguments_;
  ChosenMachine machine_;
  Launch launch_;
  std::vector<ArgumentValue> values_;
  std::optional<KernelSource> source_;
};

/// A measurement directory, or the database that was made of one.
bool is_recording(const std::string& path) {
  if (is_directory(path)) return true;
  constexpr std::string_view kDatabase = "SQLite format 3";
  char start[kDatabase.size()] = {};
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  return std::string_view(start, sizeof start) == kDatabase;
}

int run_recording(const PredictArguments& arguments) {
  if (!arguments.launch_options.empty())
    return fail(usage("launches are those of the recording", join(arguments.launch_options, ", "),
                      "leave it out, or predict one of its binaries: fathom predict "
                      "DIR/gpubins/FILE.cubin --grid X --block X"));
  const RecordingRequest request{
      arguments.file,  arguments.kernel,    arguments.device, arguments.model, arguments.format,
      arguments.color, arguments.arguments, arguments.trips,  arguments.near,  arguments.top};
  const Result<PredictedRecording> recording = predict_recording(request);
  if (!recording) return fail(recording.error());
  return print(arguments.format == "json" ? recording_json(*recording)
                                          : recording_text(*recording, style_for(arguments.color)));
}

}  // namespace

int run_predict(const PredictArguments& arguments) {
  return is_recording(arguments.file) ? run_recording(arguments) : Prediction(arguments).run();
}

}  // namespace fathom
