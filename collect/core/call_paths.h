#pragma once

#include <cstdint>

#include "core/load_modules.h"
#include "core/node_map.h"
#include "core/unwinder.h"
#include "record/writer.h"

namespace fathom::collect {

/// CallPathNode::reserved of an outermost frame whose callers could not be walked: the depth limit
/// was reached or code without unwind information was met.
inline constexpr uint32_t kCallersMissing = 1;

/// The calling contexts of one thread: each distinct one is written once, as a path in a tree.
class CallPaths {
 public:
  /// The id of a stack's innermost frame; kNone for an empty stack. New nodes go to `out`.
  uint32_t intern(const CallStack& stack, LoadModules& modules, record::ChunkWriter& out);
  /// Addresses mean something else from now on.
  void forget();

 private:
  NodeMap stacks_;  ///< a whole stack's hash -> innermost node
  NodeMap nodes_;   ///< (parent, address) -> node
  uint32_t next_ = 0;
};

}  // namespace fathom::collect
