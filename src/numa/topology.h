#pragma once
// The NUMA machine that gains are estimated for.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/finding.h"

namespace fathom {

struct Topology {
  uint32_t nodes = 2;
  uint32_t processors = 16;  ///< of a node
  /// Of memory that is 0, 1, 2... hops away, relative to local memory; as many as are known.
  std::vector<double> latencies = {1.0, 1.6};

  /// As parse_topology() reads it: "2x16:1,1.6".
  std::string text() const;
  /// Nodes that `threads` threads are on when the system spreads them.
  uint32_t nodes_used(uint64_t threads) const;
  /// How likely two different threads are on two nodes: (T - T/k) / (T - 1) for T threads on k
  /// nodes.
  double apart(uint64_t threads) const;
  /// Latency of another node's memory: if all is one hop away, if all distances are equally
  /// frequent, and if all is as far away as can be.
  SpeedupRange remote_latency() const;
};

/// "8x16:1.0,2.1,3.1": 8 nodes of 16 processors, and the relative latencies of local memory and of
/// one hop and two. Errors (usage): anything else, with what is wrong and an example.
Result<Topology> parse_topology(std::string_view text);

/// This machine's, as the kernel describes it below `root`. Errors (cannot_answer): it says
/// nothing.
Result<Topology> topology_of_machine(const std::string& root = "/sys/devices/system/node");

}  // namespace fathom
