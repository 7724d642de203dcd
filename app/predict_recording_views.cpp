#include "app/predict_recording_views.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/predict_views.h"
#include "base/text.h"

namespace fathom {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double us) {
  return human_seconds(us / 1e6);
}

struct Totals {
  double measured_us = 0, predicted_us = 0;  ///< of what was predicted
  double not_predicted_us = 0;
  uint64_t launches = 0;
  size_t guessed = 0;  ///< launch shapes whose prediction does not hold for want of arguments
};

Totals totals_of(const PredictedRecording& recording) {
  Totals totals;
  totals.not_predicted_us = recording.left_out_us;
  for (const PredictedLaunches& each : recording.launches) {
    const auto launches = static_cast<double>(each.measured.launches);
    if (each.comparison) {
      totals.measured_us += each.measured.total_us;
      totals.predicted_us += each.comparison->predicted_us * launches;
      totals.launches += each.measured.launches;
      totals.guessed += each.comparison->verdict == Verdict::unknown;
    } else {
      totals.not_predicted_us += each.measured.total_us;
    }
  }
  return totals;
}

std::string ratio_text(double ratio) {
  return ratio <= 0 ? "-" : ratio < 100 ? format("%.2f", ratio) : format("%.0f", ratio);
}

constexpr size_t kNameWidth = 32;

std::string row(const std::string& launches, const std::string& measured,
                const std::string& predicted, const std::string& ratio, const std::string& total,
                const std::string& name, const std::string& bound_by) {
  return pad_left(launches, 9) + pad_left(measured, 11) + pad_left(predicted, 11) +
         pad_left(ratio, 7) + pad_left(total, 11) + "  " + pad_right(name, kNameWidth) + "  " +
         bound_by + "\n";
}

std::string table(const PredictedRecording& recording, const Style& style) {
  std::string text = row("launches", "measured", "predicted", "ratio", "in all", "kernel",
                         "predicted to be bound by");
  for (const PredictedLaunches& each : recording.launches) {
    const MeasuredLaunches& measured = each.measured;
    text += row(human_count(measured.launches), time_text(measured.median_us),
                each.comparison ? time_text(each.comparison->predicted_us) : "-",
                each.comparison ? ratio_text(each.comparison->ratio) : "-",
                time_text(measured.total_us),
                shorten_middle(printable(short_name(measured.name)), kNameWidth),
                each.prediction ? each.prediction->bound_by : "not predicted");
  }
  const Totals totals = totals_of(recording);
  text +=
      paint(style, Paint::strong,
            row(human_count(totals.launches), time_text(totals.measured_us),
                time_text(totals.predicted_us),
                totals.measured_us > 0 ? ratio_text(totals.predicted_us / totals.measured_us) : "-",
                time_text(totals.measured_us), "all that were predicted", ""));
  if (totals.guessed > 0)
    text += format("%zu of these ratios say nothing yet: arguments are not known (--arg)\n",
                   totals.guessed);
  if (totals.not_predicted_us > recording.left_out_us)
    text += time_text(totals.not_predicted_us - recording.left_out_us) +
            " in all were not predicted: see below\n";
  if (recording.left_out > 0)
    text += format("%zu more launch shapes, %s in all, were left out (--top 0: all)\n",
                   recording.left_out, time_text(recording.left_out_us).c_str());
  return without_trailing_spaces(text);
}

std::string measured_text(const PredictedLaunches& each) {
  const MeasuredLaunches& measured = each.measured;
  if (measured.launches == 1) return time_text(measured.median_us) + ", launched once";
  return format("%s, the median of %s launches (%s to %s, mean %s)",
                time_text(measured.median_us).c_str(), human_count(measured.launches).c_str(),
                time_text(measured.min_us).c_str(), time_text(measured.max_us).c_str(),
                time_text(measured.mean_us()).c_str());
}

/// "  name       text", broken into lines.
std::string item(const std::string& name, const std::string& text, const Style& style) {
  return paragraph(pad_right("  " + name, 13), printable(text), 13, style.width);
}

std::string findings_text(const PredictedLaunches& each, const Style& style) {
  std::string text;
  bool first = true;
  for (const Finding& finding : each.comparison->differs) {
    const bool has_place = finding.location.line != 0 && finding.kind != "line";
    text += item(first ? "differs" : "",
                 finding.title + (has_place ? " (" + place_text(finding.location) + ")" : "") +
                     ": " + finding.text,
                 style);
    first = false;
  }
  return text;
}

