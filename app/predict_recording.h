#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/profile.h"
#include "prediction/compare.h"

namespace fathom {

struct RecordingRequest {
  std::string path;    ///< of a measurement directory
  std::string kernel;  ///< a part of the names; empty: all
  std::string device;  ///< empty: the recorded one
  std::string model, format, color;
  std::vector<std::string> arguments, trips, near;
  size_t top = 0;  ///< launch shapes, longest first; 0: all
};

/// Launches of a recording that are alike, with their prediction.
struct PredictedLaunches {
  MeasuredLaunches measured;
  DeviceFacts device;  ///< the recorded one
  std::optional<KernelPrediction> prediction;
  std::optional<Comparison> comparison;  ///< with `prediction`
  std::vector<Parameter> parameters;     ///< with what the caller said of them
  std::string why_not;                   ///< without `prediction`
  std::string hint;
};
struct PredictedRecording {
  std::string path, machine;                ///< the directory; the device that was predicted
  std::vector<PredictedLaunches> launches;  ///< longest in all first
  size_t left_out = 0;                      ///< further launch shapes
  double left_out_us = 0;                   ///< and their measured time
};

/// Errors: no measurement, no launches in it, no such kernel or device, or not one of the launches
/// can be predicted (why the longest cannot).
Result<PredictedRecording> predict_recording(const RecordingRequest& request);

}  // namespace fathom
