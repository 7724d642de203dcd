#pragma once
// Writes the counting of accesses into a module: collect/numa/abi.h says what it must do.

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include "instrument/accesses.h"
#include "instrument/groups.h"
#include "instrument/loops.h"
#include "instrument/types.h"

namespace fathom::instrument {

class Emitter {
 public:
  explicit Emitter(llvm::Module& module);

  /// What follows is of this function. Without `inlined`, everything is a call, as code is too long
  /// otherwise.
  void enter(llvm::Function& function, bool inlined);

  /// Groups of one block must come last first: each splits its block, and what it moves is short.
  void count(const Group& group);
  void count(const StridedAccess& access);
  void count(const Exchange& access);
  void count(const BlockAccess& access);
  void count(const MaskedAccess& access);

  /// Tells the runtime about the module when it is loaded.
  void add_constructor();

 private:
  using Builder = llvm::IRBuilder<>;

  void call_access(Builder& builder, llvm::Value* address, uint64_t size, uint32_t flags,
                   uint64_t count);
  void call_strided(Builder& builder, llvm::Value* address, uint64_t size, bool is_write,
                    llvm::Value* count, llvm::Value* stride);
  void call_members(Builder& builder, const Group& group, llvm::Value* low);
  struct Slot {
    llvm::Value *at, *line;
    llvm::Value* within;  ///< the line's number in the slot's page
    llvm::Value* hit;     ///< it has the page
  };
  /// Positions `step` bytes apart, each read and written so many times.
  struct Series {
    llvm::Value* first = nullptr;
    uint64_t step = 0;
    llvm::Value* count = nullptr;
    uint32_t size = 0;
    uint64_t reads = 0, writes = 0;
    bool is_in_line = false;  ///< it is known to be in one
    const llvm::Instruction *read_at = nullptr, *write_at = nullptr;
  };
  llvm::Value* load(Builder& builder, llvm::Value* slot, unsigned offset);
  Slot slot_of(Builder& builder, llvm::Value* address);
  llvm::Value* counter_of(Builder& builder, const Slot& slot, llvm::Value* line);
  struct Ways {
    llvm::BasicBlock* here;  ///< counts; has no end yet
    llvm::BasicBlock* undo;  ///< takes back what was counted so far, and goes to `slow`
    llvm::BasicBlock *slow, *tail;
    llvm::DebugLoc place;
  };
  llvm::BasicBlock* add_block(llvm::BasicBlock* before);
  void branch(llvm::BasicBlock* block, llvm::Value* condition, llvm::BasicBlock* likely,
              llvm::BasicBlock* seldom, const llvm::DebugLoc& place);
  Ways split(llvm::Value* hit, llvm::Instruction* at);
  void require(Ways& ways, llvm::Value* condition);
  void add(Ways& ways, llvm::Value* counter, llvm::Value* amount);
  void add_to_counter(Ways& ways, const Slot& slot, llvm::Value* line, llvm::Value* positions,
                      uint64_t reads, uint64_t writes);
  void finish(const Ways& ways);
  struct Halves {
    llvm::Value *here, *there;  ///< positions in the first line, and in the last
    llvm::Value* end;           ///< that line
  };
  Halves halve(Ways& ways, const Slot& slot, const Series& series, llvm::Value* all);
  Series series_of(Builder& builder, const Group& group, llvm::Value* low);
  void call_series(Builder& builder, const Series& series);
  void count(const Series& series, llvm::Instruction* before);
  llvm::Value* field(Builder& builder, llvm::Value* slot, unsigned offset, llvm::Type* type);
  llvm::Value* address_of(Builder& builder, llvm::Value* pointer);
  llvm::Value* lines();
  void set_place(Builder& builder, const llvm::Instruction* at);
  /// For calls into the runtime: tells the struct that they access as well.
  void set_call_place(Builder& builder, const llvm::Instruction* at);

  llvm::Module& module_;
  AccessTypes types_;
  llvm::Type *byte_, *half_, *word_;
  llvm::FunctionCallee access_, strided_;
  llvm::GlobalVariable* lines_;
  llvm::MDNode *likely_, *likely_next_;
  llvm::Function* function_ = nullptr;
  llvm::Value* function_lines_ = nullptr;
  bool inlined_ = true;
};

}  // namespace fathom::instrument
