#include "app/predict_recording.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <thread>

#include "app/ordered_work.h"
#include "app/predict_launch.h"
#include "app/terminal.h"
#include "attribution/attribution.h"
#include "attribution/launches.h"
#include "base/files.h"
#include "base/text.h"
#include "binary/decoder.h"
#include "prediction/known_arguments.h"

namespace fathom {
namespace {

Error usage(const std::string& what, const std::string& where, const std::string& hint) {
  return {ErrorKind::usage, what, where, hint};
}

bool matches(const MeasuredLaunches& launches, const std::string& kernel) {
  return launches.name.find(kernel) != std::string::npos ||
         launches.mangled.find(kernel) != std::string::npos;
}

class RecordingPredictor {
 public:
  explicit RecordingPredictor(const RecordingRequest& request) : request_(request) {}

  Result<PredictedRecording> run() {
    for (const auto& step :
         {&RecordingPredictor::read_options, &RecordingPredictor::read_recording,
          &RecordingPredictor::choose_machine, &RecordingPredictor::open_binaries,
          &RecordingPredictor::put_arguments_in})
      if (Result<Done> done = (this->*step)(); !done) return done.error();
    predict_all();
    for (const PredictedLaunches& each : out_.launches)
      if (each.prediction) return std::move(out_);
    const PredictedLaunches& longest = out_.launches.front();
    return Error{ErrorKind::cannot_answer, longest.why_not,
                 short_name(longest.measured.name) + " in " + request_.path, longest.hint};
  }

 private:
  Result<Done> read_options() {
    Result<std::vector<TripCount>> trips = read_trips(request_.trips);
    if (!trips) return trips.error();
    trips_ = std::move(*trips);
    Result<std::vector<NearbyData>> nearby = read_nearby(request_.near);
    if (!nearby) return nearby.error();
    nearby_ = std::move(*nearby);
    Result<std::vector<ArgumentValue>> values = read_values(request_.arguments);
    if (!values) return values.error();
    values_ = std::move(*values);
    return Done{};
  }

  Result<Done> read_recording() {
    progress_.show("reading " + request_.path);
    Result<Measurement> measurement = read_measurement(request_.path);
    if (!measurement) return measurement.error();
    measurement_ = std::move(*measurement);
    progress_.show("analysing " + request_.path);
    Result<Attribution> attribution = attribute(measurement_, {});
    if (!attribution) return attribution.error();
    const std::vector<MeasuredLaunches> all = launches_of(measurement_, *attribution);
    if (all.empty())
      return Error{ErrorKind::cannot_answer, "there are no launches of GPU kernels in it",
                   request_.path,
                   "record a program that launches some: fathom record -e gpu=cuda,pc"};
    for (const MeasuredLaunches& each : all) {
      if (!matches(each, request_.kernel)) continue;
      if (request_.top != 0 && out_.launches.size() == request_.top) {
        ++out_.left_out;
        out_.left_out_us += each.total_us;
        continue;
      }
      PredictedLaunches one;
      one.measured = each;
      if (each.device != kNoId) one.device = attribution->profile.devices[each.device];
      out_.launches.push_back(std::move(one));
    }
    out_.path = request_.path;
    return out_.launches.empty() ? no_such_kernel(all) : Result<Done>(Done{});
  }

