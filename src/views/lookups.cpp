#include "views/lookups.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "base/text.h"
#include "views/layout.h"

namespace fathom {

uint32_t MetricLookup::find(std::string_view name) const {
  for (uint32_t i = 0; i < profile_.metrics.size(); ++i)
    if (profile_.metrics[i].name == name) return i;
  return kNoId;
}
const MetricValue* MetricLookup::value(uint32_t context, uint32_t metric) const {
  auto found = std::lower_bound(
      profile_.values.begin(), profile_.values.end(), std::make_tuple(context, metric),
      [](const MetricValue& v, const std::tuple<uint32_t, uint32_t>& key) {
        return std::make_tuple(v.context, v.metric) < key;
      });
  bool match =
      found != profile_.values.end() && found->context == context && found->metric == metric;
  return match ? &*found : nullptr;
}
double MetricLookup::exclusive(uint32_t context, uint32_t metric) const {
  const MetricValue* v = value(context, metric);
  return v ? v->exclusive : 0;
}
double MetricLookup::inclusive(uint32_t context, uint32_t metric) const {
  const MetricValue* v = value(context, metric);
  return v ? v->inclusive : 0;
}
double MetricLookup::total(std::string_view name) const {
  return inclusive(0, find(name));
}

bool is_about_gpu(const Profile& profile) {
  const std::string& events = profile.run.events;
  bool asked = events.find("gpu=") != std::string::npos;
  bool only_numa = !profile.numa.empty() || starts_with(events, "numa");
  return !profile.devices.empty() || !profile.kernels.empty() || (asked && profile.numa.empty()) ||
         !only_numa;
}

std::string show_path(const Profile& profile, const std::string& file) {
  const std::string& folder = profile.run.working_directory;
  bool inside = folder.size() > 1 && starts_with(file, folder + "/");
  return printable(inside ? std::string_view(file).substr(folder.size() + 1) : file);
}

namespace {

std::string_view base_name(std::string_view file) {
  size_t slash = file.rfind('/');
  return slash == std::string_view::npos ? file : file.substr(slash + 1);
}

/// Calls f with each file that the profile names; most of them many times.
template <class Function>
void each_file(const Profile& profile, Function f) {
  for (const Context& context : profile.contexts) f(context.at.file);
  for (const LoopFacts& loop : profile.loops) f(loop.at.file);
  for (const SourceText& source : profile.sources) f(source.file);
  for (const InstructionFacts& instruction : profile.instructions) {
    f(instruction.at.file);
    for (const InlineFrame& frame : instruction.inlined) f(frame.call.file);
  }
  for (const NumaFacts& numa : profile.numa)
    for (const NumaObjectFacts& object : numa.objects) f(object.at.file);
  for (const Finding& finding : profile.findings) {
    f(finding.location.file);
    for (const RelatedLocation& related : finding.related) f(related.at.file);
  }
}

std::string with_line(std::string path, uint32_t line) {
  return line ? path + format(":%u", line) : path;
}

}  // namespace

Places::Places(const Profile& profile) : profile_(profile) {
  std::map<std::string_view, std::set<std::string_view>> same_name;
  each_file(profile, [&](const std::string& file) { same_name[base_name(file)].insert(file); });
  for (const auto& [name, files] : same_name)
    for (std::string_view file : files)
      short_names_.emplace(
          file, files.size() == 1 ? printable(name) : show_path(profile, std::string(file)));
}

std::string Places::show(const SourceLocation& at) const {
  if (at.file.empty()) return "";
  auto known = short_names_.find(at.file);
  return with_line(known == short_names_.end() ? show_path(profile_, at.file) : known->second,
                   at.line);
}
std::string Places::show_full(const SourceLocation& at) const {
  return at.file.empty() ? "" : with_line(show_path(profile_, at.file), at.line);
}

std::string show_function(const std::string& demangled) {
  std::string name = short_name(demangled);
  auto count = [&](char c) { return std::count(name.begin(), name.end(), c); };
  bool cut_apart =
      count('(') != count(')') || count('<') != count('>') || ends_with(name, "operator");
  return printable(cut_apart ? demangled : name);
}

const SourceText* find_source(const Profile& profile, const std::string& file) {
  auto found =
      std::lower_bound(profile.sources.begin(), profile.sources.end(), file,
                       [](const SourceText& s, const std::string& f) { return s.file < f; });
  return found != profile.sources.end() && found->file == file ? &*found : nullptr;
}

std::string source_text(const Profile& profile, const SourceLocation& at) {
  const SourceText* source = find_source(profile, at.file);
  if (!source) return "";
  auto line = source->lines.find(at.line);
  return line == source->lines.end() ? "" : printable(trim(line->second));
}

std::vector<const KernelSummary*> find_kernels(const Profile& profile, const std::string& part) {
  std::vector<const KernelSummary*> found;
  for (const KernelSummary& kernel : profile.kernels)
    if (kernel.name.find(part) != std::string::npos) found.push_back(&kernel);
  return found;
}

Error no_such_kernel(const Profile& profile, const std::string& name) {
  std::string hint = "this run launched no kernel";
  if (!profile.kernels.empty()) hint = "kernels of this run:";
  for (size_t i = 0; i < profile.kernels.size() && i < 5; ++i)
    hint += (i ? ", " : " ") + show_function(profile.kernels[i].name);
  if (profile.kernels.size() > 5) hint += format(" and %zu more", profile.kernels.size() - 5);
  return {ErrorKind::cannot_answer, "no kernel's name contains \"" + printable(name) + "\"", "",
          hint};
}

namespace {

struct PlacePattern {
  std::string file;
  uint32_t line = 0;