/// What would change it; the simulation may say the same of several instructions of a line.
std::string advice_text(const KernelPrediction& prediction, const Style& style) {
  std::vector<std::string> told;
  for (const Finding& finding : prediction.findings) {
    if (!finding.speedup || finding.speedup->high < 1.05) continue;
    std::string text = finding.title;
    if (finding.location.line) text += " (" + place_text(finding.location) + ")";
    text += format(", up to %.2fx", finding.speedup->high);
    if (std::find(told.begin(), told.end(), text) == told.end()) told.push_back(std::move(text));
  }
  std::string lines;
  for (const std::string& each : told) lines += item("advice", each, style);
  return lines;
}

std::string prediction_lines(const PredictedLaunches& each, const Style& style) {
  const KernelPrediction& prediction = *each.prediction;
  const Comparison& comparison = *each.comparison;
  std::string text = item("predicted",
                          time_text(comparison.predicted_us) + ", " + ratio_text(comparison.ratio) +
                              " of measured; bound by " + prediction.bound_by,
                          style);
  if (prediction.power_w)
    text += item("power",
                 format("%.0f W, energy %.4g mJ a launch (predicted)", *prediction.power_w,
                        *prediction.energy_mj),
                 style);
  if (comparison.limit_us > 0 && comparison.verdict != Verdict::unknown)
    text += item("limit",
                 format("%s is the least that the busiest unit or memory needs: measured is %.1f "
                        "times that",
                        time_text(comparison.limit_us).c_str(),
                        each.measured.median_us / comparison.limit_us),
                 style);
  text += findings_text(each, style);
  text += advice_text(prediction, style);
  for (const std::string& assumed : prediction.assumed) text += item("assumed", assumed, style);
  return text;
}

/// Nothing tells a number's type: bits that are not those of a small whole number are taken for a
/// float's.
std::string value_text(const KnownArgument& argument) {
  if (argument.bytes == 4) {
    const auto bits = static_cast<uint32_t>(argument.value);
    const auto number = std::bit_cast<float>(bits);
    const float size = std::abs(number);
    const bool may_be_both = bits < 1u << 31;
    if (size > 1e-20f && size < 1e20f)
      return format("%g", static_cast<double>(number)) +
             (may_be_both ? format(" (or %u)", bits) : "");
    return std::to_string(static_cast<int32_t>(bits));
  }
  const auto number = std::bit_cast<double>(argument.value);
  const double size = std::abs(number);
  if (argument.bytes == 8 && size > 1e-100 && size < 1e100) return format("%g", number);
  return std::to_string(static_cast<int64_t>(argument.value));
}

std::string argument_name(const PredictedLaunches& each, const KnownArgument& argument) {
  const bool has_name = argument.position < each.parameters.size() &&
                        !each.parameters[argument.position].name.empty();
  return has_name ? each.parameters[argument.position].name : std::to_string(argument.position);
}

/// "y 64 MiB, n = 4096": pointers with the size of their buffers.
std::string arguments_text(const PredictedLaunches& each) {
  constexpr size_t kMost = 16;
  std::vector<std::string> texts;
  for (const KnownArgument& argument : each.measured.arguments) {
    if (texts.size() == kMost) {
      texts.emplace_back("...");
      break;
    }
    const std::string name = argument_name(each, argument);
    if (!argument.is_pointer)
      texts.push_back(name + " = " + value_text(argument));
    else
      texts.push_back(name + (argument.buffer_bytes == 0
                                  ? " a pointer"
                                  : " " + human_bytes(static_cast<double>(argument.buffer_bytes))));
  }
  return join(texts, ", ");
}

std::string block(const PredictedLaunches& each, const Style& style) {
  const MeasuredLaunches& measured = each.measured;
  std::string text =
      paint(style, Paint::strong, printable(short_name(measured.name))) +
      format("   grid %s, block %s, %u registers\n", shape_text(measured.shape.grid).c_str(),
             shape_text(measured.shape.block).c_str(), measured.shape.registers_per_thread);
  if (!measured.arguments.empty()) text += item("arguments", arguments_text(each), style);
  text += item("measured", measured_text(each), style);
  if (each.prediction) return text + prediction_lines(each, style);
  return text + item("predicted",
                     "not: " + each.why_not + (each.hint.empty() ? "" : "; " + each.hint), style);
}

Json json_of(const SourceLocation& at) {
  return {{"file", at.file}, {"line", at.line}};
}

