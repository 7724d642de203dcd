#pragma once
// Which instructions access memory that other threads can see, and what they access.

#include <llvm/ADT/DenseMap.h>
#include <llvm/IR/Function.h>
#include <llvm/IR/Instructions.h>

#include <cstdint>
#include <vector>

namespace fathom::instrument {

/// A load, a store or an atomic update, which counts as a write.
struct Access {
  llvm::Instruction* at = nullptr;
  llvm::Value* address = nullptr;
  uint32_t size = 0;       ///< bytes
  uint64_t alignment = 1;  ///< bytes; at least this
  bool is_write = false;
  bool is_ordered = false;   ///< atomic or volatile
  bool is_spinning = false;  ///< of a loop that only waits
};

/// A compare-and-exchange: a write if it succeeds, else a read.
struct Exchange {
  llvm::AtomicCmpXchgInst* at = nullptr;
  uint32_t size = 0;
};

/// memcpy, memmove or memset: one for each side that others can see.
struct BlockAccess {
  llvm::Instruction* at = nullptr;
  llvm::Value* address = nullptr;
  llvm::Value* length = nullptr;  ///< bytes
  bool is_write = false;
};

/// A vector operation that leaves lanes out: each active lane is an access of its own.
struct MaskedAccess {
  enum class Lanes { together, packed, anywhere };  ///< anywhere: `address` is a vector
  llvm::CallInst* at = nullptr;
  llvm::Value* address = nullptr;
  llvm::Value* mask = nullptr;
  llvm::FixedVectorType* vector = nullptr;
  Lanes lanes = Lanes::together;
  bool is_write = false;
};

struct Accesses {
  std::vector<Access> plain;  ///< in the order of the function's instructions
  std::vector<Exchange> exchanges;
  std::vector<BlockAccess> blocks;
  std::vector<MaskedAccess> masked;
};

Accesses find_accesses(llvm::Function& function);

/// Wider accesses than this many bytes are blocks, which count one access for each 8 bytes.
inline constexpr uint32_t kWidest = 16;

/// Whether other threads may see or do something meanwhile: a call that is not known to leave
/// memory alone, an atomic operation, a fence, a volatile access.
bool may_synchronize(const llvm::Instruction& instruction);

}  // namespace fathom::instrument
