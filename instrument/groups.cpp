#include "instrument/groups.h"

#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MathExtras.h>

#include <algorithm>

#include "collect/numa/abi.h"

namespace fathom::instrument {
namespace {

using namespace llvm;

/// Bytes that a group spans at most if it is not known to lie in one line: the wider, the more
/// often it does not, and then each member is a call of its own.
constexpr uint64_t kMaxSpan = 24;
constexpr uint64_t kWordBytes = 1u << numa::kWordBits, kLineBytes = 1u << numa::kLineBits;

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
      if (!previous_ || may_synchronize_between(previous_, access.at)) open_.clear();
      previous_ = access.at;
      if (access.is_ordered || access.is_spinning)
        start(access);
      else
        add(access);
    }
    return std::move(groups_);
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

  void add(const Access& access) {
    const Place place = places_.of(access.address);
    auto& candidates = open_[place.base];
    for (const Open& candidate : candidates)
      if (join(groups_[candidate.group], access, place.offset - candidate.offset)) return;
    candidates.push_back({groups_.size(), place.offset});
    start(access);
  }

  void start(const Access& access) {
    Group group{access.at, access.address, 0, access.size, access.alignment, {}, 0, false};
    group.is_ordered = access.is_ordered;
    group.flags =
        (access.is_ordered ? numa::kIsAtomic : 0) | (access.is_spinning ? numa::kIsSpinning : 0);
    group.members.push_back({access.at, 0, access.size, access.is_write, 1});
    groups_.push_back(std::move(group));
  }

  static bool join(Group& group, const Access& access, int64_t offset) {
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
    if (span > kLineBytes) return false;
    const uint64_t alignment = std::max(MinAlign(group.alignment, distance(group.low, low)),
                                        MinAlign(access.alignment, distance(offset, low)));
    const bool same_range = low == group.low && high == group.high && low == offset && high == end;
    if (!same_range && alignment < kWordBytes) return false;
    if (span > std::max(alignment, kMaxSpan)) return false;
    group.low = low;
    group.high = high;
    group.alignment = alignment;
    group.members.push_back({access.at, offset, access.size, access.is_write, 1});
    return true;
  }

  static uint64_t distance(int64_t a, int64_t b) {
    return a == b ? kLineBytes * kLineBytes : static_cast<uint64_t>(a > b ? a - b : b - a);
  }

  Places places_;
  const Instruction* previous_ = nullptr;
  DenseMap<const void*, SmallVector<Open, 2>> open_;
  std::vector<Group> groups_;
};

}  // namespace

std::vector<Group> group_accesses(const std::vector<Access>& plain, ScalarEvolution* evolution) {
  if (plain.empty()) return {};
  return Grouper(Places(evolution, plain[0].at->getModule()->getDataLayout())).group(plain);
}

}  // namespace fathom::instrument