Json measured_object(const MeasuredLaunches& measured) {
  Json json;
  json["launches"] = measured.launches;
  json["total_us"] = measured.total_us;
  json["mean_us"] = measured.mean_us();
  json["median_us"] = measured.median_us;
  json["min_us"] = measured.min_us;
  json["max_us"] = measured.max_us;
  json["first_us"] = measured.first_us;
  json["after_other_work"] = measured.after_others;
  json["overlapped"] = measured.overlapped;
  json["in_graphs"] = measured.in_graphs;
  json["argument_sets"] = measured.argument_sets;
  json["without_arguments"] = measured.without_arguments;
  json["samples"] = measured.samples.total();
  json["samples_share_of_kernel"] = measured.share_of_kernel;
  return json;
}

void add_comparison(const Comparison& comparison, Json& json) {
  json["predicted_us"] = comparison.predicted_us;
  json["ratio"] = comparison.ratio;
  json["verdict"] = name_of(comparison.verdict);
  json["limit_us"] = comparison.limit_us;
  json["compared_lines"] = Json::array();
  for (const LineGap& each : comparison.lines) {
    Json line = json_of(each.at);
    line["measured_share"] = each.measured_share;
    line["predicted_share"] = each.predicted_share;
    line["gap_us"] = each.gap_us;
    line["measured_waits_for"] = each.measured_waits_for;
    line["predicted_waits_for"] = each.predicted_waits_for;
    json["compared_lines"].push_back(std::move(line));
  }
  json["compared_states"] = Json::array();
  for (const StateGap& each : comparison.states)
    json["compared_states"].push_back({{"state", name_of(each.state)},
                                       {"measured_share", each.measured_share},
                                       {"predicted_share", each.predicted_share},
                                       {"gap_us", each.gap_us}});
  json["differs"] = Json::array();
  for (const Finding& each : comparison.differs) json["differs"].push_back(finding_object(each));
}

Json kernel_object(const PredictedLaunches& each) {
  Json json = prediction_object(*each.prediction);
  json["program"] = each.measured.program;
  json["binary"] = each.measured.binary;
  json["measured_us"] = each.measured.median_us;
  json["measured"] = measured_object(each.measured);
  json["arguments"] = Json::array();
  for (const KnownArgument& argument : each.measured.arguments) {
    Json one = {{"name", argument_name(each, argument)},
                {"position", argument.position},
                {"offset", argument.offset},
                {"bytes", argument.bytes}};
    one[argument.is_pointer ? "buffer_bytes" : "value"] =
        argument.is_pointer ? argument.buffer_bytes : argument.value;
    json["arguments"].push_back(std::move(one));
  }
  add_comparison(*each.comparison, json);
  return json;
}

Json not_predicted(const PredictedRecording& recording) {
  Json list = Json::array();
  for (const PredictedLaunches& each : recording.launches)
    if (!each.prediction)
      list.push_back({{"name", each.measured.name},
                      {"mangled", each.measured.mangled},
                      {"reason", each.why_not},
                      {"hint", each.hint},
                      {"measured_us", each.measured.median_us},
                      {"measured", measured_object(each.measured)}});
  return list;
}

}  // namespace

std::string recording_text(const PredictedRecording& recording, const Style& style) {
  std::string text = "measured on " + printable(recording.launches.front().device.name) +
                     ", predicted for " + recording.machine +
                     "; times are of the kernels alone, ratio is predicted / measured\n\n" +
                     table(recording, style) + "\n";
  for (const PredictedLaunches& each : recording.launches) text += block(each, style) + "\n";
  return text;
}

std::string recording_json(const PredictedRecording& recording) {
  const Totals totals = totals_of(recording);
  Json json;
  json["schema_version"] = 1;
  json["device"] = recording.machine;
  json["recording"] = recording.path;
  json["recorded_device"] = recording.launches.front().device.name;
  json["kernels"] = Json::array();
  for (const PredictedLaunches& each : recording.launches)
    if (each.prediction) json["kernels"].push_back(kernel_object(each));
  json["not_predicted"] = not_predicted(recording);
  json["total"] = {
      {"launches", totals.launches},         {"measured_us", totals.measured_us},
      {"predicted_us", totals.predicted_us}, {"not_predicted_us", totals.not_predicted_us},
      {"arguments_unknown", totals.guessed}, {"left_out_shapes", recording.left_out}};
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace fathom
