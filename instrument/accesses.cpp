#include "instrument/accesses.h"

#include <llvm/Analysis/CaptureTracking.h>
#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Module.h>

#include "instrument/llvm_versions.h"

namespace fathom::instrument {
namespace {

using namespace llvm;

constexpr unsigned kMaxUses = 10000;  // of a stack variable, until it counts as escaping

/// Of a vector's lane; 0 if lanes are not whole bytes.
bool has_whole_lanes(Type* type, const DataLayout& layout) {
  return layout.getTypeSizeInBits(type->getScalarType()).getFixedValue() % 8 == 0;
}

class Finder {
 public:
  explicit Finder(Function& function)
      : function_(function), layout_(function.getParent()->getDataLayout()) {}

  Accesses find() {
    for (Instruction& instruction : instructions(function_)) {
      if (instruction.hasMetadata("nosanitize")) continue;
      add(instruction);
    }
    return std::move(found_);
  }

 private:
  void add(Instruction& instruction) {
    if (auto* load = dyn_cast<LoadInst>(&instruction)) {
      add_plain(load, load->getPointerOperand(), load->getType(), load->getAlign(), false,
                load->isVolatile() || load->isAtomic());
    } else if (auto* store = dyn_cast<StoreInst>(&instruction)) {
      add_plain(store, store->getPointerOperand(), store->getValueOperand()->getType(),
                store->getAlign(), true, store->isVolatile() || store->isAtomic());
    } else if (auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
      add_plain(update, update->getPointerOperand(), update->getValOperand()->getType(),
                update->getAlign(), true, true);
    } else if (auto* exchange = dyn_cast<AtomicCmpXchgInst>(&instruction)) {
      if (is_shared(exchange->getPointerOperand(), true))
        found_.exchanges.push_back({exchange, size_of(exchange->getNewValOperand()->getType())});
    } else if (auto* call = dyn_cast<CallInst>(&instruction)) {
      add_call(*call);
    }
  }

  void add_plain(Instruction* at, Value* address, Type* type, Align alignment, bool is_write,
                 bool is_ordered) {
    const TypeSize size = layout_.getTypeStoreSize(type);
    if (size.isScalable() || size.getFixedValue() == 0 || !is_shared(address, is_write)) return;
    found_.plain.push_back({at, address, static_cast<uint32_t>(size.getFixedValue()),
                            alignment.value(), is_write, is_ordered, false});
  }

  uint32_t size_of(Type* type) {
    return static_cast<uint32_t>(layout_.getTypeStoreSize(type).getFixedValue());
  }

  void add_call(CallInst& call) {
    if (auto* block = dyn_cast<MemIntrinsic>(&call)) {
      add_block(call, block->getRawDest(), block->getLength(), true);
      if (auto* copy = dyn_cast<MemTransferInst>(&call))
        add_block(call, copy->getRawSource(), copy->getLength(), false);
    } else if (auto* intrinsic = dyn_cast<IntrinsicInst>(&call)) {
      add_masked(*intrinsic);
    }
  }

  void add_block(CallInst& at, Value* address, Value* length, bool is_write) {
    if (auto* constant = dyn_cast<ConstantInt>(length); constant && constant->isZero()) return;
    if (is_shared(address, is_write)) found_.blocks.push_back({&at, address, length, is_write});
  }

  void add_masked(IntrinsicInst& call) {
    using Lanes = MaskedAccess::Lanes;
    Value* const first = call.arg_size() > 0 ? call.getArgOperand(0) : nullptr;
    Value* const second = call.arg_size() > 1 ? call.getArgOperand(1) : nullptr;
    const auto argument = [&](unsigned i) { return call.getArgOperand(i); };
    switch (call.getIntrinsicID()) {
      case Intrinsic::masked_load:
        return add_masked(call, first, argument(2), call.getType(), Lanes::together, false);
      case Intrinsic::masked_store:
        return add_masked(call, second, argument(3), first->getType(), Lanes::together, true);
      case Intrinsic::masked_gather:
        return add_masked(call, first, argument(2), call.getType(), Lanes::anywhere, false);
      case Intrinsic::masked_scatter:
        return add_masked(call, second, argument(3), first->getType(), Lanes::anywhere, true);
      case Intrinsic::masked_expandload:
        return add_masked(call, first, second, call.getType(), Lanes::packed, false);
      case Intrinsic::masked_compressstore:
        return add_masked(call, second, argument(2), first->getType(), Lanes::packed, true);
      default:
        return;
    }
  }

  void add_masked(CallInst& at, Value* address, Value* mask, Type* type, MaskedAccess::Lanes lanes,
                  bool is_write) {
    auto* vector = dyn_cast<FixedVectorType>(type);
    if (!vector || !has_whole_lanes(vector, layout_)) return;
    if (lanes == MaskedAccess::Lanes::anywhere || is_shared(address, is_write))
      found_.masked.push_back({&at, address, mask, vector, lanes, is_write});
  }

  /// Whether another thread may see what is there.
  bool is_shared(Value* address, bool is_write) {
    if (address->isSwiftError() || address->getType()->getPointerAddressSpace() != 0) return false;
    const Value* object = getUnderlyingObject(address, 0);
    if (auto* variable = dyn_cast<AllocaInst>(object)) return escapes(variable);
    if (auto* variable = dyn_cast<GlobalVariable>(object))
      return !(variable->isConstant() && !is_write) && !has_prefix(variable->getName(), "llvm.") &&
             !has_prefix(variable->getName(), "__llvm_");
    if (auto* load = dyn_cast<LoadInst>(object); load && !is_write)
      if (const MDNode* tag = load->getMetadata(LLVMContext::MD_tbaa))
        return !tag->isTBAAVtableAccess();  // a virtual table is constant
    return true;
  }

  bool escapes(const AllocaInst* variable) {
    const auto [entry, is_new] = escapes_.try_emplace(variable, true);
    if (is_new) entry->second = PointerMayBeCaptured(variable, true, true, kMaxUses);
    return entry->second;
  }

  Function& function_;
  const DataLayout& layout_;
  DenseMap<const AllocaInst*, bool> escapes_;
  Accesses found_;
};

}  // namespace

Accesses find_accesses(Function& function) {
  return Finder(function).find();
}

bool may_synchronize(const Instruction& instruction) {
  if (auto* call = dyn_cast<CallBase>(&instruction)) {
    if (isa<MemIntrinsic>(call)) return false;
    if (auto* intrinsic = dyn_cast<IntrinsicInst>(call))
      return !(intrinsic->isAssumeLikeIntrinsic() || intrinsic->hasFnAttr(Attribute::NoSync) ||
               intrinsic->doesNotAccessMemory());
    return !call->doesNotAccessMemory();
  }
  if (isa<FenceInst>(instruction)) return true;
  return instruction.isAtomic() || instruction.isVolatile();
}

}  // namespace fathom::instrument
