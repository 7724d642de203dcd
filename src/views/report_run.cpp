// The run, what must be known about it, and what the GPU did.

#include <cmath>

#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

constexpr size_t kLabelWidth = 14;

std::string row(const Style& style, std::string_view label, std::string_view text) {
  std::string lead = "  " + pad_right(paint(style, Paint::dim, label), kLabelWidth - 2);
  return paragraph(lead, text, kLabelWidth, style.width);
}

std::string how_it_ended(const RunFacts& run) {
  if (!run.finished) return "its end was not seen (killed, or still running)";
  if (run.exit_code == 0) return "ended normally";
  return format("ended with exit code %d", run.exit_code);
}

std::string machine_text(const RunFacts& run) {
  std::string text = run.host.empty() ? "an unnamed host" : printable(run.host);
  if (run.wall_seconds > 0) text += ", " + human_seconds(run.wall_seconds);
  text += ", " + counted(run.processes, "process", "processes");
  return text + ", " + how_it_ended(run);
}

std::string device_text(const DeviceFacts& d) {
  std::string text = printable(d.name);
  std::vector<std::string> facts;
  if (d.multiprocessors) facts.push_back(format("%u multiprocessors", d.multiprocessors));
  if (d.core_clock_khz) facts.push_back(format("%.2f GHz", d.core_clock_khz / 1e6));
  if (d.memory_bytes) facts.push_back(human_bytes(double(d.memory_bytes)) + " of memory");
  if (d.memory_bandwidth > 0) facts.push_back(format("%.0f GB/s", d.memory_bandwidth / 1e9));
  return facts.empty() ? text : text + ": " + join(facts, ", ");
}

/// Equal devices (of several processes or of one node) in one line.
std::string device_rows(const Profile& profile, const Style& style) {
  std::vector<std::pair<std::string, size_t>> kinds;
  for (const DeviceFacts& device : profile.devices) {
    std::string text = device_text(device);
    bool is_new = kinds.empty() || kinds.back().first != text;
    if (is_new) kinds.push_back({text, 0});
    ++kinds.back().second;
  }
  std::string rows;
  for (const auto& [text, count] : kinds) {
    std::string times = count > 1 ? format("%zu x ", count) : "";
    rows += row(style, rows.empty() ? "GPU" : "", times + text);
  }
  return rows;
}

std::string sampling_rows(const RunFacts& run, const Style& style) {
  uint64_t collected = run.samples_attributed + run.samples_unattributed;
  if (run.sampling_period_log2 == 0 || run.sampling_period_log2 > 62)
    return row(style, "Sampling", "off: kernels were timed, but not looked into");
  std::string rows = row(
      style, "Sampling",
      format(
          "one warp of each multiprocessor every %s cycles; %s of %s samples (%s) are on a known "
          "instruction",
          human_count(uint64_t{1} << run.sampling_period_log2).c_str(),
          human_count(run.samples_attributed).c_str(), human_count(collected).c_str(),
          human_percent(collected ? double(run.samples_attributed) / double(collected) : 0)
              .c_str()));
  std::vector<std::string> lost;
  if (run.samples_dropped) lost.push_back(human_count(run.samples_dropped) + " were dropped");
  if (run.samples_non_user)
    lost.push_back(human_count(run.samples_non_user) + " fell in code that the vendor hides");
  if (!lost.empty()) rows += row(style, "", "besides, " + join(lost, " and "));
  return rows +
         row(style, "Mode",
             run.sampling_serialized
                 ? "serialized: kernels ran one after the other, and each sample belongs to one "
                   "launch exactly"
                 : "continuous: kernels ran as usual. The samples of a function that was launched "
                   "from several places are shared among these by kernel time.");
}

}  // namespace

std::string run_section(const Profile& profile, const Style& style) {
  const RunFacts& run = profile.run;
  std::string text = paint(style, Paint::strong, printable(run.command)) + "\n\n";
  text += row(style, "Ran on", machine_text(run));
  text += device_rows(profile, style);
  if (!run.events.empty()) text += row(style, "Measured", printable(run.events));
  return is_about_gpu(profile) ? text + sampling_rows(run, style) : text;
}

std::string warnings_section(const Profile& profile, const Style& style) {
  if (profile.warnings.empty()) return "";
  std::string text = heading(style, "To keep in mind");
  for (const Warning& warning : profile.warnings) {
    constexpr const char* kNames[] = {"note", "warning", "error"};
    size_t severity = static_cast<size_t>(warning.severity);
    std::string label = pad_right(kNames[severity], kLabelWidth - 2);
    if (severity > 0) label = paint(style, Paint::bad, label);
    std::string what = printable(warning.what);
    if (!warning.where.empty()) what += " (" + printable(warning.where) + ")";
    text += paragraph("  " + label, what, kLabelWidth, style.width);
    if (warning.hint.empty()) continue;
    std::string lead(kLabelWidth, ' ');
    text += paragraph(lead + "→ ", printable(warning.hint), kLabelWidth + 2, style.width);
  }
  return text;
}

