#include "instrument/loops.h"

#include <llvm/ADT/MapVector.h>
#include <llvm/ADT/SmallPtrSet.h>
#include <llvm/Analysis/ScalarEvolutionExpressions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/LoopUtils.h>

#include <algorithm>
#include <optional>

#include "instrument/llvm_versions.h"

namespace fathom::instrument {
namespace {

using namespace llvm;

constexpr uint64_t kFewRounds = 3;  // known to be no more: a call before the loop would cost more
constexpr size_t kMaxCandidates = 64;  // of a loop; comparing them is quadratic

bool may_synchronize(const Loop& loop) {
  for (const BasicBlock* block : loop.blocks())
    for (const Instruction& instruction : *block)
      if (instrument::may_synchronize(instruction)) return true;
  return false;
}

struct Candidate {
  const Access* access;
  const SCEV *start, *step;
};

/// Accesses that are one after the other in memory, again and again: `first` begins.
struct Run {
  Candidate first;
  int64_t spacing = 0;  ///< 0: the candidate's own step
  uint64_t length = 1;
};

class StridedLoop {
 public:
  StridedLoop(Loop& loop, const LoopAnalyses& analyses)
      : loop_(loop), analyses_(analyses), evolution_(analyses.evolution) {}

  bool is_countable() {
    exiting_ = loop_.getExitingBlock();
    if (!loop_.getLoopLatch() || !exiting_) return false;
    rounds_ = evolution_.getBackedgeTakenCount(&loop_);
    if (isa<SCEVCouldNotCompute>(rounds_) || may_synchronize(loop_)) return false;
    const auto* constant = dyn_cast<SCEVConstant>(rounds_);
    return !(constant && constant->getAPInt().ult(kFewRounds));
  }

  void add(const Access& access) {
    const BasicBlock* block = access.at->getParent();
    if (access.is_ordered || candidates_.size() >= kMaxCandidates) return;
    if (!analyses_.dominators.dominates(block, loop_.getLoopLatch()) ||
        !analyses_.dominators.dominates(block, exiting_))
      return;
    const SCEV* where = evolution_.getSCEV(access.address);
    if (evolution_.isLoopInvariant(where, &loop_)) {
      auto* word = Type::getInt64Ty(access.at->getContext());
      candidates_.push_back({&access, where, evolution_.getZero(word)});
      return;
    }
    const auto* address = dyn_cast<SCEVAddRecExpr>(where);
    if (!address || address->getLoop() != &loop_ || !address->isAffine()) return;
    candidates_.push_back({&access, address->getStart(), address->getStepRecurrence(evolution_)});
  }

  void write(std::vector<StridedAccess>& out, SmallPtrSetImpl<const Instruction*>& taken) {
    if (candidates_.empty()) return;
    BasicBlock* preheader = loop_.getLoopPreheader();
    if (!preheader)
      preheader =
          InsertPreheaderForLoop(&loop_, &analyses_.dominators, &analyses_.loops, nullptr, false);
    if (!preheader) return;
    Instruction* before = preheader->getTerminator();
    const DataLayout& layout = before->getModule()->getDataLayout();
    SCEVExpander expander(evolution_, layout, "fathom");
    for (const auto& [run, members] : runs()) {
      if (is_wide_with_gaps(run)) continue;
      if (!can_expand(expander, run.first.start, before, evolution_) ||
          !can_expand(expander, run.first.step, before, evolution_) ||
          !can_expand(expander, rounds_, before, evolution_))
        continue;
      out.push_back(expand(run, expander, before));
      for (const Candidate& member : members) taken.insert(member.access->at);
    }
  }

 private:
  /// The runtime counts wide accesses by 8 bytes, which then must be one after the other.
  static bool is_wide_with_gaps(const Run& run) {
    const uint32_t size = run.first.access->size;
    if (size <= kWidest) return false;
    const auto* step = dyn_cast<SCEVConstant>(run.first.step);
    const int64_t moved = run.spacing != 0 ? run.spacing
                          : step           ? step->getAPInt().getSExtValue()
                                           : 0;
    return moved != size || size % 8 != 0;
  }

