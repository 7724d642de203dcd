#pragma once
// What the memory accesses of a kernel cost, from samples and from how they spread over a warp.

#include <vector>

#include "advice/kernel_view.h"
#include "advice/what_if.h"

namespace fathom {

/// One access of one function part, with what was measured on it.
struct AccessCost {
  const FunctionPart* part = nullptr;
  const LaneAccess* access = nullptr;
  double issued = 0;     ///< samples in which it was sent
  double waits = 0;      ///< samples of others that wait for its data
  double unread = 0;     ///< samples of others that wait until it has read its operands: it queues
  double throttled = 0;  ///< samples that it waits itself for a place in the queue
  /// Device memory: sectors that it moves for each execution, where accesses of the same addresses
  /// next to each other share sectors, and those that would do.
  double sectors = 0, needed_sectors = 0;

  /// Together with its neighbours in the code it reads all that lies between the lanes: one wide
  /// access could.
  bool vectorizable = false;

  const Instruction& instruction() const {
    return part->function->instructions[access->instruction];
  }
};

/// Cycles of a multiprocessor's load/store unit for one execution: passes over the banks of shared
/// memory; in global memory 128 bytes or four sectors a cycle, and two cache lines looked up.
/// Measured on an H200 (samples/cuda/strided_access): 32 lines cost about 16 times as much as one.
double unit_cycles(const LaneAccess& access, double sectors, double lines);

/// All accesses to global, generic and shared memory that were sampled; ask
/// KernelView::access_costs, which keeps them.
std::vector<AccessCost> find_access_costs(const KernelView& view);

/// The registers of its address and the constant number of bytes that is added to them.
struct SplitAddress {
  std::string registers;
  int64_t offset = 0;
};
SplitAddress split_address(const Instruction& instruction);

/// Cycles that somebody waits for each execution, as evidence: "320 cycles".
void add_wait_evidence(const AccessCost& cost, Finding& finding);

}  // namespace fathom
