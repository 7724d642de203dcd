#pragma once
// A recording's launches, predicted beside measured, as text and as JSON.

#include <string>

#include "app/predict_recording.h"
#include "views/layout.h"

namespace fathom {

std::string recording_text(const PredictedRecording& recording, const Style& style);
/// As prediction_json, and of each kernel measured_us, measured, predicted_us, ratio, verdict,
/// limit_us, compared_lines, compared_states, differs; beside `kernels`: total, not_predicted.
std::string recording_json(const PredictedRecording& recording);

}  // namespace fathom