  StridedAccess expand(const Run& run, SCEVExpander& expander, Instruction* before) {
    const Access& access = *run.first.access;
    auto* word = Type::getInt64Ty(before->getContext());
    const SCEV* count = evolution_.getAddExpr(evolution_.getTruncateOrZeroExtend(rounds_, word),
                                              evolution_.getOne(word));
    const uint32_t parts = access.size > kWidest ? access.size / 8 : 1;
    count = evolution_.getMulExpr(count, evolution_.getConstant(word, run.length * parts));
    StridedAccess out{access.at,           before,         nullptr, nullptr, nullptr,
                      access.size / parts, access.is_write};
    out.address = expander.expandCodeFor(run.first.start, access.address->getType(), before);
    out.count = expander.expandCodeFor(count, word, before);
    if (parts > 1 || run.spacing != 0) {
      const int64_t stride = parts > 1 ? 8 : run.spacing;
      out.stride = ConstantInt::get(word, static_cast<uint64_t>(stride), true);
    } else {
      const SCEV* step = evolution_.getTruncateOrSignExtend(run.first.step, word);
      out.stride = expander.expandCodeFor(step, word, before);
    }
    return out;
  }

  /// What an unrolled or interleaved loop does in n accesses a round is n times as many rounds of
  /// one access.
  std::vector<std::pair<Run, std::vector<Candidate>>> runs() {
    std::vector<std::pair<Run, std::vector<Candidate>>> out;
    std::vector<bool> used(candidates_.size());
    for (size_t i = 0; i < candidates_.size(); ++i) {
      if (used[i]) continue;
      std::vector<size_t> alike = same_stream(i, used);
      const Run run = run_of(alike);
      if (run.length == 1) alike = {i};
      std::vector<Candidate> members;
      for (const size_t member : alike) {
        used[member] = true;
        members.push_back(candidates_[member]);
      }
      out.emplace_back(run.length == 1 ? Run{candidates_[i]} : run, std::move(members));
    }
    return out;
  }

  /// The unused candidates that have a constant distance from candidate i, sorted by it.
  std::vector<size_t> same_stream(size_t i, const std::vector<bool>& used) {
    const Candidate& one = candidates_[i];
    std::vector<std::pair<int64_t, size_t>> found;
    for (size_t k = i; k < candidates_.size(); ++k) {
      const Candidate& other = candidates_[k];
      if (used[k] || other.step != one.step || other.access->size != one.access->size ||
          other.access->is_write != one.access->is_write)
        continue;
      if (const auto distance = constant_distance(other.start, one.start))
        found.emplace_back(*distance, k);
    }
    std::sort(found.begin(), found.end());
    distances_.clear();
    std::vector<size_t> out;
    for (const auto& [distance, k] : found) {
      distances_.push_back(distance);
      out.push_back(k);
    }
    return out;
  }

  Run run_of(const std::vector<size_t>& alike) {
    const auto* step = dyn_cast<SCEVConstant>(candidates_[alike[0]].step);
    if (!step || alike.size() < 2) return {candidates_[alike[0]]};
    const int64_t moved = step->getAPInt().getSExtValue(), spacing = distances_[1] - distances_[0];
    for (size_t k = 1; k < distances_.size(); ++k)
      if (distances_[k] - distances_[k - 1] != spacing) return {candidates_[alike[0]]};
    const int64_t covered = spacing * static_cast<int64_t>(alike.size());
    if (spacing == 0 || (covered != moved && covered != -moved)) return {candidates_[alike[0]]};
    const size_t first = moved > 0 ? alike.front() : alike.back();
    return {candidates_[first], moved > 0 ? spacing : -spacing, alike.size()};
  }

  std::optional<int64_t> constant_distance(const SCEV* to, const SCEV* from) {
    const auto* difference = dyn_cast<SCEVConstant>(evolution_.getMinusSCEV(to, from));
    if (!difference || difference->getAPInt().getBitWidth() > 64) return std::nullopt;
    return difference->getAPInt().getSExtValue();
  }

