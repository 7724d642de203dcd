#include "advice/access_costs.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "attribution/operand_text.h"

namespace fathom {
namespace {

constexpr uint32_t kSector = 32, kLanesOfWarp = 32;

double own_throttle(const StallCounts& samples) {
  double sum = 0;
  for (StallReason reason :
       {StallReason::lg_throttle, StallReason::mio_throttle, StallReason::tex_throttle})
    sum += double(samples.all[size_t(reason)]);
  return sum;
}

/// Where an access goes, but for a constant number of bytes.
struct Base {
  const AnalyzedFunction* function;
  uint32_t block;
  std::string registers;
  auto operator<=>(const Base&) const = default;
};

/// Sectors of all accesses of one base together, shared out among them.
void share_sectors(std::vector<AccessCost*>& group) {
  std::set<int64_t> sectors, bytes;
  for (AccessCost* cost : group) {
    const int64_t offset = split_address(cost->instruction()).offset;
    const LaneAccess& access = *cost->access;
    // Lanes at unknown distances are far apart.
    int64_t stride = access.pattern == LanePattern::strided ? access.stride : 1 << 20;
    for (int64_t lane = 0; lane < kLanesOfWarp; ++lane)
      for (int64_t b = 0; b < access.bytes; ++b) {
        int64_t at = lane * stride + offset + b;
        sectors.insert(at >= 0 ? at / kSector : (at - kSector + 1) / kSector);
        bytes.insert(at);
      }
  }
  constexpr int64_t kWidest = 16;
  for (AccessCost* cost : group) {
    const int64_t stride = cost->access->pattern == LanePattern::strided ? cost->access->stride : 0;
    cost->vectorizable = stride > 0 && stride <= kWidest &&
                         int64_t(bytes.size()) == kLanesOfWarp * stride &&
                         cost->access->bytes < stride;
    cost->sectors = double(sectors.size()) / double(group.size());
    cost->needed_sectors =
        std::min(cost->sectors, double(bytes.size()) / kSector / double(group.size()));
  }
}

/// Accesses that are spread out, by common addresses: they may find each other's sectors in the
/// cache.
void find_shared_sectors(std::vector<AccessCost>& costs) {
  std::map<Base, std::vector<AccessCost*>> groups;
  for (AccessCost& cost : costs) {
    const LaneAccess& access = *cost.access;
    if (!access.sectors || *access.sectors <= 1.5 * access.ideal_sectors) continue;
    if (access.pattern == LanePattern::irregular) continue;
    Base base{cost.part->function, cost.part->function->graph.block_of[access.instruction],
              split_address(cost.instruction()).registers};
    groups[base].push_back(&cost);
  }
  for (auto& [base, group] : groups) share_sectors(group);
}

}  // namespace

double unit_cycles(const LaneAccess& access, double sectors, double lines) {
  if (access.space == MemorySpace::shared)
    return access.passes.value_or(std::max(1.0, access.ideal_passes));
  return std::max({1.0, sectors / 4, lines / 2});
}

std::vector<AccessCost> find_access_costs(const KernelView& view) {
  std::vector<AccessCost> costs;
  for (const FunctionPart& part : view.parts()) {
    std::map<uint32_t, double> waits, unread;
    for (const Blame& edge : part.function->blame)
      if (edge.producer != edge.consumer)
        (edge.kind == StallClass::write_after_read ? unread : waits)[edge.producer] += edge.stalls;
    for (const LaneAccess& access : view.accesses(part)) {
      const StallCounts& samples = part.function->samples[access.instruction];
      AccessCost cost;
      cost.part = &part;
      cost.access = &access;
      cost.issued = part.fraction * double(samples.issued());
      cost.throttled = part.fraction * own_throttle(samples);
      cost.waits = part.fraction * waits[access.instruction];
      cost.unread = part.fraction * unread[access.instruction];
      if (cost.issued + cost.waits + cost.unread + cost.throttled == 0) continue;
      if (access.space != MemorySpace::shared) {
        // How far a gather spreads is not known; neighbours often find each other's sectors.
        cost.sectors = access.sectors.value_or(2 * access.ideal_sectors);
        cost.needed_sectors = std::min(cost.sectors, access.ideal_sectors);
      }
      costs.push_back(cost);
    }
  }
  find_shared_sectors(costs);
  return costs;
}

SplitAddress split_address(const Instruction& instruction) {
  SplitAddress result;
  for (const Operand& operand : parse_operands(instruction.text)) {
    if (operand.kind != Operand::Kind::memory) continue;
    result = {};
    for (const Operand& part : operand.parts) {
      if (part.kind == Operand::Kind::immediate)
        result.offset += part.value;
      else
        result.registers += std::string(part.text) + "+";
    }
  }
  return result;
}

void add_wait_evidence(const AccessCost& cost, Finding& finding) {
  if (auto wait = wait_per_execution(*cost.part, cost.access->instruction))
    finding.evidence.push_back({"wait for each execution", std::round(*wait), "cycles"});
}

}  // namespace fathom
