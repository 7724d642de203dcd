// The plug-in: instruments a module at the end of the optimizer's pipeline.

#include <llvm/IR/PassManager.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Passes/PassPlugin.h>

#include "instrument/accesses.h"
#include "instrument/emitter.h"
#include "instrument/groups.h"
#include "instrument/llvm_versions.h"
#include "instrument/loops.h"

namespace fathom::instrument {
namespace {

using namespace llvm;

constexpr const char* kDone = "fathom.numa";
/// Beyond so many groups, a function's accesses become calls, so that compiling it stays quick.
constexpr size_t kMaxInlined = 4000;

bool runs_on_gpu(const Triple& triple) {
  return triple.isNVPTX() || triple.isAMDGPU() || triple.isSPIR() || triple.isSPIRV();
}

bool is_resolver(const Function& function) {
  for (const GlobalIFunc& indirect : function.getParent()->ifuncs())
    if (indirect.getResolverFunction() == &function) return true;
  return false;
}

bool is_to_be_instrumented(const Function& function) {
  return !function.isDeclaration() && !function.hasAvailableExternallyLinkage() &&
         !function.hasFnAttribute(Attribute::Naked) &&
         !function.hasFnAttribute("disable_sanitizer_instrumentation") &&
         !has_prefix(function.getName(), "__fathom_numa_") && !is_resolver(function);
}

void instrument(Function& function, FunctionAnalysisManager& analyses, Emitter& emitter) {
  Accesses accesses = find_accesses(function);
  ScalarEvolution* evolution = nullptr;
  std::vector<StridedAccess> strided;
  if (!accesses.plain.empty()) {
    auto& loops = analyses.getResult<LoopAnalysis>(function);
    mark_spinning(accesses.plain, loops);
    if (!function.hasOptNone()) {
      evolution = &analyses.getResult<ScalarEvolutionAnalysis>(function);
      auto& dominators = analyses.getResult<DominatorTreeAnalysis>(function);
      strided = take_strided(accesses.plain, {loops, dominators, *evolution});
    }
  }
  const std::vector<Group> groups = group_accesses(accesses.plain, evolution);
  emitter.enter(function, groups.size() <= kMaxInlined);
  for (const StridedAccess& access : strided) emitter.count(access);
  for (auto group = groups.rbegin(); group != groups.rend(); ++group) emitter.count(*group);
  for (const Exchange& access : accesses.exchanges) emitter.count(access);
  for (const BlockAccess& access : accesses.blocks) emitter.count(access);
  for (const MaskedAccess& access : accesses.masked) emitter.count(access);
}

struct InstrumentPass : PassInfoMixin<InstrumentPass> {
  static bool isRequired() { return true; }  // of functions that are not optimized too

  PreservedAnalyses run(Module& module, ModuleAnalysisManager& analyses) {
    const Triple triple(module.getTargetTriple());
    if (runs_on_gpu(triple) || !triple.isArch64Bit() || module.getNamedMetadata(kDone))
      return PreservedAnalyses::all();
    module.getOrInsertNamedMetadata(kDone);
    auto& functions = analyses.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    std::vector<Function*> chosen;
    for (Function& function : module)
      if (is_to_be_instrumented(function)) chosen.push_back(&function);
    Emitter emitter(module);
    for (Function* function : chosen) {
      instrument(*function, functions, emitter);
      functions.invalidate(*function, PreservedAnalyses::none());
    }
    for (Function& function : module) forget_effects(function);
    emitter.add_constructor();
    return PreservedAnalyses::none();
  }

  static void forget_effects(Function& function) {
    if (!function.isIntrinsic()) forget_memory_effects(function);
    for (BasicBlock& block : function)
      for (Instruction& instruction : block)
        if (auto* call = dyn_cast<CallBase>(&instruction); call && !isa<IntrinsicInst>(call))
          forget_memory_effects(*call);
  }
};

void add_pass(PassBuilder& builder) {
#if LLVM_VERSION_MAJOR >= 20
  builder.registerOptimizerLastEPCallback(
      [](ModulePassManager& passes, OptimizationLevel, ThinOrFullLTOPhase) {
        passes.addPass(InstrumentPass());
      });
#else
  builder.registerOptimizerLastEPCallback(
      [](ModulePassManager& passes, OptimizationLevel) { passes.addPass(InstrumentPass()); });
#endif
  builder.registerPipelineParsingCallback(
      [](StringRef name, ModulePassManager& passes, ArrayRef<PassBuilder::PipelineElement>) {
        if (name != "fathom-numa") return false;
        passes.addPass(InstrumentPass());
        return true;
      });
}

}  // namespace
}  // namespace fathom::instrument

extern "C" __attribute__((visibility("default"))) llvm::PassPluginLibraryInfo
llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "fathom-numa", "1", fathom::instrument::add_pass};
}
