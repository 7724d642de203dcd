#include "attribution/attribution.h"

#include <algorithm>

#include "attribution/blame.h"
#include "attribution/contexts.h"
#include "attribution/functions.h"
#include "attribution/sources.h"
#include "attribution/topdown_mapping.h"
#include "base/text.h"

namespace fathom {
namespace {

SourceLocation location(const LineTables& lines, uint32_t file, uint32_t line) {
  if (file >= lines.files.size() || line == 0) return {};
  return {lines.files[file], line};
}

std::vector<InlineFrame> inline_frames(const LineTables& lines, int32_t context) {
  std::vector<InlineFrame> frames;
  // Bounded, should a damaged table form a circle.
  while (context >= 0 && size_t(context) < lines.inlines.size() && frames.size() < 256) {
    const InlinedCall& call = lines.inlines[size_t(context)];
    frames.insert(frames.begin(), {demangle(call.function), location(lines, call.file, call.line)});
    context = call.parent;
  }
  return frames;
}

/// A loop starts at the line of its condition: the earliest of those of its header and of the
/// branches back to it. It ends at the last line of the same file.
void set_loop_lines(const AnalyzedFunction& function, const Loop& loop, const Profile& profile,
                    LoopFacts& facts) {
  auto at = [&](uint32_t instruction) -> const SourceLocation& {
    return profile.instructions[function.first_instruction + instruction].at;
  };
  facts.at = at(function.graph.blocks[loop.header].first);
  for (uint32_t latch : loop.latches) {
    const SourceLocation& branch = at(function.graph.blocks[latch].last);
    if (branch.line &&
        (facts.at.line == 0 || branch.file != facts.at.file || branch.line < facts.at.line))
      facts.at = branch;
  }
  for (uint32_t block : loop.blocks)
    for (uint32_t i = function.graph.blocks[block].first; i <= function.graph.blocks[block].last;
         ++i)
      if (at(i).file == facts.at.file) facts.last_line = std::max(facts.last_line, at(i).line);
}

void add_loops(const AnalyzedFunction& function, uint32_t index, Profile& profile) {
  for (const Loop& loop : function.loops.loops) {
    LoopFacts facts;
    facts.function = index;
    facts.parent = loop.parent == kNoBlock ? kNoId : function.first_loop + loop.parent;
    facts.depth = loop.depth;
    facts.first_offset =
        function.instructions[function.graph.blocks[loop.blocks.front()].first].offset;
    facts.last_offset =
        function.instructions[function.graph.blocks[loop.blocks.back()].last].offset;
    set_loop_lines(function, loop, profile, facts);
    profile.loops.push_back(facts);
  }
}

void add_function(AnalyzedFunction& function, uint32_t index, Profile& profile) {
  GpuFunctionFacts facts;
  facts.mangled = function.mangled;
  facts.name = demangle(function.mangled);
  facts.binary = function.binary;
  facts.arch = function.image->arch;
  facts.size = function.symbol->size;
  facts.is_kernel = function.symbol->is_kernel;
  facts.note = function.note;
  profile.functions.push_back(std::move(facts));
  function.first_instruction = static_cast<uint32_t>(profile.instructions.size());
  function.first_loop = static_cast<uint32_t>(profile.loops.size());
  const LineTables& lines = function.image->lines;
  for (uint32_t i = 0; i < function.instructions.size(); ++i) {
    InstructionFacts instruction;
    instruction.function = index;
    instruction.offset = function.instructions[i].offset;
    instruction.text = function.instructions[i].text;
    if (const LineRow* row =
            lines.find(function.symbol->section, function.symbol->offset + instruction.offset)) {
      instruction.at = location(lines, row->file, row->line);
      instruction.inlined = inline_frames(lines, row->context);
    }
    uint32_t loop = function.loops.innermost[function.graph.block_of[i]];
    if (loop != kNoBlock) instruction.loop = function.first_loop + loop;
    instruction.samples = function.samples[i];
    instruction.topdown = function.topdown[i];
    profile.instructions.push_back(std::move(instruction));
  }
  add_loops(function, index, profile);
  for (const Blame& edge : function.blame)
    profile.blame.push_back({function.first_instruction + edge.consumer,
                             function.first_instruction + edge.producer, edge.reason, edge.kind,
                             edge.stalls, edge.latency, edge.distance, edge.through});
}

void set_sampling(const Measurement& measurement, const SampledFunctions& sampled,
                  Profile& profile) {
  RunFacts& run = profile.run;
  run.processes = static_cast<uint32_t>(measurement.processes.size());
  run.samples_total = run.samples_dropped = run.samples_non_user = 0;
  for (const Process& process : measurement.processes) {
    run.sampling_period_log2 = std::max(run.sampling_period_log2, process.sampling.period_log2);
    run.sampling_serialized = run.sampling_serialized || process.sampling.serialized;
    run.samples_total += process.sampling.total;
    run.samples_dropped += process.sampling.dropped;
    run.samples_non_user += process.sampling.non_user;
    // That the buffer ran full was told by the collector.
    if (process.sampling.dropped)
      profile.warnings.push_back(
          {WarningSeverity::warning,
           human_count(process.sampling.dropped) + " samples were dropped by the hardware",
           process.folder, "record with a longer period: pc@k with a larger k"});
  }
  run.samples_attributed = sampled.attributed;
  run.samples_unattributed = sampled.unattributed;
}

void warn_about_missing_lines(Profile& profile) {
  bool any = false, lines = false;
  for (const InstructionFacts& instruction : profile.instructions) {
    any = any || instruction.samples.total() > 0;
    lines = lines || instruction.at.line > 0;
  }
  if (any && !lines)
    profile.warnings.push_back(
        {WarningSeverity::warning,
         "the GPU code has no line tables: results name instructions only", "",
         "compile with nvcc -lineinfo (not -G, which turns optimization off)"});
}

}  // namespace

StallCounts AnalyzedFunction::total() const {
  StallCounts sum;
  for (const StallCounts& counts : samples) sum += counts;
  return sum;
}

Result<Attribution> attribute(const Measurement& measurement, const AttributionOptions& options) {
  if (measurement.processes.empty())
    return Error{ErrorKind::cannot_answer, "the measurement holds no process that used a GPU",
                 measurement.path,
                 "check that the program ran and that it is the one that launches kernels"};
  Attribution attribution;
  Profile& profile = attribution.profile;
  profile.run = measurement.run;
  profile.warnings = measurement.warnings;
  attribution.timeline = timeline_of(measurement);
  SampledFunctions sampled = analyze_functions(measurement, options.decoder, profile.warnings);
  attribution.images = std::move(sampled.images);
  attribution.functions = std::move(sampled.functions);
  for (uint32_t f = 0; f < attribution.functions.size(); ++f) {
    AnalyzedFunction& function = attribution.functions[f];
    blame_stalls(function);
    TopDownMapper mapper(function);
    for (uint32_t i = 0; i < function.instructions.size(); ++i)
      function.topdown.push_back(mapper.map(i, function.samples[i]));
    add_function(function, f, profile);
  }
  set_sampling(measurement, sampled, profile);
  attribute_contexts(measurement, sampled.samples, attribution);
  warn_about_missing_lines(profile);
  quote_sources(profile, options.source_roots);
  return attribution;
}

}  // namespace fathom
