#include "attribution/metrics.h"

#include <algorithm>
#include <tuple>

#include "base/result.h"

namespace fathom {
namespace {

constexpr std::string_view kMemoryNames[kMemoryKindCount] = {
    "unknown memory kind", "pageable memory", "pinned memory",        "device memory",
    "array memory",        "managed memory",  "device static memory", "managed static memory"};
constexpr std::string_view kCopyNames[kCopyKindCount] = {
    "unknown kind",     "host to device", "device to host",  "host to array",
    "array to host",    "array to array", "array to device", "device to array",
    "device to device", "host to host",   "peer to peer"};
constexpr std::string_view kSyncNames[kSyncKindCount] = {"unknown kind", "event",
                                                         "stream event wait", "stream", "context"};

class MetricList {
 public:
  uint32_t add(std::string name, std::string unit, std::string description, uint32_t parent = kNoId,
               bool visible = true, MetricKind kind = MetricKind::sum, std::string formula = "") {
    list.push_back({std::move(name), std::move(unit), parent, std::move(description), visible, kind,
                    std::move(formula)});
    return static_cast<uint32_t>(list.size() - 1);
  }
  /// Averages over launches carry a sum that is divided by GKER:COUNT in the end.
  void add_launch_average(const std::string& name, const std::string& unit,
                          const std::string& what) {
    add("GKER:" + name, unit, "GPU kernel: " + what + ", average over launches", kNoId, true,
        MetricKind::average, "sum over launches / GKER:COUNT");
  }
  std::vector<Metric> list;
};

void add_times(MetricList& metrics) {
  uint32_t all = metrics.add("GPUOP", "s", "Total GPU operation time: sum of all metrics below",
                             kNoId, true, MetricKind::sum, "GKER + GMEM + GMSET + GXCOPY + GSYNC");
  metrics.add("GKER", "s", "GPU time: kernel execution", all);
  metrics.add("GMEM", "s", "GPU time: memory allocation/deallocation", all);
  metrics.add("GMSET", "s", "GPU time: memory set", all);
  metrics.add("GXCOPY", "s", "GPU time: explicit data copy", all);
  metrics.add("GSYNC", "s", "GPU time: synchronization", all);
}

void add_launch_characteristics(MetricList& metrics) {
  metrics.add("GKER:COUNT", "count", "GPU kernel: launch count");
  metrics.add_launch_average("BLK_MEM", "bytes", "on-chip (shared) memory per block");
  metrics.add_launch_average("BLK_MEM:STAT", "bytes", "static part of block memory");
  metrics.add_launch_average("BLK_MEM:DYN", "bytes", "dynamic part of block memory");
  metrics.add_launch_average("THR_MEM", "bytes",
                             "private (local) memory per thread for spills and stack");
  metrics.add_launch_average("THR_REG", "registers", "registers per thread");
  metrics.add_launch_average("WRP_ACT_T", "warps", "theoretical active warps per multiprocessor");
  metrics.add_launch_average("WRP_AVL", "warps", "available warps per multiprocessor");
  metrics.add_launch_average("BLK_THR", "threads", "threads per block");
  metrics.add_launch_average("BLKS_AVG", "blocks", "blocks per launch");
  metrics.add("GKER:OCC_T", "%", "GPU kernel: theoretical occupancy", kNoId, true,
              MetricKind::derived, "100 * GKER:WRP_ACT_T / GKER:WRP_AVL");
}

void add_operation_kinds(MetricList& metrics) {
  for (size_t k = 0; k < kMemoryKindCount; ++k)
    metrics.add("GMEM:" + std::string(code_of(static_cast<MemoryKind>(k))), "bytes",
                "GPU memory alloc/free: " + std::string(kMemoryNames[k]), kNoId, false);
  metrics.add("GMEM:COUNT", "count", "GPU memory alloc/free: count");
  for (size_t k = 0; k < kMemoryKindCount; ++k)
    metrics.add("GMSET:" + std::string(code_of(static_cast<MemoryKind>(k))), "bytes",
                "GPU memory set: " + std::string(kMemoryNames[k]), kNoId, false);
  metrics.add("GMSET:COUNT", "count", "GPU memory set: count");
  for (size_t k = 0; k < kCopyKindCount; ++k)
    metrics.add("GXCOPY:" + std::string(code_of(static_cast<CopyKind>(k))), "bytes",
                "GPU explicit memory copy: " + std::string(kCopyNames[k]), kNoId, false);
  metrics.add("GXCOPY:COUNT", "count", "GPU explicit memory copy: count");
  for (size_t k = 0; k < kSyncKindCount; ++k)
    metrics.add("GSYNC:" + std::string(code_of(static_cast<SyncKind>(k))), "s",
                "GPU synchronizations: " + std::string(kSyncNames[k]), kNoId, false);
  metrics.add("GSYNC:COUNT", "count", "GPU synchronizations: count");
}

void add_samples(MetricList& metrics) {
  metrics.add("GSAMP:DRP", "count", "GPU PC samples: dropped");
  metrics.add("GSAMP:EXP", "count",
              "GPU PC samples: expected, if every multiprocessor had been busy while kernels ran");
  metrics.add("GSAMP:TOT", "count", "GPU PC samples: measured");
  metrics.add("GSAMP:UTIL", "%",
              "GPU utilization: the multiprocessors that were busy while kernels ran", kNoId, true,
              MetricKind::derived, "100 * GSAMP:TOT / GSAMP:EXP");
  uint32_t first = static_cast<uint32_t>(metrics.list.size());
  for (const TopDownNode& node : topdown_nodes()) {
    uint32_t parent =
        node.id == TopDown::cycles ? kNoId : first + static_cast<uint32_t>(node.parent);
    metrics.add(std::string(node.metric), "cycles",
                std::string(node.title) + ": " + std::string(node.meaning), parent,
                node.id == TopDown::cycles, MetricKind::sum,
                "samples * period, and the sum of its children");
  }
}

}  // namespace

std::vector<Metric> gpu_metrics() {
  MetricList metrics;
  add_times(metrics);
  add_launch_characteristics(metrics);
  add_operation_kinds(metrics);
  add_samples(metrics);
  return std::move(metrics.list);
}

MetricTable::MetricTable() : metrics_(gpu_metrics()) {
  for (uint32_t m = 0; m < metrics_.size(); ++m) index_[metrics_[m].name] = m;
}

void MetricTable::add(uint32_t context, const std::string& metric, double value) {
  auto index = index_.find(metric);
  FATHOM_INVARIANT(index != index_.end());
  if (value != 0) values_[{context, index->second}] += value;
}

using Cell = std::pair<uint32_t, uint32_t>;  // context, metric

/// Exclusive and inclusive sums of every context and metric, from what was added.
std::map<Cell, std::pair<double, double>> MetricTable::sums(
    const std::vector<Context>& contexts) const {
  std::map<Cell, std::pair<double, double>> table;
  for (const auto& [key, value] : values_)
    for (uint32_t m = key.second; m != kNoId; m = metrics_[m].parent) {
      table[{key.first, m}].first += value;
      table[{key.first, m}].second += value;
    }
  for (uint32_t c = static_cast<uint32_t>(contexts.size()); c-- > 1;)
    for (auto at = table.lower_bound({c, 0}); at != table.end() && at->first.first == c; ++at)
      table[{contexts[c].parent, at->first.second}].second += at->second.second;
  return table;
}

/// Averages over launches, and the metrics that are the ratio of two others, in percent.
std::vector<MetricValue> MetricTable::values_of(
    const std::map<Cell, std::pair<double, double>>& table) const {
  struct Percent {
    const char *ratio, *of, *by;
  };
  constexpr Percent kPercents[] = {{"GKER:OCC_T", "GKER:WRP_ACT_T", "GKER:WRP_AVL"},
                                   {"GSAMP:UTIL", "GSAMP:TOT", "GSAMP:EXP"}};
  auto sum_of = [&](uint32_t context, uint32_t metric) {
    auto found = table.find({context, metric});
    return found == table.end() ? std::pair<double, double>() : found->second;
  };
  auto divide = [](double value, double by) { return by != 0 ? value / by : 0; };
  std::vector<MetricValue> values;
  for (const auto& [key, sum] : table) {
    MetricValue value{key.first, key.second, sum.first, sum.second};
    if (metrics_[key.second].kind == MetricKind::average) {
      auto [exclusive, inclusive] = sum_of(key.first, index_.at("GKER:COUNT"));
      value.exclusive = divide(value.exclusive, exclusive);
      value.inclusive = divide(value.inclusive, inclusive);
    }
    values.push_back(value);
    for (const Percent& percent : kPercents) {
      if (key.second != index_.at(percent.by)) continue;
      auto [exclusive, inclusive] = sum_of(key.first, index_.at(percent.of));
      values.push_back({key.first, index_.at(percent.ratio), 100 * divide(exclusive, sum.first),
                        100 * divide(inclusive, sum.second)});
    }
  }
  return values;
}

void MetricTable::store(Profile& profile) const {
  std::vector<MetricValue> values = values_of(sums(profile.contexts));
  // Only metrics that have a value, renumbered.
  std::vector<bool> used(metrics_.size());
  for (const MetricValue& value : values)
    for (uint32_t m = value.metric; m != kNoId; m = metrics_[m].parent) used[m] = true;
  std::vector<uint32_t> renumbered(metrics_.size(), kNoId);
  for (uint32_t m = 0; m < metrics_.size(); ++m) {
    if (!used[m]) continue;
    renumbered[m] = static_cast<uint32_t>(profile.metrics.size());
    profile.metrics.push_back(metrics_[m]);
    uint32_t& parent = profile.metrics.back().parent;
    if (parent != kNoId) parent = renumbered[parent];
  }
  for (MetricValue value : values) {
    value.metric = renumbered[value.metric];
    profile.values.push_back(value);
  }
  std::sort(profile.values.begin(), profile.values.end(),
            [](const MetricValue& a, const MetricValue& b) {
              return std::tie(a.context, a.metric) < std::tie(b.context, b.metric);
            });
}

}  // namespace fathom
