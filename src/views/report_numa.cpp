// Threads and objects of processes whose memory accesses were recorded.

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "views/report_parts.h"

namespace fathom {
namespace {

std::string count_or_dash(uint64_t count) {
  return count ? human_count(count) : "-";
}
std::string rounded(double count) {
  if (count < 0.5) return "-";
  return count < 1e18 ? human_count(uint64_t(std::llround(count))) : format("%.2g", count);
}
std::string score(double value) {
  if (value <= 0) return "-";
  return value < 100 ? format("%.1f", value) : rounded(value);
}

std::string heading_of(const NumaFacts& numa, const Profile& profile, const Style& style) {
  std::string title = "NUMA";
  if (profile.numa.size() > 1)
    title += format(": process %u, ", numa.process) + printable(numa.program);
  return heading(style, title,
                 counted(numa.threads, "thread", "threads") + ", " +
                     counted(numa.objects.size(), "object", "objects"));
}

std::string summary_of(const NumaFacts& numa, const Style& style) {
  std::string text = format(
      "%s of processor time for each thread that works, in %s; several threads ran during %s of "
      "the "
      "time; "
      "%s waits "
      "per second and thread (migration score). ",
      human_seconds(numa.time_ms / 1e3).c_str(), counted(numa.phases, "phase", "phases").c_str(),
      human_percent(numa.parallel_share).c_str(), score(numa.migration_score).c_str());
  if (numa.sampling)
    text += format("One of %s intervals was counted: scores are scaled, counts are not. ",
                   human_count(uint64_t{1} << std::min<uint32_t>(numa.sampling, 62)).c_str());
  if (numa.accesses_not_counted)
    text += human_count(numa.accesses_not_counted) + " accesses were not counted. ";
  return paragraph("  ",
                   text + "Gains are estimated for the topology " + printable(numa.topology) + ".",
                   2, style.width);
}

std::string more(size_t shown, size_t all) {
  return shown < all ? format("  … and %zu more; --top 0 lists all\n", all - shown) : "";
}

std::string threads_table(const NumaFacts& numa, const ReportOptions& options) {
  std::string head = pad_left("thread", 8) + "  " + pad_right("kind", 8) +
                     pad_left("accesses", 15) + pad_left("spins", 12) + pad_left("locks", 8) +
                     pad_left("conditions", 11) + pad_left("barriers", 9) + pad_left("waiting", 9) +
                     pad_left("CPU", 9) + "  starts in";
  std::string text = paint(options.style, Paint::dim, head) + "\n";
  size_t shown = numa.thread_facts.size();
  if (options.top) shown = std::min(shown, options.top);
  for (size_t i = 0; i < shown; ++i) {
    const NumaThreadFacts& t = numa.thread_facts[i];
    std::string row =
        pad_left(std::to_string(t.index), 8) + "  " + pad_right(printable(t.kind), 8) +
        pad_left(count_or_dash(t.reads + t.writes), 15) +
        pad_left(count_or_dash(t.spin_reads), 12) + pad_left(count_or_dash(t.contended_locks), 8) +
        pad_left(count_or_dash(t.condition_waits), 11) +
        pad_left(count_or_dash(t.barrier_waits), 9) + pad_left(human_seconds(t.wait_seconds), 9) +
        pad_left(human_seconds(t.cpu_seconds), 9) + "  ";
    size_t room = options.style.width - std::min(options.style.width - 10, columns(row));
    text += row + shorten_middle(printable(t.start), room) + "\n";
  }
  return text + more(shown, numa.thread_facts.size());
}

std::string objects_table(const NumaFacts& numa, const ReportOptions& options) {
  std::string head = pad_left("accesses", 15) + pad_left("remote", 15) + pad_left("share", 7) +
                     pad_left("score", 9) + pad_left("false sharing", 15) +
                     pad_left("true sharing", 14) + "  object";
  std::string text = paint(options.style, Paint::dim, head) + "\n";
  size_t shown = numa.objects.size();
  if (options.top) shown = std::min(shown, options.top);
  for (size_t i = 0; i < shown; ++i) {
    const NumaObjectFacts& o = numa.objects[i];
    double all = double(o.reads) + double(o.writes);
    std::string row =
        pad_left(count_or_dash(o.reads + o.writes), 15) + pad_left(count_or_dash(o.remote), 15) +
        pad_left(all > 0 ? human_percent(double(o.remote) / all) : "-", 7) +
        pad_left(score(o.remote_score), 9) + pad_left(rounded(o.false_invalidations), 15) +
        pad_left(rounded(o.true_invalidations), 14) + "  ";
    size_t room = options.style.width - std::min(options.style.width - 10, columns(row));
    text += row + shorten_middle(printable(o.name), room) + "\n";
  }
  return text + more(shown, numa.objects.size());
}

constexpr const char* kLegend =
    "remote: by another thread than the one that touched the page first. score: remote accesses "
    "per "
    "ms and other thread, none where lines wander more than that. false and true sharing: expected "
    "invalidations of cache lines, by writes to other words and to the same. spins: reads of "
    "waiting "
    "loops, which are no accesses.";

}  // namespace

std::string numa_section(const Profile& profile, const ReportOptions& options) {
  std::string text;
  for (const NumaFacts& numa : profile.numa) {
    text += heading_of(numa, profile, options.style) + summary_of(numa, options.style) + "\n" +
            threads_table(numa, options);
    if (!numa.objects.empty()) text += "\n" + objects_table(numa, options);
  }
  if (text.empty()) return "";
  return text + "\n" +
         paint(options.style, Paint::dim, paragraph("  ", kLegend, 2, options.style.width));
}

}  // namespace fathom
