#include <algorithm>

#include "views/json_parts.h"
#include "views/lookups.h"
#include "views/report.h"

namespace fathom {
namespace {

/// The nodes that have samples, parents first.
Json json_of(const TopDownCounts& counts) {
  TopDownCounts sums = counts.inclusive();
  double all = sums[TopDown::cycles];
  Json nodes = Json::array();
  for (const TopDownNode& node : topdown_nodes()) {
    if (sums[node.id] <= 0) continue;
    nodes.push_back({{"metric", std::string(node.metric)},
                     {"title", std::string(node.title)},
                     {"meaning", std::string(node.meaning)},
                     {"samples", sums[node.id]},
                     {"fraction", sums[node.id] / all}});
  }
  return nodes;
}

Json json_of(const StallCounts& counts) {
  Json reasons = Json::array();
  for (size_t i = 0; i < kStallReasonCount; ++i) {
    if (counts.all[i] == 0) continue;
    reasons.push_back({{"reason", std::string(name_of(StallReason(i)))},
                       {"meaning", std::string(explain(StallReason(i)))},
                       {"samples", counts.all[i]},
                       {"exposed", counts.latency[i]}});
  }
  return reasons;
}

std::string limit_name(OccupancyLimit limit) {
  constexpr const char* kNames[] = {"none", "warps", "blocks", "registers", "shared_memory"};
  return kNames[static_cast<size_t>(limit)];
}

Json json_of(const LaunchGroup& group) {
  const LaunchShape& shape = group.shape;
  const Occupancy& occupancy = group.occupancy;
  return {{"grid", shape.grid},
          {"block", shape.block},
          {"cluster", shape.cluster},
          {"registers_per_thread", shape.registers_per_thread},
          {"static_shared_memory", shape.static_shared_memory},
          {"dynamic_shared_memory", shape.dynamic_shared_memory},
          {"local_memory_per_thread", shape.local_memory_per_thread},
          {"launches", group.launches},
          {"seconds", group.seconds},
          {"waves", group.waves},
          {"occupancy",
           {{"fraction", occupancy.fraction()},
            {"active_blocks", occupancy.active_blocks},
            {"active_warps", occupancy.active_warps},
            {"available_warps", occupancy.available_warps},
            {"limit", limit_name(occupancy.limit)}}}};
}

Json json_of(const KernelSummary& kernel) {
  Json groups = Json::array();
  for (const LaunchGroup& group : kernel.groups) groups.push_back(json_of(group));
  return {{"name", kernel.name},
          {"mangled", kernel.mangled},
          {"launches", kernel.launches},
          {"seconds", kernel.seconds},
          {"min_seconds", kernel.min_seconds},
          {"max_seconds", kernel.max_seconds},
          {"share", kernel.share},
          {"coverage", {{"before", kernel.coverage_before}, {"after", kernel.coverage_after}}},
          {"shapes", groups},
          {"samples", json_of(kernel.samples)},
          {"topdown", json_of(kernel.topdown)}};
}

Json json_of(const Profile& profile, const HotLine& line) {
  Json causes = Json::array();
  for (const LineCause& cause : line.causes)
    causes.push_back({{"file", cause.at.file},
                      {"line", cause.at.line},
                      {"class", std::string(name_of(cause.kind))},
                      {"stalls", cause.stalls}});
  std::string function =
      line.function == kNoId ? std::string() : profile.functions[line.function].name;
  return {{"file", line.at.file},
          {"line", line.at.line},
          {"function", function},
          {"source", source_text(profile, line.at)},
          {"samples", line.samples.total()},
          {"exposed", line.samples.total_latency()},
          {"reasons", json_of(line.samples)},
          {"causes", causes}};
}

Json json_of(const Warning& warning) {
  constexpr const char* kNames[] = {"note", "warning", "error"};
  return {{"severity", kNames[static_cast<size_t>(warning.severity)]},
          {"what", warning.what},
          {"where", warning.where},
          {"hint", warning.hint}};
}

Json json_of(const NumaThreadFacts& t) {
  return {{"thread", t.index},
          {"kind", t.kind},
          {"start", t.start},
          {"file", t.at.file},
          {"line", t.at.line},
          {"reads", t.reads},
          {"writes", t.writes},
          {"spin_reads", t.spin_reads},
          {"contended_locks", t.contended_locks},
          {"condition_waits", t.condition_waits},
          {"barrier_waits", t.barrier_waits},
          {"semaphore_waits", t.semaphore_waits},
          {"wait_seconds", t.wait_seconds},
          {"cpu_seconds", t.cpu_seconds},
          {"seconds", t.seconds}};
}

Json json_of(const NumaObjectFacts& o) {
  return {{"name", o.name},
          {"kind", o.kind},
          {"file", o.at.file},
          {"line", o.at.line},
          {"count", o.count},
          {"bytes", o.bytes},
          {"reads", o.reads},
          {"writes", o.writes},
          {"local", o.local()},
          {"remote", o.remote},
          {"false_invalidations", o.false_invalidations},
          {"true_invalidations", o.true_invalidations},
          {"remote_score", o.remote_score},
          {"false_sharing_score", o.false_score},
          {"true_sharing_score", o.true_score}};
}

Json json_of(const NumaFacts& numa) {
  Json threads = Json::array(), objects = Json::array();
  for (const NumaThreadFacts& thread : numa.thread_facts) threads.push_back(json_of(thread));
  for (const NumaObjectFacts& object : numa.objects) objects.push_back(json_of(object));
  return {{"program", numa.program},
          {"process", numa.process},
          {"threads_that_ran", numa.threads},
          {"time_ms", numa.time_ms},
          {"parallel_share", numa.parallel_share},
          {"migration_score", numa.migration_score},
          {"phases", numa.phases},
          {"sampling_log2", numa.sampling},
          {"accesses_not_counted", numa.accesses_not_counted},
          {"topology", numa.topology},
          {"threads", threads},
          {"objects", objects}};
}

}  // namespace

Result<std::string> report_json(const Profile& profile, const ReportOptions& options) {
  Result<Scope> scope = find_scope(profile, options.kernel, options.loop, options.line);
  if (!scope) return scope.error();
  Json warnings = Json::array(), kernels = Json::array(), lines = Json::array(),
       metrics = Json::object();
  for (const Warning& warning : profile.warnings) warnings.push_back(json_of(warning));
  for (const KernelSummary* kernel : scope->kernels) kernels.push_back(json_of(*kernel));
  std::vector<HotLine> hottest = hot_lines(profile, scope->instructions);
  if (options.top && hottest.size() > options.top) hottest.resize(options.top);
  for (const HotLine& line : hottest) lines.push_back(json_of(profile, line));
  MetricLookup table(profile);
  for (const Metric& metric : profile.metrics)
    if (double value = table.total(metric.name); value != 0)
      metrics[metric.name] = {{"value", value}, {"unit", metric.unit}};
  Json numa = Json::array();
  for (const NumaFacts& process : profile.numa) numa.push_back(json_of(process));
  Json report = {{"schema_version", 1},
                 {"run", json_of(profile.run, profile.devices)},
                 {"warnings", warnings},
                 {"metrics", metrics},
                 {"scope", scope->title},
                 {"kernels", kernels},
                 {"topdown", json_of(scope->topdown)},
                 {"hot_lines", lines}};
  if (!numa.empty()) report["numa"] = numa;
  return text_of(report);
}

}  // namespace fathom
