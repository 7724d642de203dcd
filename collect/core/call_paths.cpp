#include "core/call_paths.h"

namespace fathom::collect {
namespace {

uint64_t node_hash(uint32_t parent, uintptr_t address, uint32_t mark) {
  uint64_t hash = (uint64_t(parent) + 1) * 0x9e3779b97f4a7c15u;
  hash ^= (hash >> 32) + address + (uint64_t(mark) << 63);
  hash *= 0xd6e8feb86659fd93u;
  hash ^= hash >> 32;
  hash *= 0xd6e8feb86659fd93u;
  return hash ^ hash >> 32;
}

}  // namespace

uint32_t CallPaths::intern(const CallStack& stack, LoadModules& modules, record::ChunkWriter& out) {
  if (stack.size == 0) return record::kNone;
  const uint32_t known = stacks_.find(stack.hash);
  if (known != NodeMap::kAbsent) return known;

  uint32_t parent = record::kNone;
  uint32_t mark = stack.complete ? 0 : kCallersMissing;
  for (size_t i = stack.size; i-- > 0; mark = 0) {
    const uint64_t hash = node_hash(parent, stack.frames[i], mark);
    uint32_t node = nodes_.find(hash);
    if (node == NodeMap::kAbsent) {
      const auto place = modules.find(stack.frames[i]);
      node = next_++;
      out.add(record::ChunkType::call_path_node,
              record::CallPathNode{node, parent, place.module, mark, place.address});
      nodes_.insert(hash, node);
    }
    parent = node;
  }
  stacks_.insert(stack.hash, parent);
  return parent;
}

void CallPaths::forget() {
  stacks_.clear();
  nodes_.clear();
}

}  // namespace fathom::collect