  /// The whole path, or its end from a '/' on.
  bool matches(const std::string& path) const {
    return path == file || ends_with(path, "/" + file);
  }
};

Result<PlacePattern> parse_place(const std::string& text, const char* option) {
  size_t colon = text.rfind(':');
  std::string digits = colon == std::string::npos ? "" : text.substr(colon + 1);
  bool is_number = !digits.empty() && digits.size() < 10 &&
                   digits.find_first_not_of("0123456789") == std::string::npos;
  if (colon == 0 || !is_number)
    return Error{ErrorKind::usage,
                 format("%s wants FILE:LINE, not \"%s\"", option, printable(text).c_str()), "",
                 "for example kernels.cu:18"};
  return PlacePattern{text.substr(0, colon), static_cast<uint32_t>(std::stoul(digits))};
}

bool is_within(const Profile& profile, uint32_t loop, uint32_t outer) {
  for (; loop != kNoId; loop = profile.loops[loop].parent)
    if (loop == outer) return true;
  return false;
}

/// Loops that start in the line; without one, the innermost loops around it.
std::set<uint32_t> find_loops(const Profile& profile, const PlacePattern& place) {
  std::set<uint32_t> starting, around;
  uint32_t deepest = 0;
  for (uint32_t i = 0; i < profile.loops.size(); ++i) {
    const LoopFacts& loop = profile.loops[i];
    if (!place.matches(loop.at.file)) continue;
    if (loop.at.line == place.line) starting.insert(i);
    if (place.line < loop.at.line || place.line > loop.last_line) continue;
    if (loop.depth > deepest) around.clear();
    deepest = std::max(deepest, loop.depth);
    if (loop.depth == deepest) around.insert(i);
  }
  return starting.empty() ? around : starting;
}

/// The functions of a kernel: its own and the device functions below it in the context tree.
std::set<uint32_t> functions_of(const Profile& profile,
                                const std::vector<const KernelSummary*>& kernels) {
  std::set<uint32_t> functions, launches;
  for (const KernelSummary* kernel : kernels) {
    if (kernel->function == kNoId) continue;
    functions.insert(kernel->function);
    launches.insert(kernel->launch_contexts.begin(), kernel->launch_contexts.end());
  }
  std::set<uint32_t> own = functions;
  std::vector<bool> inside(profile.contexts.size());
  for (uint32_t i = 0; i < profile.contexts.size(); ++i) {
    const Context& context = profile.contexts[i];
    if (context.parent == kNoId) continue;
    bool is_top = launches.count(context.parent) && own.count(context.function);
    inside[i] = inside[context.parent] || is_top;
    if (inside[i] && context.function != kNoId) functions.insert(context.function);
  }
  return functions;
}

bool on_line(const InstructionFacts& instruction, const PlacePattern& place) {
  auto is_it = [&](const SourceLocation& at) {
    return at.line == place.line && place.matches(at.file);
  };
  return is_it(instruction.at) ||
         std::any_of(instruction.inlined.begin(), instruction.inlined.end(),
                     [&](const InlineFrame& frame) { return is_it(frame.call); });
}

template <class Predicate>
void keep(const Profile& profile, std::vector<uint32_t>& instructions, Predicate wanted) {
  std::erase_if(instructions, [&](uint32_t i) { return !wanted(profile.instructions[i]); });
}

Error no_such_place(const char* what, const std::string& place) {
  return {ErrorKind::cannot_answer, format("no sampled %s at %s", what, printable(place).c_str()),
          "",
          "`fathom report FILE` lists the hottest lines and loops; build with -lineinfo if it "
          "names none"};
}

Result<Done> narrow_to_loop(const Profile& profile, const std::string& loop, Scope& scope) {
  Result<PlacePattern> place = parse_place(loop, "--loop");
  if (!place) return place.error();
  std::set<uint32_t> loops = find_loops(profile, *place);
  keep(profile, scope.instructions, [&](const InstructionFacts& i) {
    return std::any_of(loops.begin(), loops.end(),
                       [&](uint32_t outer) { return is_within(profile, i.loop, outer); });
  });
  if (scope.instructions.empty()) return no_such_place("loop", loop);
  const LoopFacts& first = profile.loops[*loops.begin()];
  scope.title = "the loop at " + Places(profile).show(first.at);
  return Done{};
}

Result<Done> narrow_to_line(const Profile& profile, const std::string& line, Scope& scope) {
  Result<PlacePattern> place = parse_place(line, "--line");
  if (!place) return place.error();
  keep(profile, scope.instructions, [&](const InstructionFacts& i) { return on_line(i, *place); });
  if (scope.instructions.empty()) return no_such_place("instruction", line);
  scope.title = "line " + printable(line) + " and what is inlined there";
  return Done{};
}

/// Everything, or some kernels.
Result<Scope> kernel_scope(const Profile& profile, const std::string& kernel) {
  Scope scope;
  scope.title = "the whole program";
  for (uint32_t i = 0; i < profile.instructions.size(); ++i) scope.instructions.push_back(i);
  scope.kernels = find_kernels(profile, kernel);
  if (kernel.empty()) return scope;
  if (scope.kernels.empty()) return no_such_kernel(profile, kernel);
  std::set<uint32_t> functions = functions_of(profile, scope.kernels);
  keep(profile, scope.instructions,
       [&](const InstructionFacts& i) { return functions.count(i.function) > 0; });
  scope.title = scope.kernels.size() == 1 ? show_function(scope.kernels[0]->name)
                                          : format("%zu kernels with \"%s\" in their name",
                                                   scope.kernels.size(), printable(kernel).c_str());
  return scope;
}

}  // namespace

Result<Scope> find_scope(const Profile& profile, const std::string& kernel, const std::string& loop,
                         const std::string& line) {
  Result<Scope> scope = kernel_scope(profile, kernel);
  if (!scope) return scope;
  if (!loop.empty()) {
    Result<Done> narrowed = narrow_to_loop(profile, loop, *scope);
    if (!narrowed) return narrowed.error();
  }
  if (!line.empty()) {
    Result<Done> narrowed = narrow_to_line(profile, line, *scope);
    if (!narrowed) return narrowed.error();
  }
  bool part_of_kernel = !loop.empty() || !line.empty();
  scope->whole = kernel.empty() && !part_of_kernel;
  for (uint32_t i : scope->instructions) scope->samples += profile.instructions[i].samples.total();
  if (part_of_kernel)
    for (uint32_t i : scope->instructions) scope->topdown += profile.instructions[i].topdown;
  else
    for (const KernelSummary* k : scope->kernels) scope->topdown += k->topdown;
  return scope;
}

std::optional<StallReason> main_stall(const StallCounts& counts) {
  auto weight = [&](size_t i) { return std::make_pair(counts.latency[i], counts.all[i]); };
  size_t best = static_cast<size_t>(StallReason::not_selected) + 1;
  for (size_t i = best; i < kStallReasonCount; ++i)
    if (weight(i) > weight(best)) best = i;
  if (counts.all[best] == 0) return std::nullopt;
  return static_cast<StallReason>(best);
}

namespace {

/// Adds the causes of waiting to the lines where it happens.
void add_causes(const Profile& profile, const std::vector<uint32_t>& instructions,
                std::map<SourceLocation, HotLine>& lines) {
  std::vector<bool> wanted(profile.instructions.size());
  for (uint32_t i : instructions) wanted[i] = true;
  for (const BlameEdge& edge : profile.blame) {
    if (!wanted[edge.consumer]) continue;
    std::vector<LineCause>& causes = lines[profile.instructions[edge.consumer].at].causes;
    SourceLocation at;
    if (edge.producer != kNoId) at = profile.instructions[edge.producer].at;
    auto same = [&](const LineCause& c) { return c.at == at && c.kind == edge.kind; };
    auto cause = std::find_if(causes.begin(), causes.end(), same);
    if (cause == causes.end()) cause = causes.insert(cause, {at, edge.kind, 0});
    cause->stalls += edge.stalls;
  }
}

}  // namespace

std::vector<HotLine> hot_lines(const Profile& profile, const std::vector<uint32_t>& instructions) {
  std::map<SourceLocation, HotLine> lines;
  std::map<SourceLocation, std::map<uint32_t, uint64_t>> functions;
  for (uint32_t i : instructions) {
    const InstructionFacts& instruction = profile.instructions[i];
    HotLine& line = lines[instruction.at];
    line.at = instruction.at;
    line.samples += instruction.samples;
    if (!instruction.inlined.empty()) line.inlined = instruction.inlined.back().function;
    functions[instruction.at][instruction.function] += instruction.samples.total();
  }
  add_causes(profile, instructions, lines);
  std::vector<HotLine> sorted;
  for (auto& [at, line] : lines) {
    uint64_t most = 0;
    for (const auto& [function, samples] : functions[at])
      if (samples > most) most = samples, line.function = function;
    std::stable_sort(line.causes.begin(), line.causes.end(),
                     [](const LineCause& a, const LineCause& b) { return a.stalls > b.stalls; });
    if (line.samples.total() > 0) sorted.push_back(std::move(line));
  }
  std::stable_sort(sorted.begin(), sorted.end(), [](const HotLine& a, const HotLine& b) {
    return a.samples.total() > b.samples.total();
  });
  return sorted;
}

}  // namespace fathom
