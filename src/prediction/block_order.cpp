#include "prediction/block_order.h"

#include <algorithm>
#include <map>

namespace fathom {
namespace {

/// Longer blocks are ordered in pieces.
constexpr uint32_t kLongest = 512;

struct Node {
  std::vector<uint32_t> after;  ///< that must come later
  uint32_t waits = 0;           ///< for so many others
  double length = 0;            ///< of the longest chain from here
  double ready = 0;
};

double latency_of(const Step& step) {
  if (step.op == Op::load && step.space == MemorySpace::global) return 200;
  return std::max(1.0f, step.timing.latency);
}

bool writes_memory(const Step& step) {
  return step.op == Op::store || step.op == Op::atomic || step.op == Op::asynchronous_copy;
}
bool is_fence(const Step& step) {
  return step.op == Op::barrier || step.op == Op::call || step.flow != Flow::next ||
         (step.op == Op::nothing && step.op_class == OpClass::control);
}

class Orderer {
 public:
  Orderer(Program& program, uint32_t first, uint32_t last)
      : program_(program), first_(first), nodes_(last - first + 1) {}

  void order() {
    connect();
    for (size_t i = nodes_.size(); i-- > 0;) {
      for (uint32_t next : nodes_[i].after)
        nodes_[i].length = std::max(nodes_[i].length, nodes_[next].length);
      nodes_[i].length += latency_of(step(i));
    }
    apply(choose());
  }

 private:
  const Step& step(size_t i) const { return program_.steps[first_ + i]; }

  void edge(size_t from, size_t to) {
    if (from == to) return;
    nodes_[from].after.push_back(static_cast<uint32_t>(to));
    ++nodes_[to].waits;
  }

  void connect() {
    std::map<int16_t, size_t> writer;
    std::map<int16_t, std::vector<size_t>> readers;
    std::vector<size_t> loads, stores;
    size_t fence = nodes_.size();
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const Step& now = step(i);
      for (int16_t slot : now.reads) {
        const auto found = writer.find(slot);
        if (found != writer.end()) edge(found->second, i);
        readers[slot].push_back(i);
      }
      for (int16_t slot : now.writes) {
        const auto found = writer.find(slot);
        if (found != writer.end()) edge(found->second, i);
        for (size_t reader : readers[slot]) edge(reader, i);
        readers[slot].clear();
        writer[slot] = i;
      }
      if (fence != nodes_.size()) edge(fence, i);
      if (is_fence(now)) {
        for (size_t before = fence == nodes_.size() ? 0 : fence + 1; before < i; ++before)
          edge(before, i);
        fence = i;
        loads.clear();
        stores.clear();
      } else if (writes_memory(now)) {
        for (size_t each : loads) edge(each, i);
        for (size_t each : stores) edge(each, i);
        stores.push_back(i);
      } else if (now.op == Op::load) {
        for (size_t each : stores)
          if (step(each).space == now.space) edge(each, i);
        loads.push_back(i);
      }
    }
  }

  std::vector<uint32_t> choose() {
    std::vector<uint32_t> open, order;
    for (uint32_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].waits == 0) open.push_back(i);
    double now = 0;
    while (!open.empty()) {
      auto best = open.begin();
      for (auto each = open.begin(); each != open.end(); ++each) {
        const double own = std::max(now, nodes_[*each].ready),
                     least = std::max(now, nodes_[*best].ready);
        if (own < least ||
            (own == least && (nodes_[*each].length > nodes_[*best].length ||
                              (nodes_[*each].length == nodes_[*best].length && *each < *best))))
          best = each;
      }
      const uint32_t chosen = *best;
      open.erase(best);
      order.push_back(chosen);
      now = std::max(now, nodes_[chosen].ready) + std::max(0.1f, step(chosen).timing.issues);
      for (uint32_t next : nodes_[chosen].after) {
        nodes_[next].ready = std::max(nodes_[next].ready, now + latency_of(step(chosen)));
        if (--nodes_[next].waits == 0) open.push_back(next);
      }
    }
    return order;
  }

  void apply(const std::vector<uint32_t>& order) {
    std::vector<Step> steps;
    std::vector<Instruction> instructions;
    std::vector<std::vector<SourceLocation>> locations;
    for (uint32_t each : order) {
      steps.push_back(std::move(program_.steps[first_ + each]));
      instructions.push_back(std::move(program_.instructions[first_ + each]));
      locations.push_back(std::move(program_.locations[first_ + each]));
    }
    for (size_t i = 0; i < order.size(); ++i) {
      program_.steps[first_ + i] = std::move(steps[i]);
      program_.instructions[first_ + i] = std::move(instructions[i]);
      program_.instructions[first_ + i].offset = first_ + i;
      program_.locations[first_ + i] = std::move(locations[i]);
    }
  }

  Program& program_;
  uint32_t first_;
  std::vector<Node> nodes_;
};

}  // namespace

void order_block(Program& program, uint32_t first, uint32_t last) {
  for (uint32_t at = first; at <= last; at += kLongest)
    Orderer(program, at, std::min(last, at + kLongest - 1)).order();
}

}  // namespace fathom
