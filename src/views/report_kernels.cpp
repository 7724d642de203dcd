#include <algorithm>

#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

/// "128 x 128", "64", "8 x 8 x 4": trailing ones say nothing.
std::string extent(const std::array<uint32_t, 3>& size) {
  std::string text = std::to_string(size[0]);
  if (size[1] > 1 || size[2] > 1) text += "x" + std::to_string(size[1]);
  if (size[2] > 1) text += "x" + std::to_string(size[2]);
  return text;
}

std::string limit_text(OccupancyLimit limit) {
  switch (limit) {
    case OccupancyLimit::none:
      return "";
    case OccupancyLimit::warps:
      return "warp slots";
    case OccupancyLimit::blocks:
      return "block slots";
    case OccupancyLimit::registers:
      return "registers";
    case OccupancyLimit::shared_memory:
      return "shared memory";
  }
  return "";
}

std::string occupancy_text(const Occupancy& occupancy) {
  if (occupancy.available_warps == 0) return "";
  std::string percent = format("%3.0f%%", occupancy.fraction() * 100);
  bool is_full = occupancy.active_warps >= occupancy.available_warps;
  std::string limit = is_full ? "" : limit_text(occupancy.limit);
  return limit.empty() ? percent : percent + " " + limit;
}

std::string shared_memory_text(const LaunchShape& shape) {
  uint64_t bytes = uint64_t{shape.static_shared_memory} + shape.dynamic_shared_memory;
  return bytes ? human_bytes(double(bytes)) : "-";
}

constexpr size_t kShapeColumn = 37;  ///< where the name and the shapes start

std::string times(const std::string& share, double seconds, uint64_t launches) {
  double average = launches ? seconds / double(launches) : 0;
  return "  " + pad_left(share, 6) + pad_left(human_seconds(seconds), 9) +
         pad_left(human_count(launches), 9) + pad_left(human_seconds(average), 9) + "  ";
}

/// One row for each shape; its times only where they are not the kernel's.
std::string shape_row(const LaunchGroup& group, bool with_times) {
  const LaunchShape& shape = group.shape;
  std::string lead =
      with_times ? times("", group.seconds, group.launches) : std::string(kShapeColumn, ' ');
  return lead + pad_right(extent(shape.grid) + " x " + extent(shape.block), 20) +
         pad_left(std::to_string(shape.registers_per_thread), 5) +
         pad_left(shared_memory_text(shape), 9) + "  " +
         pad_right(occupancy_text(group.occupancy), 18) + pad_left(format("%.1f", group.waves), 6) +
         "\n";
}

constexpr const char* kTimesHeader = "   share     time launches  average";
constexpr const char* kShapeHeader = "grid x block         regs   shared  occupancy          waves";

std::string kernel_rows(const Profile& profile, const KernelSummary& kernel, const Style& style) {
  std::string device;
  if (profile.devices.size() > 1 && kernel.device < profile.devices.size())
    device = format("  (GPU %u)", profile.devices[kernel.device].id);
  size_t room = style.width - std::min(style.width - 30, kShapeColumn + columns(device));
  std::string name = shorten_middle(show_function(kernel.name), room);
  std::string text = times(human_percent(kernel.share), kernel.seconds, kernel.launches) +
                     paint(style, Paint::accent, name) + device + "\n";
  for (const LaunchGroup& group : kernel.groups) text += shape_row(group, kernel.groups.size() > 1);
  return text;
}

}  // namespace

std::string kernels_section(const Profile& profile, const ReportOptions& options) {
  if (profile.kernels.empty()) return "";
  const Style& style = options.style;
  size_t shown = profile.kernels.size();
  if (options.top) shown = std::min(shown, options.top);
  std::string text =
      heading(style, "Kernels", counted(profile.kernels.size(), "kernel", "kernels"));
  std::string first = pad_right(kTimesHeader, kShapeColumn) + "kernel\n";
  text += paint(style, Paint::dim, first + std::string(kShapeColumn, ' ') + kShapeHeader) + "\n";
  for (size_t i = 0; i < shown; ++i) text += kernel_rows(profile, profile.kernels[i], style);
  if (shown < profile.kernels.size())
    text += format("  … and %zu more; --top 0 lists all\n", profile.kernels.size() - shown);
  const char* legend =
      "regs: registers of a thread. shared: memory of a block. occupancy: how many of the warps "
      "that a "
      "multiprocessor can hold are on it at once, and what allows no more. waves: how often the "
      "grid fills the GPU.";
  return text + "\n" + paint(style, Paint::dim, paragraph("  ", legend, 2, style.width));
}

/// How the occupancy of a shape comes about.
static std::string occupancy_row(const Occupancy& o, const Style& style) {
  if (o.available_warps == 0) return "";
  std::string text = format(
      "%u of %u warps for each multiprocessor. Blocks that fit by registers: %u, by shared memory: "
      "%u, by warp "
      "slots: %u, by block slots: %u.",
      o.active_warps, o.available_warps, o.limit_registers, o.limit_shared_memory, o.limit_warps,
      o.limit_blocks);
  return paint(style, Paint::dim,
               paragraph(std::string(kShapeColumn, ' '), text, kShapeColumn, style.width));
}

std::string kernel_section(const Profile& profile, const KernelSummary& kernel,
                           const Style& style) {
  std::string text = heading(style, "Kernel " + show_function(kernel.name),
                             human_percent(kernel.share) + " of the time in kernels");
  text += paragraph("  ", printable(kernel.name), 2, style.width);
  text +=
      format("  %s in %s: %s on average, from %s to %s\n\n", human_seconds(kernel.seconds).c_str(),
             counted(kernel.launches, "launch", "launches").c_str(),
             human_seconds(kernel.launches ? kernel.seconds / double(kernel.launches) : 0).c_str(),
             human_seconds(kernel.min_seconds).c_str(), human_seconds(kernel.max_seconds).c_str());
  std::string first = pad_right(kTimesHeader, kShapeColumn).replace(0, 8, 8, ' ');
  text += paint(style, Paint::dim, first + kShapeHeader) + "\n";
  for (const LaunchGroup& group : kernel.groups) {
    text += shape_row(group, true);
    text += occupancy_row(group.occupancy, style);
  }
  if (kernel.function == kNoId) {
    text += "\n  No sample fell on it, so nothing is known of its inside.\n";
  } else {
    const std::string& note = profile.functions[kernel.function].note;
    if (!note.empty()) text += "\n" + paragraph("  ", "Note: " + printable(note), 2, style.width);
    text +=
        "\n" + paragraph("  ",
                         format("For %s of its instructions only one cause of waiting is possible, "
                                "so that it is blamed without a guess.",
                                human_percent(kernel.coverage_after).c_str()),
                         2, style.width);
  }
  return text;
}

}  // namespace fathom