namespace {

/// Copies in one direction. Their time is known where a context copied in this direction only.
struct Direction {
  double bytes = 0, seconds = 0, count = 0;
  bool timed = true;
};

struct Copies {
  std::array<Direction, kCopyKindCount> directions;
  Direction mixed;
};

Copies sum_copies(const Profile& profile, const MetricLookup& table) {
  Copies copies;
  uint32_t seconds = table.find("GXCOPY"), count = table.find("GXCOPY:COUNT");
  std::array<uint32_t, kCopyKindCount> bytes;
  for (size_t i = 0; i < kCopyKindCount; ++i)
    bytes[i] = table.find("GXCOPY:" + std::string(code_of(CopyKind(i))));
  for (uint32_t context = 0; context < profile.contexts.size(); ++context) {
    std::vector<Direction*> used;
    for (size_t i = 0; i < kCopyKindCount; ++i) {
      double amount = table.exclusive(context, bytes[i]);
      if (amount <= 0) continue;
      copies.directions[i].bytes += amount;
      used.push_back(&copies.directions[i]);
    }
    Direction& owner = used.size() == 1 ? *used[0] : copies.mixed;
    owner.seconds += table.exclusive(context, seconds);
    owner.count += table.exclusive(context, count);
    if (used.size() > 1)
      for (Direction* direction : used) direction->timed = false;
  }
  return copies;
}

constexpr const char* kDirections[kCopyKindCount] = {
    "of unknown direction", "host to device", "device to host",  "host to array",
    "array to host",        "array to array", "array to device", "device to array",
    "device to device",     "host to host",   "from GPU to GPU"};

/// The rows of one table; zero counts and times stay blank.
class OperationTable {
 public:
  OperationTable(const Style& style, double total) : style_(style), total_(total) {}

  void add(double seconds, double count, const std::string& what, const std::string& remark) {
    std::string share = total_ > 0 && seconds > 0 ? human_percent(seconds / total_) : "";
    std::string time = seconds > 0 ? human_seconds(seconds) : "";
    std::string number = count > 0 ? human_count(uint64_t(std::llround(count))) : "";
    text_ += "  " + pad_left(share, 6) + pad_left(time, 11) + pad_left(number, 12) + "  " +
             pad_right(what, 34) + remark + "\n";
  }
  std::string text() const {
    if (text_.empty()) return "";
    std::string head =
        "  " + pad_left("share", 6) + pad_left("time", 11) + pad_left("count", 12) + "  operation";
    return paint(style_, Paint::dim, head) + "\n" + text_;
  }

 private:
  Style style_;
  double total_;
  std::string text_;
};

void add_copies(const Profile& profile, const MetricLookup& table, OperationTable& rows) {
  Copies copies = sum_copies(profile, table);
  for (size_t i = 0; i < kCopyKindCount; ++i) {
    const Direction& d = copies.directions[i];
    if (d.bytes <= 0) continue;
    std::string remark = human_bytes(d.bytes);
    if (d.timed && d.seconds > 0) remark += format(" at %.1f GB/s", d.bytes / d.seconds / 1e9);
    rows.add(d.seconds, d.count, std::string("copies ") + kDirections[i], remark);
  }
  if (copies.mixed.seconds > 0)
    rows.add(copies.mixed.seconds, copies.mixed.count, "copies in several directions", "");
}

/// The sum of "GMEM:DEV", "GMEM:PIN"... for the whole program.
double sum_over_memories(const MetricLookup& table, const std::string& metric) {
  double sum = 0;
  for (size_t i = 0; i < kMemoryKindCount; ++i)
    sum += table.total(metric + ":" + std::string(code_of(MemoryKind(i))));
  return sum;
}

std::string bytes_or_nothing(double bytes) {
  return bytes > 0 ? human_bytes(bytes) : "";
}

}  // namespace

std::string operations_section(const Profile& profile, const Style& style) {
  MetricLookup table(profile);
  double total = table.total("GPUOP");
  OperationTable rows(style, total);
  auto add = [&](const char* metric, const char* what, const std::string& remark) {
    double count = table.total(std::string(metric) + ":COUNT");
    if (table.total(metric) > 0 || count > 0) rows.add(table.total(metric), count, what, remark);
  };
  add("GKER", "kernels", "");
  add_copies(profile, table, rows);
  add("GMSET", "memory sets", bytes_or_nothing(sum_over_memories(table, "GMSET")));
  add("GMEM", "allocations and releases", bytes_or_nothing(sum_over_memories(table, "GMEM")));
  add("GSYNC", "waits for the GPU", "");
  std::string text = rows.text();
  if (text.empty()) text = "  No operation of a GPU was recorded.\n";
  std::string remark = total > 0 ? human_seconds(total) + " in all" : "";
  return heading(style, "What the GPU did", remark) + text;
}

}  // namespace fathom
