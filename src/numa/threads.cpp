// Threads that wait so often that the system moves them, and groups of threads with unequal work.

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

#include "base/text.h"
#include "numa/findings.h"

namespace fathom {
namespace {

constexpr double kPacked = 0.2;  ///< of all accesses: to data that neighbours share
constexpr size_t kMostSites = 3;
constexpr double kLeastSite = 0.05;  ///< of the waits
constexpr double kLeastWaits = 10;   ///< of each thread: a run of a few milliseconds says nothing

double waits_of(const NumaThread& thread) {
  return double(thread.contended_locks) + double(thread.condition_waits) +
         double(thread.barrier_waits);
}
double accesses_of(const NumaThread& thread) {
  return double(thread.reads) + double(thread.writes);
}

/// The part of all accesses that go to pages which threads with neighbouring numbers both use: for
/// each pair the smaller one's accesses.
double shared_by_neighbours(const NumaMeasurement& numa) {
  double shared = 0, all = 0;
  for (const NumaPage& page : numa.pages) {
    std::map<uint32_t, double> users;
    for (const NumaPageShare& share : page.shares)
      if (share.thread != kNoId)
        users[numa.threads[share.thread].index] += double(share.reads) + double(share.writes);
    for (auto [thread, accesses] : users) {
      all += accesses;
      if (auto next = users.find(thread + 1); next != users.end())
        shared += std::min(accesses, next->second);
    }
  }
  return all > 0 ? shared / all : 0;
}

/// Where threads are created, those with most waits first.
std::vector<RelatedLocation> creation_sites(const NumaView& view) {
  std::map<SourceLocation, std::pair<double, std::string>> sites;
  for (const NumaThread& thread : view.numa.threads) {
    if (thread.kind == NumaThreadKind::main) continue;
    std::vector<NamedFrame> frames = view.names.user_frames(thread.created_at);
    if (frames.empty() || frames.front().at.file.empty()) continue;
    auto& [waits, what] = sites[frames.front().at];
    waits += waits_of(thread);
    std::string start = view.names.start(thread);
    if (!start.empty() && what.find(start) == std::string::npos)
      what += (what.empty() ? "" : ", ") + start;
  }
  std::vector<std::pair<double, RelatedLocation>> order;
  for (const auto& [at, site] : sites)
    order.push_back({site.first, {"threads created here", at, site.second}});
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<RelatedLocation> out;
  for (const auto& [waits, site] : order)
    if (out.size() < kMostSites) out.push_back(site);
  return out;
}

/// Where threads wait, most often first.
std::vector<RelatedLocation> waiting_sites(const NumaView& view) {
  std::map<std::pair<SourceLocation, std::string>, double> sites;
  double all = 0;
  for (const NumaPlace& place : view.numa.waits) {
    NamedFrame frame = view.names.user_code(place.module, place.address);
    all += double(place.samples);
    if (frame.at.line) sites[{frame.at, short_name(frame.function)}] += double(place.samples);
  }
  std::vector<std::pair<double, RelatedLocation>> order;
  for (const auto& [site, waits] : sites)
    order.push_back(
        {waits,
         {"waits here", site.first,
          format("in %s, %.0f%% of the waits", site.second.c_str(), 100 * waits / all)}});
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<RelatedLocation> out;
  for (const auto& [waits, site] : order)
    if (out.size() < kMostSites && waits >= kLeastSite * all) out.push_back(site);
  return out;
}

/// The function in which those threads start that wait most.
SourceLocation where_most_wait(const NumaView& view) {
  std::map<std::pair<uint32_t, uint64_t>, double> waits;
  for (const NumaThread& thread : view.numa.threads)
    if (thread.start_module != kNoId)
      waits[{thread.start_module, thread.start_address}] += waits_of(thread);
  auto most = std::max_element(waits.begin(), waits.end(),
                               [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == waits.end()) return {};
  return view.names.code(most->first.first, most->first.second).back().at;
}

}  // namespace

double parallel_share(const NumaMeasurement& numa) {
  double parallel = 0, all = 0;
  for (const NumaThread& thread : numa.threads) {
    if (thread.kind == NumaThreadKind::main)
      parallel = double(thread.parallel_ns), all = double(thread.end_ns - thread.start_ns);
    if (thread.kind == NumaThreadKind::main) break;
    parallel += double(thread.parallel_ns);
    all += double(thread.end_ns - thread.start_ns);
  }
  return all > 0 ? std::clamp(parallel / all, 0.0, 1.0) : 0;
}

double migration_score(const NumaMeasurement& numa, double cpu_seconds) {
  double waits = 0;
  for (const NumaThread& thread : numa.threads) waits += waits_of(thread);
  return cpu_seconds > 0 ? parallel_share(numa) * waits / cpu_seconds : 0;
}

void find_migration(const NumaView& view, std::vector<Finding>& findings) {
  if (view.facts.migration_score <= view.options.thresholds.migration) return;
  double waits = 0;
  for (const NumaThread& thread : view.numa.threads) waits += waits_of(thread);
  if (waits < kLeastWaits * double(view.facts.threads)) return;
  Finding finding;
  finding.kind = "thread-migration";
  finding.fix = "thread-binding";
  finding.subject = "all threads";
  finding.related = waiting_sites(view);
  finding.location = finding.related.empty() ? where_most_wait(view) : finding.related.front().at;
  std::vector<RelatedLocation> created = creation_sites(view);
  finding.related.insert(finding.related.end(), created.begin(), created.end());
  double locks = 0, conditions = 0, barriers = 0;
  for (const NumaThread& thread : view.numa.threads) {
    locks += double(thread.contended_locks);
    conditions += double(thread.condition_waits);
    barriers += double(thread.barrier_waits);
  }
  double shared = shared_by_neighbours(view.numa);
  finding.evidence = {
      {"migration score", view.facts.migration_score, "waits per second and thread"},
      {"contended locks", locks, "locks"},
      {"condition waits", conditions, "waits"},
      {"barrier waits", barriers, "waits"},
      {"parallel share", view.facts.parallel_share, "fraction"},
      {"accesses to data that neighbours share", shared, "fraction"}};
  finding.title = "Threads wait so often that the system may move them between nodes";
  finding.text =
      "A thread that waits gives its processor away, and may go on with another one. On another "
      "node all memory that it touched before is remote.";
  bool packed = shared >= kPacked;
  finding.suggestions = {
      packed ? "bind the threads packed: neighbouring ones on one node, since they share data "
               "(pthread_setaffinity_np(), or OMP_PROC_BIND=close OMP_PLACES=cores)"
             : "bind the threads round robin over the nodes, since they share little "
               "(pthread_setaffinity_np(), or OMP_PROC_BIND=spread OMP_PLACES=cores)",
      "wait less often: larger pieces of work between two locks, waits or barriers"};
  apply(gain_of_binding(view.options.topology, view.load), finding);
  findings.push_back(std::move(finding));
}

namespace {

/// Threads that start in the same function.
struct ThreadType {
  NumaThreadKind kind = NumaThreadKind::main;
  std::string name;
  SourceLocation at;
  double accesses = 0;
  uint64_t start_ns = UINT64_MAX, end_ns = 0;
  uint64_t threads = 0;  ///< most at the same time
  std::vector<RelatedLocation> created;

