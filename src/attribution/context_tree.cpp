#include "attribution/context_tree.h"

#include "base/text.h"

namespace fathom {

std::string file_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

ContextTree::ContextTree(std::vector<Context>& contexts) : contexts_(contexts) {
  if (contexts_.empty())
    contexts_.push_back({kNoId, ContextKind::root, "<program root>", "", {}, 0, kNoId});
}

uint32_t ContextTree::child(Context context) {
  Key key{context.parent, context.kind,    context.name,    context.module,
          context.at,     context.address, context.function};
  auto [entry, is_new] = index_.emplace(std::move(key), static_cast<uint32_t>(contexts_.size()));
  if (is_new) contexts_.push_back(std::move(context));
  return entry->second;
}

uint32_t CpuContexts::of(uint32_t call_path) {
  if (call_path == kNoId) return process_context_;
  // Outermost first, without recursion: a path may be as long as a stack is deep.
  std::vector<uint32_t> pending;
  uint32_t at = call_path;
  while (at != kNoId && !by_call_path_.count(at)) {
    pending.push_back(at);
    at = process_.call_paths[at].parent;
  }
  uint32_t context = at == kNoId ? process_context_ : by_call_path_[at];
  while (!pending.empty()) {
    context = add_frame(context, process_.call_paths[pending.back()]);
    by_call_path_[pending.back()] = context;
    pending.pop_back();
  }
  return context;
}

uint32_t CpuContexts::of_call(uint32_t correlation, bool& known) {
  auto call = process_.calls.find(correlation);
  known = call != process_.calls.end();
  return known ? of(call->second.call_path) : process_context_;
}

uint32_t CpuContexts::add_frame(uint32_t parent, const CpuFrame& frame) {
  Context context;
  context.parent = parent;
  context.kind = ContextKind::cpu_function;
  if (frame.module == kNoId) {
    context.name =
        format("<unknown code at 0x%llx>", static_cast<unsigned long long>(frame.address));
    context.address = frame.address;
    return tree_.child(std::move(context));
  }
  const std::string& path = process_.modules[frame.module].path;
  context.module = file_name(path);
  auto symbols = measurement_.symbols.find({path, frame.address});
  if (symbols == measurement_.symbols.end() || symbols->second.empty()) {
    context.name =
        format("%s+0x%llx", context.module.c_str(), static_cast<unsigned long long>(frame.address));
    context.address = frame.address;
    return tree_.child(std::move(context));
  }
  for (const CpuSymbol& symbol : symbols->second) {
    context.name = demangle(symbol.function);
    context.at = symbol.at;
    context.parent = tree_.child(context);
    context.kind = ContextKind::cpu_inlined;
  }
  return context.parent;
}

}  // namespace fathom
