#include "database/validate.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace fathom {
namespace {

bool in_range(uint32_t id, size_t count) {
  return id < count;
}
bool in_range_or_none(uint32_t id, size_t count) {
  return id == kNoId || id < count;
}

/// "what N: why"
std::string at(const char* what, size_t index, const char* why) {
  return format("%s %zu: %s", what, index, why);
}

/// The index of a node from which following parents never ends; `count` if there is none.
template <class Node>
size_t find_cycle(const std::vector<Node>& nodes) {
  enum : uint8_t { unseen, on_path, done };
  std::vector<uint8_t> state(nodes.size(), unseen);
  std::vector<uint32_t> path;
  for (uint32_t start = 0; start < nodes.size(); ++start) {
    path.clear();
    uint32_t node = start;
    for (; node != kNoId && state[node] == unseen; node = nodes[node].parent) {
      state[node] = on_path;
      path.push_back(node);
    }
    if (node != kNoId && state[node] == on_path) return node;
    for (uint32_t seen : path) state[seen] = done;
  }
  return nodes.size();
}

std::string check_metrics(const Profile& profile) {
  for (size_t i = 0; i < profile.metrics.size(); ++i)
    if (!in_range_or_none(profile.metrics[i].parent, profile.metrics.size()))
      return at("metric", i, "its parent does not exist");
  size_t cycle = find_cycle(profile.metrics);
  return cycle < profile.metrics.size() ? at("metric", cycle, "it is its own ancestor") : "";
}

std::string check_contexts(const Profile& profile) {
  for (size_t i = 0; i < profile.contexts.size(); ++i) {
    const Context& context = profile.contexts[i];
    if (i == 0 && context.parent != kNoId) return at("context", i, "the root has a parent");
    if (i > 0 && context.parent >= i) return at("context", i, "its parent does not come before it");
    if (!in_range_or_none(context.function, profile.functions.size()))
      return at("context", i, "its function does not exist");
  }
  const MetricValue* last = nullptr;
  for (size_t i = 0; i < profile.values.size(); ++i) {
    const MetricValue& value = profile.values[i];
    if (!in_range(value.context, profile.contexts.size()) ||
        !in_range(value.metric, profile.metrics.size()))
      return at("metric value", i, "its context or its metric does not exist");
    if (last && std::tie(last->context, last->metric) >= std::tie(value.context, value.metric))
      return at("metric value", i, "the values are not sorted by context and metric");
    last = &value;
  }
  return "";
}

bool consistent(const StallCounts& counts) {
  for (size_t i = 0; i < kStallReasonCount; ++i)
    if (counts.latency[i] > counts.all[i]) return false;
  return true;
}

std::string check_kernels(const Profile& profile) {
  for (size_t i = 0; i < profile.kernels.size(); ++i) {
    const KernelSummary& kernel = profile.kernels[i];
    if (!in_range_or_none(kernel.device, profile.devices.size()))
      return at("kernel", i, "its device does not exist");
    if (!in_range_or_none(kernel.function, profile.functions.size()))
      return at("kernel", i, "its function does not exist");
    if (!consistent(kernel.samples)) return at("kernel", i, "more exposed samples than samples");
    for (uint32_t context : kernel.launch_contexts)
      if (!in_range(context, profile.contexts.size()))
        return at("kernel", i, "a context that launched it does not exist");
  }
  return "";
}

std::string check_loops(const Profile& profile) {
  for (size_t i = 0; i < profile.loops.size(); ++i) {
    const LoopFacts& loop = profile.loops[i];
    if (!in_range(loop.function, profile.functions.size()))
      return at("loop", i, "its function does not exist");
    if (!in_range_or_none(loop.parent, profile.loops.size()))
      return at("loop", i, "its parent does not exist");
    if (loop.parent != kNoId && profile.loops[loop.parent].function != loop.function)
      return at("loop", i, "its parent is in another function");
  }
  size_t cycle = find_cycle(profile.loops);
  return cycle < profile.loops.size() ? at("loop", cycle, "it is nested in itself") : "";
}

std::string check_instructions(const Profile& profile) {
  const InstructionFacts* last = nullptr;
  for (size_t i = 0; i < profile.instructions.size(); ++i) {
    const InstructionFacts& instruction = profile.instructions[i];
    if (!in_range(instruction.function, profile.functions.size()))
      return at("instruction", i, "its function does not exist");
    if (!in_range_or_none(instruction.loop, profile.loops.size()))
      return at("instruction", i, "its loop does not exist");
    if (!consistent(instruction.samples))
      return at("instruction", i, "more exposed samples than samples");
    if (last && std::tie(last->function, last->offset) >=
                    std::tie(instruction.function, instruction.offset))
      return at("instruction", i, "the instructions are not sorted by function and offset");
    last = &instruction;
  }
  for (size_t i = 0; i < profile.blame.size(); ++i) {
    const BlameEdge& edge = profile.blame[i];
    if (!in_range(edge.consumer, profile.instructions.size()) ||
        !in_range_or_none(edge.producer, profile.instructions.size()))
      return at("blame", i, "its instruction does not exist");
  }
  return "";
}

std::string check_numa(const Profile& profile) {
  for (const NumaFacts& numa : profile.numa)
    for (size_t i = 0; i < numa.objects.size(); ++i) {
      const NumaObjectFacts& object = numa.objects[i];
      bool fits = object.remote <= object.reads || object.remote - object.reads <= object.writes;
      if (!fits) return at("object", i, "more remote accesses than accesses");
    }
  return "";
}

std::string check_sources(const Profile& profile) {
  for (size_t i = 1; i < profile.sources.size(); ++i)
    if (profile.sources[i - 1].file >= profile.sources[i].file)
      return at("source", i, "the sources are not sorted by file");
  return "";
}

}  // namespace

std::string find_contradiction(const Profile& profile) {
  for (auto check : {check_metrics, check_contexts, check_kernels, check_loops, check_instructions,
                     check_numa, check_sources}) {
    std::string contradiction = check(profile);
    if (!contradiction.empty()) return contradiction;
  }
  return "";
}

}  // namespace fathom
