#pragma once
// What a finding can say of memory that the program allocated itself: the struct that the code
// takes it for.

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/StringMap.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Module.h>

#include <string>

namespace fathom::instrument {

/// Calls into the runtime whose access is to a field of a known struct get a debug location inside
/// an inlined function that does not exist, and whose name tells the field's offset and the struct:
/// "__fathom_numa_type 8 16 pair {first:0:8, second:8:8}". So the analysis finds it where it looks
/// up lines, whatever linkers did in between. Nothing is said where the optimizer's type
/// information or the debug information does not name the struct.
class AccessTypes {
 public:
  explicit AccessTypes(llvm::Module& module) : module_(module) {}
  /// For what counts the access `at`.
  llvm::DebugLoc location(const llvm::Instruction& at);

 private:
  void find_structs();
  std::string name_of(const llvm::Instruction& at);
  llvm::DISubprogram* function(const std::string& name, llvm::DICompileUnit* unit,
                               llvm::DIFile* file);

  llvm::Module& module_;
  bool has_structs_ = false;
  llvm::StringMap<const llvm::DICompositeType*> structs_;  ///< null: several of the name
  llvm::StringMap<llvm::DISubprogram*> functions_;         ///< by unit and name
};

}  // namespace fathom::instrument
