#include "numa/gain.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {
namespace {

constexpr SpeedupRange kMemoryShare = {0.1, 0.3, 0.6};   ///< m
constexpr SpeedupRange kCacheShare = {0.2, 0.3, 0.5};    ///< c
constexpr SpeedupRange kTransferShare = {0.1, 0.33, 1};  ///< s
constexpr SpeedupRange kQueueing = {0, 0.1, 0.3};        ///< of a node's memory; see below
constexpr SpeedupRange kDisplacedShare = {0.05, 0.2, 0.5};
constexpr double kMemoryLatency = 80;  ///< local, in accesses to the cache

/// Computes a range from the three values of each assumption.
template <class Function>
SpeedupRange range_of(Function f) {
  double values[] = {f(&SpeedupRange::low), f(&SpeedupRange::mid), f(&SpeedupRange::high)};
  std::sort(values, values + 3);
  return {values[0], values[1], values[2]};
}
using Part = double SpeedupRange::*;

/// How much longer an access takes than a local one, on average.
double cost(double remote_share, double apart, double latency) {
  return 1 + remote_share * apart * (latency - 1);
}

double share(double part, double whole) {
  return whole > 0 ? std::clamp(part / whole, 0.0, 1.0) : 0;
}

/// The program's speedup if a subject's accesses get `times` as fast.
double of_program(const ProgramLoad& load, const Subject& subject, double apart, double latency,
                  double times, double memory_share) {
  double own = subject.accesses() *
               cost(share(double(subject.facts.remote), subject.accesses()), apart, latency);
  double all = load.accesses * cost(share(load.remote, load.accesses), apart, latency);
  return 1 / (1 - memory_share * share(own, all) * (1 - 1 / times));
}

std::string placement(const Topology& topology, uint64_t threads) {
  return format(
      "topology %s: %llu threads spread over %u nodes, so that %.0f%% of the accesses to "
      "another thread's pages go to another node",
      topology.text().c_str(), static_cast<unsigned long long>(threads),
      topology.nodes_used(threads), 100 * topology.apart(threads));
}

std::string memory_share() {
  return format(
      "accesses to main memory take %.0f%% to %.0f%% of the time (mid: %.0f%%), which the "
      "measurement does not tell",
      100 * kMemoryShare.low, 100 * kMemoryShare.high, 100 * kMemoryShare.mid);
}

}  // namespace

Gain gain_of_locality(const Topology& topology, const ProgramLoad& load, const Subject& subject,
                      double fraction) {
  double apart = topology.apart(load.threads);
  double remote = share(double(subject.facts.remote), subject.accesses());
  SpeedupRange latency = topology.remote_latency();
  auto times = [&](Part part) {
    return cost(remote, apart, latency.*part) / cost(remote * (1 - fraction), apart, latency.*part);
  };
  Gain gain;
  gain.subject = range_of(times);
  gain.program = range_of([&](Part part) {
    return of_program(load, subject, apart, latency.*part, times(part), kMemoryShare.*part);
  });
  gain.assumptions = {
      placement(topology, load.threads),
      format("the change makes %.0f%% of the object's remote accesses local", 100 * fraction),
      memory_share()};
  return gain;
}

Gain gain_of_spreading(const Topology& topology, const ProgramLoad& load, const Subject& subject,
                       double concentration) {
  double apart = topology.apart(load.threads), nodes = topology.nodes_used(load.threads);
  double remote = share(double(subject.facts.remote), subject.accesses());
  SpeedupRange latency = topology.remote_latency();
  auto times = [&](Part part) {
    double queue = 1 + kQueueing.*part * std::max(0.0, concentration * nodes - 1);
    double before = queue * cost(remote, apart, latency.*part);
    double after = cost((nodes - 1) / nodes, 1, latency.*part);
    return std::max(1.0, before / after);
  };
  Gain gain;
  gain.subject = range_of(times);
  gain.program = range_of([&](Part part) {
    return of_program(load, subject, apart, latency.*part, times(part), kMemoryShare.*part);
  });
  gain.assumptions = {
      placement(topology, load.threads),
      format("%.0f%% of the accesses go to one node; each node's worth of accesses above an even "
             "share makes that node's memory %.0f%% to %.0f%% slower (mid: %.0f%%)",
             100 * concentration, 100 * kQueueing.low, 100 * kQueueing.high, 100 * kQueueing.mid),
      memory_share()};
  return gain;
}

Gain gain_of_padding(const Topology& topology, const ProgramLoad& load, const Subject& subject,
                     double invalidations) {
  double apart = topology.apart(load.threads);
  SpeedupRange latency = topology.remote_latency();
  double own = std::max({subject.accesses(), subject.accesses_to_lines(), 1.0});
  double all = std::max(load.accesses, own);
  auto transfers = [&](Part part) {
    double each = kMemoryLatency * ((1 - apart) / 2 + apart * latency.*part);
    return std::min(invalidations, own) * kTransferShare.*part * each;
  };
  Gain gain;
  gain.subject = range_of([&](Part part) { return 1 + transfers(part) / own; });
  gain.program = range_of([&](Part part) { return 1 + kCacheShare.*part * transfers(part) / all; });
  gain.assumptions = {
      placement(topology, load.threads),
      format("%.0f%% to %.0f%% of the expected invalidations (mid: %.0f%%) cost a transfer of the "
             "line, which takes half a local memory latency within a node and a remote one between "
             "nodes",
             100 * kTransferShare.low, 100 * kTransferShare.high, 100 * kTransferShare.mid),
      format(
          "a local memory latency is as long as %.0f accesses to the cache, and these take %.0f%% "
          "to %.0f%% of the time (mid: %.0f%%)",
          kMemoryLatency, 100 * kCacheShare.low, 100 * kCacheShare.high, 100 * kCacheShare.mid)};
  return gain;
}

Gain gain_of_binding(const Topology& topology, const ProgramLoad& load) {
  double nodes = topology.nodes_used(load.threads);
  SpeedupRange latency = topology.remote_latency();
  Gain gain;
  gain.program = range_of([&](Part part) {
    double displaced = kDisplacedShare.*part * (nodes - 1) / nodes;
    return 1 + kMemoryShare.*part * displaced * (latency.*part - 1);
  });
  gain.subject = gain.program;
  gain.assumptions = {
      format("topology %s; a thread that moves finds itself on any of %.0f nodes",
             topology.text().c_str(), nodes),
      format(
          "threads spend %.0f%% to %.0f%% of the time (mid: %.0f%%) away from where they started",
          100 * kDisplacedShare.low, 100 * kDisplacedShare.high, 100 * kDisplacedShare.mid),
      memory_share()};
  return gain;
}

Gain gain_of_balance(double times, double parallel_share) {
  Gain gain;
  gain.subject = {1 + (times - 1) / 2, times, times};
  auto of_run = [&](double faster) { return 1 / (1 - parallel_share * (1 - 1 / faster)); };
  gain.program = {of_run(gain.subject.low), of_run(times), of_run(times)};
  gain.assumptions = {
      "the time of a thread grows with its accesses, and the slowest group of threads sets the "
      "pace "
      "of the others (low: half of the time that this would save)",
      format("several threads run during %.0f%% of the time", 100 * parallel_share)};
  return gain;
}

}  // namespace fathom