  Loop& loop_;
  const LoopAnalyses& analyses_;
  ScalarEvolution& evolution_;
  const BasicBlock* exiting_ = nullptr;
  const SCEV* rounds_ = nullptr;  // of the back edge: one fewer than of the loop
  std::vector<Candidate> candidates_;
  std::vector<int64_t> distances_;  // of the stream at hand
};

/// A call that a waiting loop makes so as not to be in the way.
bool is_waiting_call(const CallBase& call) {
  if (call.isInlineAsm() || call.doesNotAccessMemory()) return true;
  if (const auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) {
    const StringRef name = intrinsic->getCalledFunction()->getName();
    return intrinsic->isAssumeLikeIntrinsic() || name == "llvm.x86.sse2.pause" ||
           name == "llvm.aarch64.hint";
  }
  const Function* callee = call.getCalledFunction();
  if (!callee) return false;
  const StringRef name = callee->getName();
  for (const char* waiting : {"sched_yield", "thrd_yield", "usleep", "nanosleep", "clock_nanosleep",
                              "_ZNSt11this_thread5yieldEv"})
    if (name == waiting) return true;
  return false;
}

class WaitingLoop {
 public:
  explicit WaitingLoop(const Loop& loop) : loop_(loop) {}

  /// The loads that decide when the loop ends; none if it does more than wait.
  SmallPtrSet<const Instruction*, 4> deciding_loads() {
    SmallPtrSet<const Instruction*, 4> out;
    for (const BasicBlock* block : loop_.blocks())
      for (const Instruction& instruction : *block)
        if (does_work(instruction)) return out;
    SmallVector<BasicBlock*, 4> exiting;
    loop_.getExitingBlocks(exiting);
    for (const BasicBlock* block : exiting) add_loads(block->getTerminator(), out, 0);
    return out;
  }

 private:
  bool does_work(const Instruction& instruction) const {
    if (auto* call = dyn_cast<CallBase>(&instruction)) return !is_waiting_call(*call);
    if (auto* load = dyn_cast<LoadInst>(&instruction))
      return !is_invariant(load->getPointerOperand(), 0);
    return instruction.mayWriteToMemory() && !isa<FenceInst>(instruction);
  }

  /// In a loop that stores nothing: a load from an address that stays gives what stays.
  bool is_invariant(const Value* value, unsigned depth) const {
    if (loop_.isLoopInvariant(value)) return true;
    const auto* instruction = dyn_cast<Instruction>(value);
    if (!instruction || depth > 4 || isa<PHINode>(instruction) || instruction->isVolatile() ||
        instruction->isAtomic() || isa<CallBase>(instruction))
      return false;
    return std::all_of(instruction->op_begin(), instruction->op_end(),
                       [&](const Use& operand) { return is_invariant(operand.get(), depth + 1); });
  }

  void add_loads(const Instruction* from, SmallPtrSetImpl<const Instruction*>& out,
                 unsigned depth) const {
    if (depth > 8 || isa<PHINode>(from) || !loop_.contains(from)) return;
    if (isa<LoadInst>(from)) {
      out.insert(from);
      return;
    }
    for (const Use& operand : from->operands())
      if (auto* instruction = dyn_cast<Instruction>(operand.get()))
        add_loads(instruction, out, depth + 1);
  }

  const Loop& loop_;
};

}  // namespace

std::vector<StridedAccess> take_strided(std::vector<Access>& plain, const LoopAnalyses& analyses) {
  std::vector<StridedAccess> out;
  MapVector<Loop*, std::vector<const Access*>> inside;
  for (const Access& access : plain) {
    Loop* loop = analyses.loops.getLoopFor(access.at->getParent());
    if (loop && loop->isInnermost()) inside[loop].push_back(&access);
  }
  SmallPtrSet<const Instruction*, 16> taken;
  for (const auto& [loop, accesses] : inside) {
    StridedLoop strided(*loop, analyses);
    if (!strided.is_countable()) continue;
    for (const Access* access : accesses) strided.add(*access);
    strided.write(out, taken);
  }
  plain.erase(std::remove_if(plain.begin(), plain.end(),
                             [&](const Access& access) { return taken.count(access.at) != 0; }),
              plain.end());
  return out;
}

void mark_spinning(std::vector<Access>& plain, const LoopInfo& loops) {
  DenseMap<const Loop*, SmallPtrSet<const Instruction*, 4>> deciding;
  for (Access& access : plain) {
    const Loop* loop = loops.getLoopFor(access.at->getParent());
    if (!loop || access.is_write) continue;
    const auto [entry, is_new] = deciding.try_emplace(loop);
    if (is_new) entry->second = WaitingLoop(*loop).deciding_loads();
    access.is_spinning = entry->second.count(access.at) != 0;
  }
}

}  // namespace fathom::instrument
