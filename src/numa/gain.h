#pragma once
// How much faster a program would get on a topology: a simple model, whose assumptions go into each
// finding. All of it works with ratios; no clock is in it.
//
//   Placement. The system spreads T threads over k = min(T, nodes) nodes, so that two different
//   threads are on different nodes with p = (T - T/k) / (T - 1). A remote access takes L times as
//   long as a local one: L is the latency of the nearest other node, the mean of the distances, or
//   the farthest one (low, mid, high).
//   Time. Accesses that reach main memory take a share m of a program's time; all accesses that
//   find their data in a cache take a share c.
//   Invalidations. Not every expected invalidation costs a transfer of the line, since a core that
//   has the line does several accesses before it is taken away; a share s of them does. A transfer
//   takes half a local memory latency within a node and L local latencies between nodes; a local
//   latency is as long as 80 accesses to the cache.

#include "numa/subjects.h"
#include "numa/topology.h"

namespace fathom {

/// Accesses of a whole process, as far as they were tracked by objects.
struct ProgramLoad {
  double accesses = 0, remote = 0;
  uint64_t threads = 0;
};

/// Of the subject's accesses, and of the whole program.
struct Gain {
  SpeedupRange subject, program;
  std::vector<std::string> assumptions;
};

/// A fix makes `fraction` of a subject's remote accesses local.
Gain gain_of_locality(const Topology& topology, const ProgramLoad& load, const Subject& subject,
                      double fraction);
/// A fix spreads a subject's pages evenly over the nodes. `concentration`: the share of its
/// accesses that go to the node with most of them.
Gain gain_of_spreading(const Topology& topology, const ProgramLoad& load, const Subject& subject,
                       double concentration);
/// A fix removes a number of invalidations of a subject's lines.
Gain gain_of_padding(const Topology& topology, const ProgramLoad& load, const Subject& subject,
                     double invalidations);
/// Threads stay where their memory is.
Gain gain_of_binding(const Topology& topology, const ProgramLoad& load);
/// The slowest group of threads gets `times` as fast, in a part of the run.
Gain gain_of_balance(double times, double parallel_share);

}  // namespace fathom
