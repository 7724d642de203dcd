#include "instrument/groups.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>
#include <map>

#include "collect/numa/abi.h"

namespace fathom::instrument {
namespace {

using namespace llvm;

/// Bytes that a group spans at most if it is not known to lie in one line: the wider, the more
/// often it does not, and then each member is a call of its own.
constexpr uint64_t kMaxSpan = 24;
constexpr uint64_t kLineBytes = 1u << numa::kLineBits;
constexpr uint64_t kMaxSeries = 4 * kLineBytes;  ///< bytes
constexpr uint32_t kPart = 8;                    ///< bytes of a wide access that count as one
constexpr uint64_t kMostTimes = 3;               ///< that a position of a series is read or written

struct Place {
  const void* base;
  int64_t offset;
};

class Places {
 public:
  Places(ScalarEvolution* evolution, const DataLayout& layout)
      : evolution_(evolution), layout_(layout) {}

  Place of(const Value* address) {
    if (evolution_) {
      const auto [base, offset] = split(evolution_->getSCEV(const_cast<Value*>(address)));
      return {base, offset};
    }
    APInt offset(layout_.getIndexTypeSizeInBits(address->getType()), 0);
    const Value* base = address->stripAndAccumulateConstantOffsets(layout_, offset, true);
    return {base, offset.getSExtValue()};
  }

 private:
  std::pair<const SCEV*, int64_t> split(const SCEV* address) {
    if (const auto* sum = dyn_cast<SCEVAddExpr>(address)) {
      if (const auto* constant = dyn_cast<SCEVConstant>(sum->getOperand(0))) {
        SmallVector<const SCEV*, 4> rest;
        for (unsigned i = 1; i < sum->getNumOperands(); ++i) rest.push_back(sum->getOperand(i));
        return {evolution_->getAddExpr(rest), constant->getAPInt().getSExtValue()};
      }
    } else if (const auto* moving = dyn_cast<SCEVAddRecExpr>(address)) {
      const auto [start, offset] = split(moving->getStart());
      if (offset == 0 || !moving->isAffine()) return {address, 0};
      return {evolution_->getAddRecExpr(start, moving->getStepRecurrence(*evolution_),
                                        moving->getLoop(), SCEV::FlagAnyWrap),
              offset};
    }
    return {address, 0};
  }

  ScalarEvolution* evolution_;
  const DataLayout& layout_;
};

class Grouper {
 public:
  explicit Grouper(Places places) : places_(std::move(places)) {}

  std::vector<Group> group(const std::vector<Access>& plain) {
    for (const Access& access : plain) {
      ++order_;
      if (!previous_ || may_synchronize_between(previous_, access.at)) open_.clear();
      previous_ = access.at;
      if (access.is_ordered || access.is_spinning)
        start(access, 0);
      else if (access.size > kWidest && access.size % kPart == 0 && access.size <= kMaxSeries)
        add_parts(access);
      else
        add(access, 0);
    }
    std::vector<Group> out;
    for (const Group& one : groups_) divide(one, out);
    std::sort(out.begin(), out.end(),
              [](const Group& a, const Group& b) { return a.order < b.order; });
    return out;
  }

 private:
  static bool may_synchronize_between(const Instruction* from, const Instruction* to) {
    if (from->getParent() != to->getParent()) return true;
    for (; from != to; from = from->getNextNode())
      if (may_synchronize(*from)) return true;
    return false;
  }

  struct Open {
    size_t group;
    int64_t offset;  // of its first access from the base
  };

  /// A wide access counts one for each 8 bytes.
  void add_parts(const Access& access) {
    Access part = access;
    part.size = kPart;
    for (int64_t within = 0; within < int64_t(access.size); within += kPart) {
      part.alignment = MinAlign(access.alignment, static_cast<uint64_t>(within));
      add(part, within);
    }
  }

  /// `within`: of a part of a wide access, from its address.
  void add(const Access& access, int64_t within) {
    Place place = places_.of(access.address);
    place.offset += within;
    auto& candidates = open_[place.base];
    for (const Open& candidate : candidates)
      if (join(groups_[candidate.group], access, place.offset - candidate.offset, within)) return;
    candidates.push_back({groups_.size(), place.offset});
    start(access, within);
  }

  void start(const Access& access, int64_t within) {
    Group group{access.at, access.address, 0, access.size, access.alignment, {}, 0, false};
    group.is_ordered = access.is_ordered;
    group.flags =
        (access.is_ordered ? numa::kIsAtomic : 0) | (access.is_spinning ? numa::kIsSpinning : 0);
    group.members.push_back(
        {access.at, access.address, 0, within, access.size, access.is_write, 1, order_});
    groups_.push_back(std::move(group));
  }

