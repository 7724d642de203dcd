#include "instrument/emitter.h"

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <cstddef>

#include "collect/numa/abi.h"

namespace fathom::instrument {

using namespace llvm;
using numa::LineSlot;

namespace {

constexpr uint64_t kLineBytes = 1u << numa::kLineBits, kWordBytes = 1u << numa::kWordBits;
constexpr uint64_t kWordsOfLine = kLineBytes / kWordBytes;
static_assert(sizeof(LineSlot) == 32 && offsetof(LineSlot, tag) == 0);
static_assert(offsetof(LineSlot, writes) == offsetof(LineSlot, reads) + 4);
static_assert(offsetof(LineSlot, write_words) == offsetof(LineSlot, read_words) + 2);

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

/// The words of a group whose lowest byte begins a word: reads in the low half, as in the slot.
uint32_t words_from_low(const Group& group) {
  uint32_t out = 0;
  for (const Member& member : group.members) {
    const uint64_t first = static_cast<uint64_t>(member.offset - group.low);
    for (uint64_t word = first / kWordBytes; word <= (first + member.size - 1) / kWordBytes; ++word)
      out |= 1u << (word + (member.is_write ? kWordsOfLine : 0));
  }
  return out;
}

bool has_fast_path(const Group& group) {
  for (const Member& member : group.members)
    if (member.count > UINT16_MAX) return false;
  const bool waits = group.is_ordered && !group.members[0].is_write;
  return !waits && group.flags != numa::kIsSpinning && group.span() <= kLineBytes;
}

}  // namespace

Emitter::Emitter(Module& module) : module_(module) {
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
  auto* table = ArrayType::get(byte_, sizeof(LineSlot) * numa::kCachedLines);
  lines_ = cast<GlobalVariable>(module.getOrInsertGlobal("__fathom_numa_lines", table, [&] {
    return new GlobalVariable(module, table, false, GlobalValue::ExternalLinkage, nullptr,
                              "__fathom_numa_lines", nullptr, GlobalVariable::InitialExecTLSModel);
  }));
  likely_ = MDBuilder(context).createBranchWeights(1u << 20, 1);
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
  function_lines_ = builder.CreateCall(keep, {builder.CreatePointerCast(lines_, pointer)});
  return function_lines_;
}

void Emitter::set_place(Builder& builder, const Instruction* at) {
  builder.SetCurrentDebugLocation(at->getDebugLoc());
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
    set_place(builder, member.at);
    call_access(builder, builder.CreateAdd(low, builder.getInt64(member.offset - group.low)),
                member.size, group.flags | flags_of(member.is_write), member.count);
  }
}

/// Bits of the words that the group accesses, as in the slot: reads low, writes high.
Value* Emitter::words_of(Builder& builder, const Group& group, Value* low) {
  const auto word_at = [&](Value* address) {
    return builder.CreateAnd(
        builder.CreateTrunc(builder.CreateLShr(address, numa::kWordBits), half_), kWordsOfLine - 1);
  };
  Value* first = word_at(low);
  if (group.alignment >= kWordBytes || group.span() == 1 ||
      (group.span() == 2 && group.alignment == 2)) {
    const uint32_t bits = group.alignment >= kWordBytes ? words_from_low(group)
                          : counts_of(group) >> 32      ? 1u << kWordsOfLine
                                                        : 1u;
    const uint32_t both =
        bits | ((group.alignment < kWordBytes && uint32_t(counts_of(group))) ? 1 : 0);
    return builder.CreateShl(builder.getInt32(both), first);
  }
  // Any alignment: all members are the same bytes.
  Value* last = word_at(builder.CreateAdd(low, builder.getInt64(group.span() - 1)));
  Value* bits = builder.CreateSub(builder.CreateShl(builder.getInt32(2), last),
                                  builder.CreateShl(builder.getInt32(1), first));
  const uint64_t counts = counts_of(group);
  Value* reads = uint32_t(counts) ? bits : builder.getInt32(0);
  Value* writes = counts >> 32 ? builder.CreateShl(bits, kWordsOfLine) : builder.getInt32(0);
  return builder.CreateOr(reads, writes);
}

void Emitter::add_to_slot(Builder& builder, const Group& group, Value* low, Value* slot) {
  const auto add = [&](unsigned offset, Type* type, uint64_t amount) {
    Value* counter = field(builder, slot, offset, type);
    Value* sum =
        builder.CreateAdd(builder.CreateLoad(type, counter), ConstantInt::get(type, amount));
    builder.CreateStore(sum, counter);
  };
  const uint64_t counts = counts_of(group), reads = uint32_t(counts), writes = counts >> 32;
  if (reads && writes)
    add(offsetof(LineSlot, reads), word_, counts);
  else if (reads)
    add(offsetof(LineSlot, reads), half_, reads);
  else
    add(offsetof(LineSlot, writes), half_, writes);
  Value* words = field(builder, slot, offsetof(LineSlot, read_words), half_);
  builder.CreateStore(
      builder.CreateOr(builder.CreateLoad(half_, words), words_of(builder, group, low)), words);
}

void Emitter::count(const Group& group) {
  Builder builder(group.at);
  set_place(builder, group.at);
  Value* low = address_of(builder, group.address);
  if (group.low != 0) low = builder.CreateAdd(low, builder.getInt64(group.low));
  if (!inlined_ || !has_fast_path(group)) return call_members(builder, group, low);

  constexpr unsigned kSlotBits = 5, kShift = numa::kLineBits - kSlotBits;
  static_assert(sizeof(LineSlot) == 1u << kSlotBits);
  Value* offset =
      builder.CreateAnd(builder.CreateLShr(low, kShift), (numa::kCachedLines - 1) << kSlotBits);
  Value* slot = builder.CreateGEP(byte_, lines(), offset);
  LoadInst* tag = builder.CreateLoad(word_, field(builder, slot, 0, word_));
  tag->setAtomic(AtomicOrdering::Unordered);
  tag->setAlignment(Align(8));
  Value* hit = builder.CreateICmpEQ(tag, builder.CreateLShr(low, numa::kLineBits));
  if (group.span() > group.alignment)
    hit =
        builder.CreateAnd(hit, builder.CreateICmpULE(builder.CreateAnd(low, kLineBytes - 1),
                                                     builder.getInt64(kLineBytes - group.span())));
  Instruction *fast = nullptr, *slow = nullptr;
  SplitBlockAndInsertIfThenElse(hit, group.at, &fast, &slow, likely_);
  Builder on_fast(fast), on_slow(slow);
  set_place(on_fast, group.at);
  add_to_slot(on_fast, group, low, slot);
  call_members(on_slow, group, low);
}

void Emitter::count(const StridedAccess& access) {
  Builder builder(access.before);
  set_place(builder, access.at);
  call_strided(builder, address_of(builder, access.address), access.size, access.is_write,
               access.count, access.stride);
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