  double each() const { return accesses / double(threads); }
};

uint64_t most_at_once(std::vector<std::pair<uint64_t, int>> events) {
  // An end comes before a start of the same moment.
  std::sort(events.begin(), events.end());
  int64_t running = 0, most = 0;
  for (auto [time, change] : events) most = std::max(most, running += change);
  return uint64_t(std::max<int64_t>(most, 1));
}

std::vector<ThreadType> thread_types(const NumaView& view) {
  using Key = std::tuple<NumaThreadKind, uint32_t, uint64_t>;
  std::map<Key, ThreadType> types;
  std::map<Key, std::vector<std::pair<uint64_t, int>>> events;
  for (const NumaThread& thread : view.numa.threads) {
    if (thread.kind == NumaThreadKind::main || thread.start_module == kNoId) continue;
    Key key{thread.kind, thread.start_module, thread.start_address};
    ThreadType& type = types[key];
    type.kind = thread.kind;
    if (type.name.empty()) {
      type.name = view.names.start(thread);
      if (type.name.empty()) type.name = format("0x%llx", (unsigned long long)thread.start_address);
      type.at = view.names.code(thread.start_module, thread.start_address).back().at;
      auto frames = view.names.user_frames(thread.created_at);
      if (!frames.empty() && frames.front().at.line)
        type.created = {{"threads created here", frames.front().at, type.name}};
    }
    type.accesses += accesses_of(thread);
    type.start_ns = std::min(type.start_ns, thread.start_ns);
    type.end_ns = std::max(type.end_ns, thread.end_ns);
    events[key].push_back({thread.start_ns, 1});
    events[key].push_back({thread.end_ns, -1});
  }
  std::vector<ThreadType> out;
  for (auto& [key, type] : types) {
    type.threads = most_at_once(std::move(events[key]));
    out.push_back(std::move(type));
  }
  return out;
}

/// Whether two types run at the same time for at least half of the shorter one's time. OpenMP's
/// threads are there as long as the program, idle or not: with others' they cannot be compared.
bool together(const ThreadType& a, const ThreadType& b) {
  if (a.kind != b.kind) return false;
  uint64_t start = std::max(a.start_ns, b.start_ns), end = std::min(a.end_ns, b.end_ns);
  uint64_t shorter = std::min(a.end_ns - a.start_ns, b.end_ns - b.start_ns);
  return end > start && 2 * (end - start) >= shorter;
}

double slowest(const std::vector<ThreadType>& types, const std::vector<uint64_t>& counts) {
  double most = 0;
  for (size_t i = 0; i < types.size(); ++i)
    most = std::max(most, types[i].accesses / double(counts[i]));
  return most;
}

/// Whole numbers of threads in proportion to the accesses, at least one each, that add up to the
/// present number: each next thread goes where a thread has most to do.
std::vector<uint64_t> balanced(const std::vector<ThreadType>& types) {
  std::vector<uint64_t> counts(types.size(), 1);
  uint64_t left = 0;
  std::priority_queue<std::tuple<double, size_t>> waiting;  // the later of equal ones first
  for (size_t i = 0; i < types.size(); ++i) {
    left += types[i].threads;
    waiting.push({types[i].accesses, i});
  }
  for (left -= types.size(); left > 0; --left) {
    size_t best = std::get<size_t>(waiting.top());
    waiting.pop();
    ++counts[best];
    waiting.push({types[best].accesses / double(counts[best]), best});
  }
  return counts;
}

std::vector<ThreadType> concurrent_types(const NumaView& view) {
  std::vector<ThreadType> types = thread_types(view);
  auto busiest = std::max_element(
      types.begin(), types.end(),
      [](const ThreadType& a, const ThreadType& b) { return a.accesses < b.accesses; });
  if (busiest == types.end()) return {};
  ThreadType most = *busiest;
  std::erase_if(types, [&](const ThreadType& type) { return !together(type, most); });
  return types;
}

/// "3 of parse, 1 of pack"
std::string proportion(const std::vector<ThreadType>& types) {
  double least = types.front().each();
  for (const ThreadType& type : types) least = std::min(least, type.each());
  std::vector<std::string> parts;
  for (const ThreadType& type : types)
    parts.push_back(
        format("%.0f of %s", std::round(type.each() / std::max(least, 1.0)), type.name.c_str()));
  return join(parts, ", ");
}

void describe_imbalance(const std::vector<ThreadType>& types, const std::vector<uint64_t>& counts,
                        const NumaView& view, Finding& finding) {
  std::vector<std::string> names, now, wanted;
  size_t widest = 0;
  for (size_t i = 0; i < types.size(); ++i) {
    const ThreadType& type = types[i];
    names.push_back(type.name);
    now.push_back(format("%llu of %s", (unsigned long long)type.threads, type.name.c_str()));
    wanted.push_back(format("%llu of %s", (unsigned long long)counts[i], type.name.c_str()));
    finding.evidence.push_back({"accesses of a thread of " + type.name, type.each(), "accesses"});
    finding.evidence.push_back({"threads of " + type.name, double(type.threads), "threads"});
    finding.evidence.push_back({"suggested threads of " + type.name, double(counts[i]), "threads"});
    finding.related.insert(finding.related.end(), type.created.begin(), type.created.end());
    if (type.each() > types[widest].each()) widest = i;
  }
  finding.subject = "threads of " + join(names, " and ");
  finding.location = types[widest].at;
  finding.text = format(
      "A thread of %s does %.1f times as many memory accesses as the one with fewest. These groups "
      "run at the same time, so that the others wait for it or leave their processors idle.",
      types[widest].name.c_str(), finding.evidence.front().value);
  std::vector<uint64_t> present;
  double all = 0, threads = 0;
  for (const ThreadType& type : types) {
    present.push_back(type.threads);
    all += type.accesses, threads += double(type.threads);
  }
  if (counts != present) {
    finding.suggestions = {"start " + join(wanted, ", ") + " instead of " + join(now, ", "),
                           "or divide the work of the slow group anew"};
    apply(gain_of_balance(slowest(types, present) / slowest(types, counts),
                          view.facts.parallel_share),
          finding);
  } else {
    finding.suggestions = {
        "with more threads, start them in proportion to the accesses: " + proportion(types),
        "with so few, let each thread do the work of all groups in turn"};
    apply(gain_of_balance(slowest(types, present) / (all / threads), view.facts.parallel_share),
          finding);
  }
}

}  // namespace

void find_imbalance(const NumaView& view, std::vector<Finding>& findings) {
  std::vector<ThreadType> types = concurrent_types(view);
  if (types.size() < 2) return;
  auto [least, most] = std::minmax_element(
      types.begin(), types.end(),
      [](const ThreadType& a, const ThreadType& b) { return a.each() < b.each(); });
  double ratio = most->each() / std::max(least->each(), 1.0);
  if (ratio <= view.options.thresholds.imbalance) return;
  std::vector<uint64_t> counts = balanced(types);
  bool same = true, single = true;
  for (size_t i = 0; i < types.size(); ++i) {
    same = same && counts[i] == types[i].threads;
    single = single && types[i].threads == 1;
  }
  if (same && !single) return;  // the numbers are as good as whole ones can be
  Finding finding;
  finding.kind = "load-imbalance";
  finding.fix = "thread-counts";
  finding.title = "Groups of threads that run together have unequal work";
  finding.evidence = {{"imbalance", ratio, "times"}};
  describe_imbalance(types, counts, view, finding);
  findings.push_back(std::move(finding));
}

}  // namespace fathom
