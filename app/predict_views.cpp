#include "app/predict_views.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace fathom {
namespace {

using Json = nlohmann::ordered_json;

std::string kernel_text(const KernelPrediction& kernel, const Style& style) {
  std::string text =
      paint(style, Paint::strong, short_name(kernel.name)) +
      format("   grid %s, block %s, %u registers%s\n", shape_text(kernel.shape.grid).c_str(),
             shape_text(kernel.shape.block).c_str(), kernel.shape.registers_per_thread,
             kernel.from_sass ? "" : " (estimated)");
  text += format("  time       %s   (of it %s for the launch)\n",
                 human_seconds(kernel.time_us / 1e6).c_str(),
                 human_seconds(kernel.launch_us / 1e6).c_str());
  if (kernel.power_w)
    text += format("  power      %.0f W, energy %.4g mJ\n", *kernel.power_w, *kernel.energy_mj);
  text += "  bound by   " + kernel.bound_by + "\n";
  text += format("  occupancy  %s, %u warps of %u\n",
                 human_percent(kernel.occupancy.fraction()).c_str(), kernel.occupancy.active_warps,
                 kernel.occupancy.available_warps);
  text += format("  memory     %s from L2, %s from device memory, %s hits in L1\n",
                 human_bytes(kernel.l2_bytes).c_str(), human_bytes(kernel.dram_bytes).c_str(),
                 human_percent(kernel.l1_hit_share).c_str());
  std::vector<std::string> busy;
  for (const ResourceUse& each : kernel.resources)
    if (each.share >= 0.05 && busy.size() < 4)
      busy.push_back(each.name + " " + human_percent(each.share));
  if (!busy.empty()) text += "  busy       " + join(busy, ", ") + "\n";
  size_t shown = 0;
  for (const LineShare& each : kernel.lines) {
    if (shown == 5 || each.share < 0.02) break;
    text += format("  %s%6s  %s%s\n", shown++ == 0 ? "lines    " : "         ",
                   human_percent(each.share).c_str(), place_text(each.at).c_str(),
                   each.waits_for.empty() ? "" : ("  waits for " + each.waits_for).c_str());
  }
  for (const Finding& each : kernel.findings) {
    text += "  advice     " + each.title;
    if (each.location.line != 0) text += " (" + place_text(each.location) + ")";
    if (each.speedup) text += format(", up to %.2fx", each.speedup->high);
    text += "\n             " + each.text + "\n";
  }
  for (const std::string& each : kernel.assumed) text += "  assumed    " + each + "\n";
  return text;
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

std::string shape_text(const std::array<uint32_t, 3>& shape) {
  std::string text = std::to_string(shape[0]);
  if (shape[1] > 1 || shape[2] > 1) text += format(" x %u", shape[1]);
  if (shape[2] > 1) text += format(" x %u", shape[2]);
  return text;
}

std::string place_text(const SourceLocation& at) {
  if (at.line == 0) return "(no line)";
  return at.file.substr(at.file.rfind('/') + 1) + ":" + std::to_string(at.line);
}

Json finding_object(const Finding& finding) {
  Json json;
  json["kind"] = finding.kind;
  json["fix"] = finding.fix;
  json["subject"] = finding.subject;
  json["location"] = {{"file", finding.location.file}, {"line", finding.location.line}};
  json["evidence"] = Json::array();
  for (const Evidence& each : finding.evidence)
    json["evidence"].push_back({{"name", each.name}, {"value", each.value}, {"unit", each.unit}});
  if (finding.speedup) {
    json["speedup"] = {{"low", finding.speedup->low},
                       {"mid", finding.speedup->mid},
                       {"high", finding.speedup->high}};
  } else {
    json["speedup"] = nullptr;
  }
  json["title"] = finding.title;
  json["text"] = finding.text;
  return json;
}

Json prediction_object(const KernelPrediction& kernel) {
  Json json;
  json["name"] = kernel.name;
  json["mangled"] = kernel.mangled;
  json["model"] = name_of(kernel.model);
  json["grid"] = kernel.shape.grid;
  json["block"] = kernel.shape.block;
  json["time_us"] = kernel.time_us;
  json["launch_us"] = kernel.launch_us;
  json["power_w"] = number_or_null(kernel.power_w);
  json["energy_mj"] = number_or_null(kernel.energy_mj);
  json["bound_by"] = kernel.bound_by;
  json["assumed"] = kernel.assumed;
  json["registers"] = kernel.shape.registers_per_thread;
  json["registers_estimated"] = !kernel.from_sass;
  json["occupancy"] = kernel.occupancy.fraction();
  json["instructions"] = kernel.instructions;
  json["l1_hit_share"] = kernel.l1_hit_share;
  json["l2_bytes"] = kernel.l2_bytes;
  json["dram_bytes"] = kernel.dram_bytes;
  json["footprint_bytes"] = kernel.footprint_bytes;
  for (size_t i = 0; i < kCounts; ++i)
    json["activity"][std::string(name_of(static_cast<Count>(i)))] = kernel.activity.values[i];
  for (const auto& [name, value] : kernel.rates) json["rates"][std::string(name)] = value;
  json["resources"] = Json::array();
  for (const ResourceUse& each : kernel.resources)
    if (each.share > 0) json["resources"].push_back({{"name", each.name}, {"share", each.share}});
  json["lines"] = Json::array();
  for (const LineShare& each : kernel.lines)
    json["lines"].push_back({{"file", each.at.file},
                             {"line", each.at.line},
                             {"share", each.share},
                             {"waits_for", each.waits_for}});
  json["findings"] = Json::array();
  for (const Finding& each : kernel.findings) json["findings"].push_back(finding_object(each));
  return json;
}

std::string prediction_text(const std::vector<KernelPrediction>& kernels,
                            const MachineModel& machine, const Style& style) {
  std::string text = "predicted for " + machine.name + "\n\n";
  for (const KernelPrediction& each : kernels) text += kernel_text(each, style) + "\n";
  return text;
}

std::string prediction_json(const std::vector<KernelPrediction>& kernels,
                            const MachineModel& machine) {
  Json json;
  json["schema_version"] = 1;
  json["device"] = machine.name;
  json["kernels"] = Json::array();
  for (const KernelPrediction& each : kernels) json["kernels"].push_back(prediction_object(each));
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string sweep_text(const std::vector<KernelPrediction>& launches, const MachineModel& machine) {
  std::string text = "predicted for " + machine.name +
                     ", fastest first\n\n     time      block        grid  occupancy   power      "
                     "energy  bound by\n";
  for (const KernelPrediction& each : launches) {
    const std::string power = each.power_w ? format("%.0f W", *each.power_w) : "-",
                      energy = each.energy_mj ? format("%.4g mJ", *each.energy_mj) : "-";
    text +=
        format("%9s  %9s  %10s  %9s  %6s  %10s  %s\n", human_seconds(each.time_us / 1e6).c_str(),
               shape_text(each.shape.block).c_str(), shape_text(each.shape.grid).c_str(),
               human_percent(each.occupancy.fraction()).c_str(), power.c_str(), energy.c_str(),
               each.bound_by.c_str());
  }
  return text;
}

}  // namespace fathom