  Result<Done> no_such_kernel(const std::vector<MeasuredLaunches>& all) const {
    std::vector<std::string> names;
    for (const MeasuredLaunches& each : all) {
      const std::string name = short_name(each.name);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    constexpr size_t kNames = 20;
    const bool more = names.size() > kNames;
    if (more) names.resize(kNames);
    return usage("no launched kernel is called \"" + request_.kernel + "\"", request_.path,
                 "there are " + join(names, ", ") + (more ? ", ..." : ""));
  }

  /// The device that the user names, or else the one on which most time was spent.
  Result<Done> choose_machine() {
    if (!request_.device.empty()) {
      Result<Done> chosen = machine_.choose(request_.device);
      if (!chosen) return chosen;
    } else {
      const std::string& recorded = out_.launches.front().device.name;
      if (recorded.empty())
        return Error{ErrorKind::cannot_answer, "the recording does not name its GPU", request_.path,
                     "name a device, e.g. --device H200"};
      if (Result<Done> chosen = choose_recorded(recorded); !chosen)
        return Error{ErrorKind::cannot_answer, "there is no machine model of " + recorded,
                     request_.path,
                     "measure one there (fathom calibrate -o gpu.json) and give --device gpu.json, "
                     "or name a similar device, e.g. --device H200"};
      own_device_ = recorded;
    }
    out_.machine = machine_.get().name;
    return Done{};
  }

  /// Drivers call some devices "NVIDIA A100-SXM4-80GB": a model's name is at the start of theirs.
  Result<Done> choose_recorded(const std::string& recorded) {
    std::string name = recorded;
    for (;;) {
      Result<Done> chosen = machine_.choose(name);
      const size_t end = name.find_last_of(" -");
      // "NVIDIA" alone fits many.
      if (chosen || end == name.npos || name.find(' ') == end) return chosen;
      name.resize(end);
    }
  }

  Result<Done> open_binaries() {
    for (PredictedLaunches& each : out_.launches) {
      const std::string& sha256 = each.measured.binary;
      if (sha256.empty()) {
        each.why_not = "its machine code is not in the recording";
        each.hint =
            "record again with this version of fathom; the code of the vendor's own "
            "libraries may be hidden";
        continue;
      }
      if (sources_.count(sha256)) continue;
      const StoredBinary& stored = measurement_.binaries.at(sha256);
      Result<GpuBinary> binary = open_gpu_binary(stored.bytes, stored.path);
      if (!binary) return binary.error();
      KernelSource source;
      source.path = stored.path;
      source.binary = std::move(*binary);
      sources_.emplace(sha256, std::move(source));
    }
    return Done{};
  }

  /// The caller's arguments, each to the kernels that have it (it has to fit one of them), then
  /// those that were recorded.
  Result<Done> put_arguments_in() {
    std::vector<bool> used(values_.size());
    std::optional<Error> last;
    for (PredictedLaunches& each : out_.launches) {
      std::vector<Parameter> parameters;
      if (const auto source = sources_.find(each.measured.binary); source != sources_.end())
        parameters = source->second.parameters(each.measured.mangled);
      for (size_t i = 0; i < values_.size(); ++i) {
        const Result<Done> applied = apply_arguments({values_[i]}, parameters);
        if (applied)
          used[i] = true;
        else
          last = applied.error();
      }
      each.parameters = parameters;
      apply_known_arguments(each.measured.arguments, parameters);
      parameters_.push_back(std::move(parameters));
    }
    for (size_t i = 0; i < used.size(); ++i)
      if (!used[i]) return *last;
    return Done{};
  }

  void predict_all() {
    const size_t threads = std::clamp(std::thread::hardware_concurrency(), 1u, 8u);
    make_in_order(
        out_.launches.size(), threads, [this](size_t i) { return predict_one(i); },
        [this](size_t i, Result<Made> made) {
          progress_.show(format("predicting %zu of %zu", i + 1, out_.launches.size()));
          PredictedLaunches& each = out_.launches[i];
          if (made) {
            DeviceFacts device = each.device;
            if (device.name == own_device_) device.name = machine_.get().name;
            each.comparison = compare(made->prediction, each.measured, device, machine_.get(),
                                      made->arguments_decide);
            each.prediction = std::move(made->prediction);
          } else if (each.why_not.empty()) {
            each.why_not = made.error().what;
            each.hint = made.error().hint;
          }
          return true;
        });
  }

  struct Made {
    KernelPrediction prediction;
    bool arguments_decide = false;  ///< some were guessed, and it matters
  };

  Result<Made> predict_one(size_t i) const {
    const MeasuredLaunches& measured = out_.launches[i].measured;
    const auto source = sources_.find(measured.binary);
    if (source == sources_.end()) return Error{ErrorKind::cannot_answer, "no machine code", "", ""};
    const GpuBinary& binary = *source->second.binary;
    const std::string& arch = machine_.get().arch;
    // Code runs on later devices of the same generation only.
    if (binary.compute / 10 != static_cast<uint32_t>(std::atoi(arch.c_str() + 3)) / 10)
      return Error{ErrorKind::cannot_answer,
                   "its machine code is for " + binary.arch + ", the device needs " + arch, "",
                   "compile it for " + arch +
                       " and predict the file: fathom predict FILE --grid X "
                       "--block X"};
    Launch launch;
    launch.grid = measured.shape.grid;
    launch.block = measured.shape.block;
    launch.dynamic_shared = measured.shape.dynamic_shared_memory;
    launch.trips = trips_;
    launch.nearby = nearby_;
    const auto predicted = [&](std::optional<uint64_t> guess) {
      return predict_launch(source->second, measured.mangled, parameters_[i], launch,
                            machine_.get(), model_of(request_.model), guess);
    };
    Result<KernelPrediction> made = predicted({});
    if (!made) return made.error();
    Made out{std::move(*made), false};
    out.arguments_decide = assumes(out.prediction, "taken for a pointer");  // predict()'s words
    if (out.arguments_decide || !assumes(out.prediction, "was not given")) return out;
    const Result<KernelPrediction> other = predicted(1 + launch.blocks() * launch.block[0] / 5);
    constexpr double kSame = 0.05;
    out.arguments_decide = !other || std::abs(other->time_us / out.prediction.time_us - 1) > kSame;
    return out;
  }

  static bool assumes(const KernelPrediction& prediction, std::string_view words) {
    return std::any_of(prediction.assumed.begin(), prediction.assumed.end(),
                       [&](const std::string& each) { return each.find(words) != each.npos; });
  }

  const RecordingRequest& request_;
  Progress progress_;
  std::vector<TripCount> trips_;
  std::vector<NearbyData> nearby_;
  std::vector<ArgumentValue> values_;
  Measurement measurement_;
  ChosenMachine machine_;
  std::string own_device_;  ///< as the driver calls what `machine_` is the model of
  std::map<std::string, KernelSource> sources_;     ///< by SHA-256
  std::vector<std::vector<Parameter>> parameters_;  ///< by PredictedRecording::launches
  PredictedRecording out_;
};

}  // namespace

Result<PredictedRecording> predict_recording(const RecordingRequest& request) {
  if (is_directory(request.path)) return RecordingPredictor(request).run();
  return usage("a profile database holds no machine code, from which kernels are predicted",
               request.path, "give the measurement directory that it was made of");
}

}  // namespace fathom
