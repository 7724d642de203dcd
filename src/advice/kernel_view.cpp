#include "advice/kernel_view.h"

#include <algorithm>

#include "advice/access_costs.h"
#include "advice/what_if.h"
#include "attribution/chains.h"
#include "base/text.h"

namespace fathom {

KernelView::KernelView(const Attribution& attribution, uint32_t kernel)
    : attribution_(attribution), kernel_(attribution.profile.kernels[kernel]) {
  for (const FunctionShare& share : attribution.kernel_functions[kernel]) {
    const AnalyzedFunction& function = attribution.functions[share.function];
    parts_.push_back({&function, share.fraction});
    StallCounts counts = function.total();
    total_ += share.fraction * double(counts.total());
    active_ += share.fraction * double(counts.active());
    issued_ += share.fraction * double(counts.issued());
  }
}

const std::vector<AccessCost>& KernelView::access_costs() const {
  if (!access_costs_)
    access_costs_ = std::make_shared<const std::vector<AccessCost>>(find_access_costs(*this));
  return *access_costs_;
}

const WhatIf& KernelView::model() const {
  if (!model_) model_ = std::make_shared<const WhatIf>(*this);
  return *model_;
}

const DeviceFacts* KernelView::device() const {
  return kernel_.device == kNoId ? nullptr : &attribution_.profile.devices[kernel_.device];
}

// On the host nvcc makes a function of the kernel's own name, and files named after the source.
bool is_launch_glue(const Context& context, const std::string& kernel) {
  const std::string& file = context.at.file;
  return short_name(context.name) == short_name(kernel) || starts_with(context.name, "__") ||
         starts_with(context.name, "cuda") || ends_with(file, ".stub.c") ||
         file.find("/include/crt/") != std::string::npos ||
         file.find("cuda_runtime") != std::string::npos;
}

SourceLocation KernelView::launch_site() const {
  const auto& contexts = attribution_.profile.contexts;
  for (uint32_t launch : kernel_.launch_contexts)
    for (uint32_t c = contexts[launch].parent; c != kNoId; c = contexts[c].parent)
      if (!contexts[c].at.file.empty() && contexts[c].at.line &&
          !is_launch_glue(contexts[c], kernel_.name))
        return contexts[c].at;
  return {};
}

SourceLocation KernelView::first_line() const {
  // The smallest line of the kernel's own file, which is the one with most instructions that are
  // not inlined.
  std::map<std::string, std::pair<size_t, uint32_t>> files;  // instructions, first line
  const FunctionPart& own = parts_.front();
  for (uint32_t i = 0; i < own.function->instructions.size(); ++i) {
    const InstructionFacts& instruction = facts(own, i);
    const SourceLocation& at =
        instruction.inlined.empty() ? instruction.at : instruction.inlined.front().call;
    if (at.line == 0) continue;
    auto [entry, is_new] = files.try_emplace(at.file, 0, at.line);
    ++entry->second.first;
    entry->second.second = std::min(entry->second.second, at.line);
  }
  SourceLocation best;
  size_t most = 0;
  for (const auto& [file, entry] : files)
    if (entry.first > most) most = entry.first, best = {file, entry.second};
  return best;
}

const std::vector<LaneAccess>& KernelView::accesses(const FunctionPart& part) const {
  auto [known, is_new] = accesses_.try_emplace(part.function);
  if (is_new) {
    std::array<uint32_t, 3> block{};
    if (!kernel_.groups.empty()) block = main_group().shape.block;
    known->second = lane_accesses(*part.function, block);
  }
  return known->second;
}

std::string KernelView::quote(const SourceLocation& at) const {
  for (const SourceText& source : attribution_.profile.sources) {
    if (source.file != at.file) continue;
    auto line = source.lines.find(at.line);
    return line == source.lines.end() ? "" : std::string(trim(line->second));
  }
  return "";
}

namespace {

/// Without the target of a jump: an offset says nothing to a reader.
std::string text_of(const Instruction& instruction) {
  if (instruction.flow == Flow::next || instruction.flow == Flow::exit) return instruction.text;
  return instruction.text.substr(0, instruction.text.find(instruction.opcode)) + instruction.opcode;
}

}  // namespace

Hotspots::Spot& Hotspots::spot(const KernelView& view, const FunctionPart& part, uint32_t cause,
                               uint32_t wait) {
  const InstructionFacts& from = view.facts(part, cause);
  const InstructionFacts& to = view.facts(part, wait);
  Spot& spot = spots_[{from.at, to.at}];
  spot.cause = from.at;
  spot.wait = to.at;
  return spot;
}

void Hotspots::add(const KernelView& view, const FunctionPart& part, const Blame& edge) {
  double stalls = part.fraction * edge.stalls;
  if (stalls <= 0) return;
  Spot& at = spot(view, part, edge.producer, edge.consumer);
  at.stalls += stalls;
  at.latency += part.fraction * edge.latency;
  stalls_ += stalls;
  latency_ += part.fraction * edge.latency;
  if (stalls <= at.heaviest) return;
  at.heaviest = stalls;
  at.distance = edge.distance;
  at.cause_text = text_of(part.function->instructions[edge.producer]);
  at.wait_text = text_of(part.function->instructions[edge.consumer]);
  at.chain.clear();
  for (uint32_t behind : chain_behind(*part.function, edge.producer, edge.stalls))
    at.chain.push_back({text_of(part.function->instructions[behind]), view.facts(part, behind).at});
}

void Hotspots::add_own(const KernelView& view, const FunctionPart& part, uint32_t instruction,
                       double samples) {
  Blame edge;
  edge.producer = edge.consumer = instruction;
  edge.stalls = samples;
  add(view, part, edge);
}

std::vector<Hotspots::Spot> Hotspots::sorted() const {
  std::vector<Spot> result;
  for (const auto& [place, spot] : spots_) result.push_back(spot);
  std::stable_sort(result.begin(), result.end(),
                   [](const Spot& a, const Spot& b) { return a.stalls > b.stalls; });
  return result;
}

SourceLocation Hotspots::hottest_cause() const {
  std::map<SourceLocation, double> by_cause;
  for (const auto& [place, spot] : spots_) by_cause[spot.cause] += spot.stalls;
  SourceLocation best;
  double most = -1;
  for (const auto& [at, stalls] : by_cause) {
    if (at.line == 0 || stalls <= most) continue;
    best = at;
    most = stalls;
  }
  return best;
}

}  // namespace fathom
