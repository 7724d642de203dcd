#include "app/predict_launch.h"

#include <algorithm>
#include <cstdlib>

#include "base/files.h"
#include "base/text.h"
#include "prediction/ptx_program.h"
#include "prediction/sass_program.h"

namespace fathom {
namespace {

Result<TripCount> read_trip(const std::string& text) {
  const size_t equals = text.find('=');
  char *line_end = nullptr, *count_end = nullptr;
  const std::string line = text.substr(0, equals),
                    count = equals == text.npos ? "" : text.substr(equals + 1);
  TripCount trip;
  trip.line = static_cast<uint32_t>(std::strtoul(line.c_str(), &line_end, 10));
  trip.count = std::strtod(count.c_str(), &count_end);
  if (line.empty() || count.empty() || *line_end != '\0' || *count_end != '\0' || trip.line == 0 ||
      !(trip.count >= 0 && trip.count < 1e12))
    return Error{
        ErrorKind::usage, "\"" + text + "\" does not say how often a line is run", "--trips",
        "write LINE=N, e.g. --trips 42=16, or LINE=SHARE for a branch, e.g. --trips 42=0.1"};
  return trip;
}

}  // namespace

Result<Done> ChosenMachine::choose(const std::string& device) {
  if (!ends_with(device, ".json")) {
    Result<const MachineModel*> machine = find_device(device);
    if (!machine) return machine.error();
    built_in_ = *machine;
    return Done{};
  }
  Result<std::string> text = read_text_file(device);
  if (!text) return text.error();
  Result<MachineModel> machine = parse_machine(*text, device);
  if (!machine) return machine.error();
  if (!machine->prediction)
    return Error{ErrorKind::bad_input, "the machine model has no \"prediction\"", device,
                 "make one with fathom calibrate"};
  own_ = std::move(*machine);
  return Done{};
}

Result<std::vector<TripCount>> read_trips(const std::vector<std::string>& texts) {
  std::vector<TripCount> trips;
  for (const std::string& each : texts) {
    Result<TripCount> trip = read_trip(each);
    if (!trip) return trip.error();
    trips.push_back(*trip);
  }
  return trips;
}

Result<std::vector<NearbyData>> read_nearby(const std::vector<std::string>& texts) {
  std::vector<NearbyData> all;
  for (const std::string& each : texts) {
    const size_t equals = std::min(each.find('='), each.size());
    const std::string line = each.substr(0, equals);
    char *line_end = nullptr, *end = nullptr;
    const unsigned long number = std::strtoul(line.c_str(), &line_end, 10);
    const char* bytes = each.c_str() + std::min(equals + 1, each.size());
    const unsigned long long count = std::strtoull(bytes, &end, 10);
    const std::string unit = end;
    const int shift = unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0;
    const bool right = line_end != line.c_str() && *line_end == '\0' && number > 0 &&
                       end != bytes && (shift > 0 || unit.empty()) && count > 0 && count < 1u << 31;
    if (!right)
      return Error{ErrorKind::usage, "\"" + each + "\" does not say how near data lie", "--near",
                   "write LINE=BYTES, e.g. --near 42=8K"};
    all.push_back({static_cast<uint32_t>(number), uint64_t{count} << shift});
  }
  return all;
}

Result<std::vector<ArgumentValue>> read_values(const std::vector<std::string>& texts) {
  std::vector<ArgumentValue> values;
  for (const std::string& each : texts) {
    const size_t equals = each.find('=');
    if (equals == each.npos || equals == 0 || equals + 1 == each.size())
      return Error{ErrorKind::usage, "\"" + each + "\" is no argument", "--arg",
                   "write NAME=VALUE, or POSITION=VALUE with positions from 0"};
    values.push_back({each.substr(0, equals), each.substr(equals + 1)});
  }
  return values;
}

PredictionModel model_of(const std::string& name) {
  for (PredictionModel each :
       {PredictionModel::delay, PredictionModel::list, PredictionModel::roofline})
    if (name == name_of(each)) return each;
  return PredictionModel::simulation;
}

Result<KernelPrediction> predict_launch(const KernelSource& source, const std::string& kernel,
                                        std::vector<Parameter> parameters, Launch launch,
                                        const MachineModel& machine, PredictionModel model,
                                        std::optional<uint64_t> guess) {
  ParameterBlock block(std::move(parameters),
                       guess.value_or(launch.blocks() * launch.threads_per_block()));
  launch.buffers = block.buffers();
  launch.contents = block.contents();
  Result<Program> program =
      source.binary
          ? make_program(*source.binary, *source.binary->find(kernel), machine, launch, block)
          : make_program(*source.ptx, kernel, machine, launch, block);
  if (!program) return program.error();
  return predict(*program, launch, machine, model, block);
}

}  // namespace fathom
