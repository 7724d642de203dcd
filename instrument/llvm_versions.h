#pragma once
// Where LLVM 14 to 19 differ in what the pass uses.

#include <llvm/Config/llvm-config.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/Transforms/Utils/ScalarEvolutionExpander.h>
#if LLVM_VERSION_MAJOR >= 17
#include <llvm/TargetParser/Triple.h>
#else
#include <llvm/ADT/Triple.h>
#endif

namespace fathom::instrument {

inline bool has_prefix(llvm::StringRef text, llvm::StringRef prefix) {
  return text.substr(0, prefix.size()) == prefix;
}

inline bool can_expand(llvm::SCEVExpander& expander, const llvm::SCEV* value,
                       const llvm::Instruction* at, llvm::ScalarEvolution& evolution) {
#if LLVM_VERSION_MAJOR >= 15
  (void)evolution;
  return expander.isSafeToExpandAt(value, at);
#else
  (void)expander;
  return llvm::isSafeToExpandAt(value, at, evolution);
#endif
}

/// Takes back what the optimizer found out about a function's or call's memory: counting writes.
template <class T>
void forget_memory_effects(T& function_or_call) {
  using llvm::Attribute;
  constexpr Attribute::AttrKind kinds[] = {
#if LLVM_VERSION_MAJOR >= 16
    Attribute::Memory,
#else
    Attribute::ArgMemOnly,
    Attribute::InaccessibleMemOnly,
    Attribute::InaccessibleMemOrArgMemOnly,
#endif
    Attribute::ReadNone,
    Attribute::ReadOnly,
    Attribute::WriteOnly,
    Attribute::Speculatable
  };
  for (const auto kind : kinds) function_or_call.removeFnAttr(kind);
}

}  // namespace fathom::instrument
