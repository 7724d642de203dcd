#include "numa/numa.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>

#include "base/text.h"
#include "numa/findings.h"

namespace fathom {
namespace {

constexpr size_t kMostPlaces = 4;     ///< of accesses, in a finding
constexpr double kLeastPlace = 0.05;  ///< of an object's samples
/// What would bring less even at best is noise, such as one line that two threads' ranges share.
constexpr double kLeastGain = 1.01;
constexpr size_t kMostObjects = 1000;  ///< in the profile; a report shows a few of them

bool ran(const NumaThread& thread) {
  return thread.cpu_ns > 0 || thread.reads > 0 || thread.writes > 0;
}

const char* kind_of(NumaThreadKind kind) {
  constexpr const char* kNames[] = {"main", "pthread", "openmp"};
  return kNames[static_cast<size_t>(kind)];
}

NumaThreadFacts facts_of(const NumaThread& thread, const Names& names) {
  NumaThreadFacts facts;
  facts.index = thread.index;
  facts.kind = kind_of(thread.kind);
  if (thread.start_module != kNoId) {
    facts.start = names.start(thread);
    facts.at = names.code(thread.start_module, thread.start_address).back().at;
  }
  facts.reads = thread.reads;
  facts.writes = thread.writes;
  facts.spin_reads = thread.spin_reads;
  facts.contended_locks = thread.contended_locks;
  facts.condition_waits = thread.condition_waits;
  facts.barrier_waits = thread.barrier_waits;
  facts.semaphore_waits = thread.semaphore_waits;
  facts.wait_seconds = double(thread.wait_ns) / 1e9;
  facts.cpu_seconds = double(thread.cpu_ns) / 1e9;
  facts.seconds = double(thread.end_ns - thread.start_ns) / 1e9;
  return facts;
}

NumaFacts facts_of(const NumaMeasurement& numa, const Process& process, const Names& names) {
  NumaFacts facts;
  facts.program = name_of_file(process.executable);
  double cpu_ns = 0;
  for (const NumaThread& thread : numa.threads) {
    facts.thread_facts.push_back(facts_of(thread, names));
    if (!ran(thread)) continue;
    ++facts.threads;
    cpu_ns += double(thread.cpu_ns);
  }
  // A serial part counts as if it were divided as well: else scores would shrink with more threads.
  facts.time_ms = cpu_ns / 1e6 / std::max(1.0, double(parallel_threads(numa)));
  facts.parallel_share = parallel_share(numa);
  facts.migration_score = migration_score(numa, cpu_ns / 1e9);
  facts.phases = numa.epochs;
  facts.sampling = numa.sampling;
  facts.accesses_not_counted = numa.accesses_not_counted;
  return facts;
}

void warn(const NumaMeasurement& numa, const std::string& process, double time_ms,
          Profile& profile) {
  auto add = [&](std::string what, std::string hint) {
    profile.warnings.push_back(
        {WarningSeverity::warning, std::move(what), process, std::move(hint)});
  };
  if (numa.modules.empty())
    add("no module of the program was instrumented: its memory accesses are unknown",
        "build it with `fathom cc`, `fathom c++` or `fathom fc`");
  if (numa.accesses_not_counted)
    add(human_count(numa.accesses_not_counted) + " memory accesses were not counted",
        "they were by threads or in memory that could not be tracked");
  if (!numa.modules.empty() && time_ms <= 0)
    add("the threads' processor time is unknown: there are no scores", "record again");
}

void analyze_process(const Measurement& measurement, uint32_t number, const NumaOptions& options,
                     Profile& profile, std::vector<Finding>& findings) {
  const Process& process = measurement.processes[number];
  const NumaMeasurement& numa = process.numa;
  Names names(measurement, process);
  NumaFacts facts = facts_of(numa, process, names);
  facts.process = number;
  facts.topology = options.topology.text();
  warn(numa, process.folder, facts.time_ms, profile);
  std::vector<Subject> subjects = gather_subjects(numa, names);
  ProgramLoad load;
  load.threads = facts.threads;
  uint64_t parallel = parallel_threads(numa);
  for (Subject& subject : subjects) {
    set_scores(facts, parallel, subject.facts);
    load.accesses += subject.accesses();
    load.remote += double(subject.facts.remote);
  }
  NumaView view{numa, names, options, facts, load, subjects};
  find_remote_access(view, findings);
  find_sharing(view, findings);
  find_migration(view, findings);
  find_imbalance(view, findings);
  for (const Subject& subject : subjects)
    if (facts.objects.size() < kMostObjects) facts.objects.push_back(subject.facts);
  profile.numa.push_back(std::move(facts));
}

}  // namespace

uint64_t parallel_threads(const NumaMeasurement& numa) {
  constexpr double kLeast = 0.01;  // of the busiest thread's accesses
  uint64_t most = 0, count = 0;
  for (const NumaThread& thread : numa.threads) most = std::max(most, thread.parallel_accesses);
  for (const NumaThread& thread : numa.threads)
    count += most > 0 && double(thread.parallel_accesses) >= kLeast * double(most);
  return count;
}

void set_scores(const NumaFacts& program, uint64_t parallel, NumaObjectFacts& facts) {
  if (program.time_ms <= 0) return;
  // Of T threads that use an object alike, a thread finds the memory at another one in T - 1 of T
  // accesses, and of those that work at the same time all but itself take lines away from it.
  // Divided by these others, scores do not grow with the number of threads.
  double each = std::ldexp(1.0, int(program.sampling)) / program.time_ms;
  double scale = each / std::max(1.0, double(program.threads) - 1);
  double sharing_scale = each / std::max(1.0, double(parallel) - 1);
  double invalidations = facts.false_invalidations + facts.true_invalidations;
  // An object whose lines wander between the caches has another problem than where its pages are.
  if (2 * invalidations <= double(facts.remote)) facts.remote_score = double(facts.remote) * scale;
  facts.false_score = facts.false_invalidations * sharing_scale;
  facts.true_score = facts.true_invalidations * sharing_scale;
}

Finding finding_about(const NumaView& view, const Subject& subject) {
  Finding finding;
  finding.subject = subject.facts.name;
  if (view.numa.sampling)
    finding.assumptions.push_back(
        format("one of %s intervals was counted, and the others were alike: scores are scaled, "
               "counts are not",
               human_count(uint64_t{1} << view.numa.sampling).c_str()));
  finding.location = subject.facts.at;
  // Several addresses of one line are one place.
  std::map<std::tuple<SourceLocation, bool, std::string>, double> places;
  double all = 0;
  for (const NumaPlace& place : view.numa.places) {
    if (!std::binary_search(subject.objects.begin(), subject.objects.end(), place.object)) continue;
    NamedFrame frame = view.names.user_code(place.module, place.address);
    all += double(place.samples);
    places[{frame.at, place.is_write, short_name(frame.function)}] += double(place.samples);
  }
  std::vector<std::pair<double, const std::tuple<SourceLocation, bool, std::string>*>> order;
  for (const auto& [place, samples] : places) order.push_back({samples, &place});
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (const auto& [samples, place] : order) {
    if (finding.related.size() >= kMostPlaces || samples < kLeastPlace * all) break;
    const auto& [at, is_write, function] = *place;
    std::string what = function.empty() ? "" : "in " + function + ", ";
    // The places of a module's data are known for all of its variables together.
    const char* whose =
        subject.variable ? "sampled accesses to its module's data" : "sampled accesses";
    finding.related.push_back({is_write ? "written here" : "read here", at,
                               what + format("%.0f%% of the %s", 100 * samples / all, whose)});
  }
  finding.related.insert(finding.related.end(), subject.callers.begin(), subject.callers.end());
  return finding;
}

void apply(const Gain& gain, Finding& finding) {
  finding.speedup = gain.subject;
  finding.program_speedup = gain.program;
  finding.assumptions.insert(finding.assumptions.begin(), gain.assumptions.begin(),
                             gain.assumptions.end());
}

Result<Done> set_threshold(std::string_view text, NumaThresholds& thresholds) {
  size_t equals = text.find('=');
  std::string_view kind = text.substr(0, equals);
  double* target = kind == "remote-access"      ? &thresholds.remote
                   : kind == "false-sharing"    ? &thresholds.false_sharing
                   : kind == "true-sharing"     ? &thresholds.true_sharing
                   : kind == "thread-migration" ? &thresholds.migration
                   : kind == "load-imbalance"   ? &thresholds.imbalance
                                                : nullptr;
  std::string what = format("threshold `%.*s`: ", int(text.size()), text.data());
  const char* hint = "write KIND=N, e.g. remote-access=1500";
  if (target == nullptr)
    return Error{ErrorKind::usage, what + "there is no such kind", "",
                 "the kinds are remote-access, false-sharing, true-sharing, thread-migration and "
                 "load-imbalance; e.g. remote-access=1500"};
  std::string number(equals == std::string_view::npos ? "" : text.substr(equals + 1));
  char* end = nullptr;
  double value = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != 0 || !std::isfinite(value) || value < 0)
    return Error{ErrorKind::usage, what + "there is no number from 0 after the =", "", hint};
  *target = value;
  return Done{};
}

void find_numa_issues(const Measurement& measurement, const NumaOptions& options,
                      Profile& profile) {
  std::vector<Finding> findings;
  for (uint32_t i = 0; i < measurement.processes.size(); ++i)
    if (measurement.processes[i].numa.number != 0)
      analyze_process(measurement, i, options, profile, findings);
  std::erase_if(findings, [](const Finding& finding) {
    return finding.program_speedup && finding.program_speedup->high < kLeastGain;
  });
  auto gain = [](const Finding& f) { return f.program_speedup ? f.program_speedup->mid : 0; };
  std::stable_sort(findings.begin(), findings.end(),
                   [&](const Finding& a, const Finding& b) { return gain(a) > gain(b); });
  std::move(findings.begin(), findings.end(), std::back_inserter(profile.findings));
}

}  // namespace fathom
