#include "instrument/emitter.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <cstddef>

#include "collect/numa/abi.h"

namespace fathom::instrument {

using namespace llvm;
using numa::LineCounter;
using numa::PageSlot;

namespace {

constexpr uint64_t kLineBytes = 1u << numa::kLineBits;
constexpr unsigned kSlotBits = 6, kCounterBits = 3;
constexpr uint64_t kMostAtOnce = 1u << 24;  ///< that a slot's counters take up
static_assert(sizeof(PageSlot) == 1u << kSlotBits && sizeof(LineCounter) == 1u << kCounterBits);

FunctionCallee declare(Module& module, const char* name, FunctionType* type) {
  FunctionCallee callee = module.getOrInsertFunction(name, type);
  if (auto* function = dyn_cast<Function>(callee.getCallee())) {
    function->addFnAttr(Attribute::NoUnwind);
    for (unsigned i = 0; i < type->getNumParams(); ++i)
      if (type->getParamType(i)->isIntegerTy(32)) function->addParamAttr(i, Attribute::ZExt);
  }
  return callee;
}

uint32_t flags_of(bool is_write) {
  return is_write ? numa::kIsWrite : 0;
}

/// As many accesses as the runtime counts for one of this size.
uint64_t parts_of(uint64_t size) {
  return size > kWidest ? (size + 7) / 8 : 1;
}

/// What the slot's two counters grow by: reads in the low half.
uint64_t counts_of(const Group& group) {
  uint64_t out = 0;
  for (const Member& member : group.members)
    out += (member.count * parts_of(member.size)) << (member.is_write ? 32 : 0);
  return out;
}

bool has_fast_path(const Group& group) {
  for (const Member& member : group.members)
    if (member.count > UINT16_MAX) return false;
  const bool waits = group.is_ordered && !group.members[0].is_write;
  return !waits && group.flags != numa::kIsSpinning &&
         (group.spacing != 0 || group.span() <= kLineBytes);
}

}  // namespace

Emitter::Emitter(Module& module) : module_(module), types_(module) {
  LLVMContext& context = module.getContext();
  byte_ = Type::getInt8Ty(context);
  half_ = Type::getInt32Ty(context);
  word_ = Type::getInt64Ty(context);
  auto* nothing = Type::getVoidTy(context);
  access_ =
      declare(module, "__fathom_numa_access", FunctionType::get(nothing, {word_, half_}, false));
  if (auto* function = dyn_cast<Function>(access_.getCallee()))
    function->addFnAttr(Attribute::Cold);
  strided_ = declare(module, "__fathom_numa_strided",
                     FunctionType::get(nothing, {word_, half_, word_, word_}, false));
  auto* table = PointerType::get(byte_, 0);
  lines_ = cast<GlobalVariable>(module.getOrInsertGlobal("__fathom_numa_table", table, [&] {
    return new GlobalVariable(module, table, false, GlobalValue::ExternalLinkage, nullptr,
                              "__fathom_numa_table", nullptr, GlobalVariable::InitialExecTLSModel);
  }));
  likely_ = MDBuilder(context).createBranchWeights(1u << 20, 1);
  likely_next_ = MDBuilder(context).createBranchWeights(1, 4);
}

void Emitter::enter(Function& function, bool inlined) {
  function_ = &function;
  function_lines_ = nullptr;
  inlined_ = inlined;
}

/// The thread's table. Asked for once in a function, in a way that keeps the code generator from
/// asking again at each access.
Value* Emitter::lines() {
  if (function_lines_) return function_lines_;
  Builder builder(&*function_->getEntryBlock().getFirstInsertionPt());
  auto* pointer = PointerType::get(byte_, 0);
  auto* keep = InlineAsm::get(FunctionType::get(pointer, {pointer}, false), "", "=r,0", false);
  function_lines_ = builder.CreateCall(keep, {builder.CreateLoad(pointer, lines_)});
  return function_lines_;
}

void Emitter::set_place(Builder& builder, const Instruction* at) {
  builder.SetCurrentDebugLocation(at->getDebugLoc());
}

void Emitter::set_call_place(Builder& builder, const Instruction* at) {
  builder.SetCurrentDebugLocation(types_.location(*at));
}

Value* Emitter::address_of(Builder& builder, Value* pointer) {
  return builder.CreatePtrToInt(pointer, word_);
}

Value* Emitter::field(Builder& builder, Value* slot, unsigned offset, Type* type) {
  return builder.CreatePointerCast(builder.CreateConstGEP1_32(byte_, slot, offset),
                                   PointerType::get(type, 0));
}

void Emitter::call_strided(Builder& builder, Value* address, uint64_t size, bool is_write,
                           Value* count, Value* stride) {
  CallInst* call = builder.CreateCall(
      strided_,
      {address, builder.getInt32(static_cast<uint32_t>(size) | flags_of(is_write)), count, stride});
  call->addFnAttr(Attribute::NoMerge);  // its return address is the access's place
}

void Emitter::call_access(Builder& builder, Value* address, uint64_t size, uint32_t flags,
                          uint64_t count) {
  if (count > 1)
    return call_strided(builder, address, size, flags & numa::kIsWrite,
                        builder.getInt64(count * parts_of(size)), builder.getInt64(0));
  CallInst* call =
      builder.CreateCall(access_, {address, builder.getInt32(static_cast<uint32_t>(size) | flags)});
  call->addFnAttr(Attribute::NoMerge);
}

void Emitter::call_members(Builder& builder, const Group& group, Value* low) {
  for (const Member& member : group.members) {
    set_call_place(builder, member.at);
    call_access(builder, builder.CreateAdd(low, builder.getInt64(member.offset - group.low)),
                member.size, group.flags | flags_of(member.is_write), member.count);
  }
}

Value* Emitter::load(Builder& builder, Value* slot, unsigned offset) {
  return builder.CreateLoad(word_, field(builder, slot, offset, word_));
}

Emitter::Slot Emitter::slot_of(Builder& builder, Value* address) {
  constexpr unsigned kShift = numa::kPageBits - kSlotBits;
  Slot out{};
  out.line = builder.CreateLShr(address, numa::kLineBits);
  out.at = builder.CreateGEP(byte_, lines(),
                             builder.CreateAnd(builder.CreateLShr(address, kShift),
                                               (numa::kCachedPages - 1) << kSlotBits));
  LoadInst* first =
      builder.CreateLoad(word_, field(builder, out.at, offsetof(PageSlot, first_line), word_));
  first->setAtomic(AtomicOrdering::Unordered);
  first->setAlignment(Align(8));
  out.within = builder.CreateSub(out.line, first);
  out.hit = builder.CreateICmpULT(out.within, builder.getInt64(numa::kLinesOfPage));
  return out;
}

/// The counter of a line of the slot's page.
Value* Emitter::counter_of(Builder& builder, const Slot& slot, Value* line) {
  Value* counts = builder.CreateIntToPtr(load(builder, slot.at, offsetof(PageSlot, counts)),
                                         PointerType::get(byte_, 0));
  Value* mask = load(builder, slot.at, offsetof(PageSlot, mask));
  Value* index = builder.CreateShl(builder.CreateAnd(line, mask), kCounterBits);
  return builder.CreateGEP(byte_, counts, index);
}

BasicBlock* Emitter::add_block(BasicBlock* before) {
  return BasicBlock::Create(module_.getContext(), "", function_, before);
}

/// Ends a block with a branch that nearly always goes to `likely`.
void Emitter::branch(BasicBlock* block, Value* condition, BasicBlock* likely, BasicBlock* seldom,
                     const DebugLoc& place) {
  BranchInst* branch = BranchInst::Create(likely, seldom, condition, block);
  branch->setDebugLoc(place);
  branch->setMetadata(LLVMContext::MD_prof, likely_);
}

/// Splits before `at`: where the access is counted here, and where it is not. In two steps, so that
/// what the second needs is not computed, and kept in registers, before the first.
Emitter::Ways Emitter::split(Value* hit, Instruction* at) {
  Ways out{};
  out.place = at->getDebugLoc();
  BasicBlock* head = at->getParent();
  out.tail = SplitBlock(head, at);
  out.here = add_block(out.tail);
  out.slow = add_block(out.tail);
  out.undo = out.slow;
  head->getTerminator()->eraseFromParent();
  branch(head, hit, out.here, out.slow, out.place);
  BranchInst::Create(out.tail, out.slow)->setDebugLoc(out.place);
  return out;
}

/// Goes on only if `condition` holds; else the access is not counted here.
void Emitter::require(Ways& ways, Value* condition) {
  BasicBlock* next = add_block(ways.slow);
  branch(ways.here, condition, next, ways.undo, ways.place);
  ways.here = next;
}

/// Adds to a counter, and goes on only if it is not barred. Otherwise this and what was added
/// before is taken back.
void Emitter::add(Ways& ways, Value* counter, Value* amount) {
  Builder builder(ways.here);
  builder.SetCurrentDebugLocation(ways.place);
  Value* sum = builder.CreateAdd(builder.CreateLoad(half_, counter), amount);
  builder.CreateStore(sum, counter);
  BasicBlock *next = add_block(ways.slow), *undo = add_block(ways.slow);
  branch(ways.here, builder.CreateICmpSGE(sum, builder.getInt32(0)), next, undo, ways.place);
  Builder back(undo);
  back.SetCurrentDebugLocation(ways.place);
  back.CreateStore(back.CreateSub(back.CreateLoad(half_, counter), amount), counter);
  back.CreateBr(ways.undo);
  ways.undo = undo;
  ways.here = next;
}

/// Adds what `positions` positions of `reads` and `writes` each come to. Never both counters in one
/// step: a load that spans two young stores has to wait for them.
void Emitter::add_to_counter(Ways& ways, const Slot& slot, Value* line, Value* positions,
                             uint64_t reads, uint64_t writes) {
  Builder builder(ways.here);
  builder.SetCurrentDebugLocation(ways.place);
  Value* at = counter_of(builder, slot, line);
  const auto amount = [&](uint64_t each) {
    return Builder(ways.here).CreateMul(positions, ConstantInt::get(half_, each));
  };
  if (reads > 0) add(ways, field(builder, at, offsetof(LineCounter, reads), half_), amount(reads));
  if (writes == 0) return;
  Builder next(ways.here);
  add(ways, field(next, at, offsetof(LineCounter, writes), half_), amount(writes));
}

/// The rest of the program goes on.
void Emitter::finish(const Ways& ways) {
  BranchInst::Create(ways.tail, ways.here)->setDebugLoc(ways.place);
}

void Emitter::call_series(Builder& builder, const Series& series) {
  const auto call = [&](const Instruction* at, bool is_write, uint64_t times) {
    for (uint64_t i = 0; i < times; ++i) {
      set_call_place(builder, at);
      call_strided(builder, series.first, series.size, is_write, series.count,
                   builder.getInt64(series.step));
    }
  };
  call(series.read_at, false, series.reads);
  call(series.write_at, true, series.writes);
}

/// Positions one after the other, which may lie in two lines of a page, or in any of a page whose
/// lines are counted as one.
void Emitter::count(const Series& series, Instruction* before) {
  Builder builder(before);
  const Slot slot = slot_of(builder, series.first);
  Ways ways = split(slot.hit, before);
  Builder on_slow(ways.slow->getTerminator());
  call_series(on_slow, series);

  builder.SetInsertPoint(ways.here);
  Value* all = builder.CreateTrunc(series.count, half_);
  if (!isa<ConstantInt>(series.count))
    require(ways, builder.CreateICmpULE(series.count, builder.getInt64(kMostAtOnce)));
  if (series.step == 0 || series.is_in_line) {
    add_to_counter(ways, slot, slot.within, all, series.reads, series.writes);
    return finish(ways);
  }
  const Halves halves = halve(ways, slot, series, all);
  add_to_counter(ways, slot, slot.within, halves.here, series.reads, series.writes);
  // Seldom, and adding nothing to the counter just changed would wait for it.
  builder.SetInsertPoint(ways.here);
  BasicBlock* next = add_block(ways.slow);
  BranchInst* any = builder.CreateCondBr(builder.CreateICmpNE(halves.there, builder.getInt32(0)),
                                         next, ways.tail);
  any->setMetadata(LLVMContext::MD_prof, likely_next_);
  ways.here = next;
  add_to_counter(ways, slot, halves.end, halves.there, series.reads, series.writes);
  finish(ways);
}

/// How many positions lie in the first line and how many behind it, where that may be told here.
Emitter::Halves Emitter::halve(Ways& ways, const Slot& slot, const Series& series, Value* all) {
  Builder builder(ways.here);
  builder.SetCurrentDebugLocation(ways.place);
  const auto* constant = dyn_cast<ConstantInt>(series.count);
  Value* rounds = builder.CreateSub(series.count, builder.getInt64(1));
  Value* last =
      builder.CreateAdd(series.first, builder.CreateMul(rounds, builder.getInt64(series.step)));
  Halves out{};
  out.end = builder.CreateLShr(last, numa::kLineBits);
  Value* hit = builder.CreateICmpULT(builder.CreateXor(series.first, last),
                                     builder.getInt64(uint64_t(1) << numa::kPageBits));
  if (!constant || constant->getZExtValue() * series.step > kLineBytes)
    hit = builder.CreateAnd(
        hit,
        builder.CreateICmpULE(builder.CreateAnd(builder.CreateSub(out.end, slot.line),
                                                load(builder, slot.at, offsetof(PageSlot, mask))),
                              builder.getInt64(1)));
  Value* room = builder.CreateXor(
      builder.CreateAnd(builder.CreateTrunc(series.first, half_), kLineBytes - 1), kLineBytes - 1);
  Value* fit = builder.CreateAdd(
      builder.CreateUDiv(room, builder.getInt32(static_cast<uint32_t>(series.step))),
      builder.getInt32(1));
  out.here = builder.CreateSelect(builder.CreateICmpULT(fit, all), fit, all);
  out.there = builder.CreateSub(all, out.here);
  require(ways, hit);
  return out;
}

void Emitter::count(const Group& group) {
  Builder builder(group.at);
  set_place(builder, group.at);
  Value* low = address_of(builder, group.address);
  if (group.low != 0) low = builder.CreateAdd(low, builder.getInt64(group.low));
  if (!inlined_ || !has_fast_path(group)) return call_members(builder, group, low);
  if (group.spacing != 0) return count(series_of(builder, group, low), group.at);

  const uint64_t counts = counts_of(group), reads = uint32_t(counts), writes = counts >> 32;
  const Slot slot = slot_of(builder, low);
  Ways ways = split(slot.hit, group.at);
  Builder on_slow(ways.slow->getTerminator());
  call_members(on_slow, group, low);
  const bool is_one = group.members.back().offset == group.low && group.members[0].size <= kWidest;
  if (!is_one && group.span() > group.alignment) {
    builder.SetInsertPoint(ways.here);
    require(ways, builder.CreateICmpULE(builder.CreateAnd(low, kLineBytes - 1),
                                        builder.getInt64(kLineBytes - group.span())));
  }
  add_to_counter(ways, slot, slot.within, ConstantInt::get(half_, 1), reads, writes);
  finish(ways);
}

Emitter::Series Emitter::series_of(Builder& builder, const Group& group, Value* low) {
  Series out{low, static_cast<uint64_t>(group.spacing), builder.getInt64(group.positions)};
  out.size = group.members[0].size;
  out.is_in_line = group.span() <= group.alignment;
  for (const Member& member : group.members) {
    if (member.offset != group.members[0].offset) continue;
    (member.is_write ? out.writes : out.reads) = member.count;
  }
  for (const Member& member : group.members) {
    const Instruction*& at = member.is_write ? out.write_at : out.read_at;
    if (!at) at = member.at;
  }
  return out;
}

void Emitter::count(const StridedAccess& access) {
  Builder builder(access.before);
  set_place(builder, access.at);
  Value* first = address_of(builder, access.address);
  const auto* stride = dyn_cast<ConstantInt>(access.stride);
  const int64_t step = stride ? stride->getSExtValue() : INT64_MAX;
  if (!inlined_ || step > int64_t(kLineBytes) || step < -int64_t(kLineBytes) ||
      access.size > kWidest)
    return call_strided(builder, first, access.size, access.is_write, access.count, access.stride);
  if (step < 0) {  // from the other end
    Value* rounds = builder.CreateSub(access.count, builder.getInt64(1));
    first = builder.CreateAdd(first, builder.CreateMul(rounds, access.stride));
  }
  Series series{first, static_cast<uint64_t>(step < 0 ? -step : step), access.count};
  series.size = access.size;
  (access.is_write ? series.writes : series.reads) = 1;
  series.read_at = series.write_at = access.at;
  count(series, access.before);
}

void Emitter::count(const Exchange& access) {
  Builder builder(access.at->getNextNode());
  set_place(builder, access.at);
  Value* flags =
      builder.CreateSelect(builder.CreateExtractValue(access.at, 1),
                           builder.getInt32(access.size | numa::kIsAtomic | numa::kIsWrite),
                           builder.getInt32(access.size | numa::kIsAtomic));
  CallInst* call =
      builder.CreateCall(access_, {address_of(builder, access.at->getPointerOperand()), flags});
  call->addFnAttr(Attribute::NoMerge);
}

void Emitter::count(const BlockAccess& access) {
  Builder builder(access.at);
  Value* address = address_of(builder, access.address);
  Value* length = builder.CreateZExtOrTrunc(access.length, word_);
  if (auto* constant = dyn_cast<ConstantInt>(length);
      constant && constant->getZExtValue() <= numa::kSizeMask)
    return call_access(builder, address, constant->getZExtValue(), flags_of(access.is_write), 1);
  constexpr uint64_t kUnit = 8;
  call_strided(builder, address, kUnit, access.is_write, builder.CreateLShr(length, 3),
               builder.getInt64(kUnit));
  Value* rest = builder.CreateAnd(length, kUnit - 1);
  if (auto* constant = dyn_cast<ConstantInt>(rest); constant && constant->isZero()) return;
  Value* end = builder.CreateAdd(address, builder.CreateAnd(length, ~(kUnit - 1)));
  if (!isa<ConstantInt>(rest))
    builder.SetInsertPoint(SplitBlockAndInsertIfThen(
        builder.CreateICmpNE(rest, builder.getInt64(0)), access.at, false));
  set_place(builder, access.at);
  CallInst* call = builder.CreateCall(
      access_, {end, builder.CreateOr(builder.CreateTrunc(rest, half_),
                                      builder.getInt32(flags_of(access.is_write)))});
  call->addFnAttr(Attribute::NoMerge);
}

void Emitter::count(const MaskedAccess& access) {
  const uint64_t size =
      module_.getDataLayout().getTypeStoreSize(access.vector->getElementType()).getFixedValue();
  const unsigned lanes = access.vector->getNumElements();
  Builder builder(access.at);
  if (access.lanes == MaskedAccess::Lanes::packed) {
    Value* active = builder.CreateZExt(builder.CreateBitCast(access.mask, builder.getIntNTy(lanes)),
                                       builder.getIntNTy(std::max(lanes, 64u)));
    active = builder.CreateUnaryIntrinsic(Intrinsic::ctpop, active);
    return call_strided(builder, address_of(builder, access.address), size, access.is_write,
                        builder.CreateZExtOrTrunc(active, word_), builder.getInt64(size));
  }
  for (unsigned lane = 0; lane < lanes; ++lane) {
    Value* active = builder.CreateExtractElement(access.mask, lane);
    auto* constant = dyn_cast<ConstantInt>(active);
    if (constant && constant->isZero()) continue;
    if (!constant) builder.SetInsertPoint(SplitBlockAndInsertIfThen(active, access.at, false));
    set_place(builder, access.at);
    Value* address =
        access.lanes == MaskedAccess::Lanes::anywhere
            ? address_of(builder, builder.CreateExtractElement(access.address, lane))
            : builder.CreateAdd(address_of(builder, access.address), builder.getInt64(lane * size));
    call_access(builder, address, size, flags_of(access.is_write), 1);
    builder.SetInsertPoint(access.at);
  }
}

void Emitter::add_constructor() {
  auto* nothing = Type::getVoidTy(module_.getContext());
  auto* pointer = PointerType::get(byte_, 0);
  // One for a linked module: the linker keeps one of the group, with its entry in the table.
  auto* constructor =
      Function::Create(FunctionType::get(nothing, false), GlobalValue::LinkOnceODRLinkage,
                       "__fathom_numa_constructor", module_);
  constructor->setVisibility(GlobalValue::HiddenVisibility);
  constructor->setComdat(module_.getOrInsertComdat(constructor->getName()));
  constructor->addFnAttr(Attribute::NoUnwind);
  Builder builder(BasicBlock::Create(module_.getContext(), "", constructor));
  FunctionCallee tell = module_.getOrInsertFunction("__fathom_numa_module",
                                                    FunctionType::get(nothing, {pointer}, false));
  builder.CreateCall(tell, {builder.CreatePointerCast(constructor, pointer)});
  builder.CreateRetVoid();
  appendToGlobalCtors(module_, constructor, 0, constructor);
  appendToCompilerUsed(module_, {constructor});
}

}  // namespace fathom::instrument
