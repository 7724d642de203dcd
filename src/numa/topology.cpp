#include "numa/topology.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <set>

#include "base/files.h"
#include "base/text.h"

namespace fathom {
namespace {

constexpr uint32_t kMostNodes = 1024, kMostProcessors = 4096;
constexpr double kLargestLatency = 1000;

Error wrong(std::string_view text, const std::string& what) {
  return {
      ErrorKind::usage, format("topology `%.*s`: %s", int(text.size()), text.data(), what.c_str()),
      "",
      "write NODESxPROCESSORS:LOCAL,ONE_HOP[,TWO_HOPS...], e.g. 8x16:1.0,2.1,3.1, or `machine`"};
}

bool read_count(std::string_view text, uint32_t most, uint32_t& value) {
  auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), value);
  return failure == std::errc() && end == text.data() + text.size() && value >= 1 && value <= most;
}

bool read_latency(std::string_view text, double& value) {
  std::string copy(text);
  if (copy.empty() || copy.find_first_not_of("0123456789.") != std::string::npos) return false;
  char* end = nullptr;
  value = std::strtod(copy.c_str(), &end);
  return *end == 0 && value > 0 && value <= kLargestLatency;
}

/// How many numbers a list like "0-3,8" names; 0 if it is none.
uint32_t count_in_list(std::string_view list) {
  uint32_t count = 0;
  for (std::string_view range : split(trim(list), ',')) {
    size_t dash = range.find('-');
    uint32_t first = 0, last = 0;
    auto number = [](std::string_view digits, uint32_t& value) {
      auto [end, failure] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
      return failure == std::errc() && end == digits.data() + digits.size();
    };
    if (!number(range.substr(0, dash), first)) return 0;
    last = first;
    if (dash != std::string_view::npos && !number(range.substr(dash + 1), last)) return 0;
    if (last < first || last - first >= kMostProcessors) return 0;
    count += last - first + 1;
  }
  return count;
}

/// The kernel gives distances as percent of ten: 10 is local.
void add_distances(const std::string& text, std::set<double>& distances) {
  for (std::string_view number : split(trim(text), ' ')) {
    double value = 0;
    if (read_latency(trim(number), value)) distances.insert(value / 10);
  }
}

}  // namespace

std::string Topology::text() const {
  std::string out = format("%ux%u:", nodes, processors);
  for (size_t i = 0; i < latencies.size(); ++i) out += format(i ? ",%g" : "%g", latencies[i]);
  return out;
}

uint32_t Topology::nodes_used(uint64_t threads) const {
  return uint32_t(std::clamp<uint64_t>(threads, 1, nodes));
}

double Topology::apart(uint64_t threads) const {
  if (threads < 2) return 0;
  double t = double(threads), k = nodes_used(threads);
  return (t - t / k) / (t - 1);
}

SpeedupRange Topology::remote_latency() const {
  if (latencies.size() < 2) return {1, 1, 1};
  double sum = 0;
  for (size_t i = 1; i < latencies.size(); ++i) sum += latencies[i];
  double local = latencies.front(), mean = sum / double(latencies.size() - 1);
  return {latencies[1] / local, mean / local, latencies.back() / local};
}

Result<Topology> parse_topology(std::string_view text) {
  if (text == "machine") return topology_of_machine();
  Topology out;
  size_t times = text.find('x'), colon = text.find(':');
  if (colon == std::string_view::npos) return wrong(text, "there are no latencies after a colon");
  if (times == std::string_view::npos || times > colon)
    return wrong(text, "there is no x between the nodes and the processors of each");
  if (!read_count(text.substr(0, times), kMostNodes, out.nodes))
    return wrong(text, format("the number of nodes must be 1 to %u", kMostNodes));
  if (!read_count(text.substr(times + 1, colon - times - 1), kMostProcessors, out.processors))
    return wrong(text, format("the processors of a node must be 1 to %u", kMostProcessors));
  out.latencies.clear();
  for (std::string_view number : split(text.substr(colon + 1), ',')) {
    double value = 0;
    if (!read_latency(number, value))
      return wrong(text, format("`%.*s` is no latency", int(number.size()), number.data()));
    if (!out.latencies.empty() && value < out.latencies.back())
      return wrong(text, "latencies must not get smaller with the distance");
    out.latencies.push_back(value);
  }
  if (out.nodes > 1 && out.latencies.size() < 2)
    return wrong(text, "several nodes need the latency of one hop too");
  if (out.latencies.size() > out.nodes) return wrong(text, "there are more distances than nodes");
  return out;
}

Result<Topology> topology_of_machine(const std::string& root) {
  Error unknown{ErrorKind::cannot_answer, "this machine does not tell its NUMA topology", root,
                "name one, e.g. --topology 2x16:1.0,1.6"};
  Result<std::vector<std::string>> names = list_directory(root);
  if (!names) return unknown;
  Topology out;
  out.nodes = out.processors = 0;
  std::set<double> distances;
  for (const std::string& name : *names) {
    if (!starts_with(name, "node") || name.find_first_not_of("0123456789", 4) != std::string::npos)
      continue;
    auto processors = read_text_file(root + "/" + name + "/cpulist");
    auto distance = read_text_file(root + "/" + name + "/distance");
    if (!processors || !distance) return unknown;
    ++out.nodes;
    out.processors = std::max(out.processors, count_in_list(*processors));
    add_distances(*distance, distances);
  }
  if (out.nodes == 0 || out.processors == 0 || distances.empty()) return unknown;
  out.latencies.assign(distances.begin(), distances.end());
  if (out.nodes > 1 && out.latencies.size() < 2) return unknown;
  return out;
}

}  // namespace fathom