  bool join(Group& group, const Access& access, int64_t offset, int64_t within) const {
    for (Member& member : group.members) {
      if (member.offset != offset || member.size != access.size) continue;
      if (member.is_write == access.is_write) {
        ++member.count;
        return true;
      }
    }
    const int64_t end = offset + access.size;
    const int64_t low = std::min(group.low, offset), high = std::max(group.high, end);
    const uint64_t span = static_cast<uint64_t>(high - low);
    if (span > kMaxSeries) return false;
    const uint64_t alignment = std::max(MinAlign(group.alignment, distance(group.low, low)),
                                        MinAlign(access.alignment, distance(offset, low)));
    group.low = low;
    group.high = high;
    group.alignment = alignment;
    group.members.push_back(
        {access.at, access.address, offset, within, access.size, access.is_write, 1, order_});
    return true;
  }

  /// What a group's members do at one offset.
  struct Position {
    int64_t offset;
    uint32_t size = 0;
    uint64_t reads = 0, writes = 0;
    bool is_plain = true;  ///< all of one size

    bool operator==(const Position& other) const {
      return size == other.size && reads == other.reads && writes == other.writes;
    }
  };
  using Positions = std::vector<Position>;

  static Positions positions_of(const Group& group) {
    std::map<int64_t, Position> found;
    for (const Member& member : group.members) {
      Position& position = found.try_emplace(member.offset, Position{member.offset}).first->second;
      position.is_plain = position.is_plain && (position.size == 0 || position.size == member.size);
      position.size = std::max(position.size, member.size);
      (member.is_write ? position.writes : position.reads) += member.count;
    }
    Positions out;
    for (const auto& [offset, position] : found) out.push_back(position);
    return out;
  }

  /// The distance of equal positions; 0 if they are not equal.
  static int64_t spacing_of(const Position* first, size_t count) {
    if (count < 2) return 0;
    const int64_t spacing = first[1].offset - first[0].offset;
    for (size_t i = 0; i < count; ++i)
      if (!first[i].is_plain || first[i].size > kWidest || !(first[i] == first[0]) ||
          std::max(first[i].reads, first[i].writes) > kMostTimes ||
          first[i].offset - first[0].offset != static_cast<int64_t>(i) * spacing)
        return 0;
    return spacing;
  }

  /// Into groups that can be counted at once.
  static void divide(const Group& group, std::vector<Group>& out) {
    const Positions positions = positions_of(group);
    for (size_t from = 0, to; from < positions.size(); from = to) {
      for (to = from + 1; to < positions.size(); ++to) {
        const uint64_t span = static_cast<uint64_t>(positions[to].offset + positions[to].size -
                                                    positions[from].offset);
        if (spacing_of(&positions[from], to + 1 - from) == 0 && span > kMaxSpan) break;
      }
      out.push_back(part_of(group, positions[from].offset, positions[to - 1].offset));
      out.back().spacing = spacing_of(&positions[from], to - from);
      out.back().positions = to - from;
    }
  }

  static Group part_of(const Group& group, int64_t first, int64_t last) {
    Group out = group;
    out.members.clear();
    for (const Member& member : group.members)
      if (member.offset >= first && member.offset <= last) out.members.push_back(member);
    const Member origin = out.members[0];
    out.at = origin.at;
    out.address = origin.address;
    out.order = origin.order;
    const int64_t address = origin.offset - origin.within;  // where out.address is
    out.low = first - address;
    out.high = out.low;
    out.alignment = MinAlign(group.alignment, distance(first, group.low));
    for (Member& member : out.members) {
      member.offset -= address;
      out.high = std::max(out.high, member.offset + member.size);
    }
    return out;
  }

  static uint64_t distance(int64_t a, int64_t b) {
    return a == b ? kLineBytes * kLineBytes : static_cast<uint64_t>(a > b ? a - b : b - a);
  }

  Places places_;
  const Instruction* previous_ = nullptr;
  DenseMap<const void*, SmallVector<Open, 2>> open_;
  std::vector<Group> groups_;
  size_t order_ = 0;
};

}  // namespace

std::vector<Group> group_accesses(const std::vector<Access>& plain, ScalarEvolution* evolution) {
  if (plain.empty()) return {};
  return Grouper(Places(evolution, plain[0].at->getModule()->getDataLayout())).group(plain);
}

}  // namespace fathom::instrument
