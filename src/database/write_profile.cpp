#include <unistd.h>

#include <cstdio>
#include <map>
#include <tuple>
#include <unordered_map>

#include "base/text.h"
#include "database/database.h"
#include "database/enum_names.h"
#include "database/run_facts.h"
#include "database/schema.h"
#include "database/sqlite.h"
#include "database/validate.h"

namespace fathom {
namespace {

/// Fills the tables of an empty database. Each step leaves the first error in `error`.
class ProfileWriter {
 public:
  ProfileWriter(sqlite3* database, const Profile& profile)
      : database_(database), profile_(profile), files_(database, "files") {}

  std::string write() {
    write_lookups();
    write_run();
    write_metrics();
    write_functions();
    write_contexts();
    write_kernels();
    write_instructions();
    write_blame();
    write_numa();
    write_findings();
    write_sources();
    keep_error(files_);
    return error_;
  }

 private:
  void keep_error(const Inserter& table) {
    if (error_.empty()) error_ = table.error();
  }

  /// The id of a file, which gets a row when it is first met. An unknown file has none.
  OptionalId file(const std::string& path) {
    if (path.empty()) return {kNoId};
    auto [entry, is_new] = file_ids_.try_emplace(path, static_cast<uint32_t>(file_ids_.size()));
    if (is_new) files_.add(entry->second, path);
    return {entry->second};
  }

  void write_lookups() {
    Inserter version(database_, "schema_version");
    version.add(kSchemaVersion);
    Inserter reasons(database_, "stall_reasons");
    for (uint32_t i = 0; i < kStallReasonCount; ++i)
      reasons.add(i, name_of(StallReason(i)), explain(StallReason(i)));
    Inserter nodes(database_, "topdown_nodes");
    for (const TopDownNode& node : topdown_nodes()) {
      uint32_t parent = node.parent == node.id ? kNoId : static_cast<uint32_t>(node.parent);
      nodes.add(static_cast<uint32_t>(node.id), OptionalId{parent}, node.metric, node.title,
                node.meaning);
    }
    keep_error(version);
    keep_error(reasons);
    keep_error(nodes);
  }

  void write_run() {
    Inserter facts(database_, "facts");
    visit_facts(profile_.run, [&](const char* name, const auto& value) {
      facts.add(std::string_view(name), value);
    });
    Inserter warnings(database_, "warnings");
    for (const Warning& warning : profile_.warnings)
      warnings.add(word_for(warning.severity), warning.what, warning.where, warning.hint);
    Inserter devices(database_, "devices");
    uint32_t id = 0;
    for (const DeviceFacts& d : profile_.devices)
      devices.add(id++, d.process, d.id, d.name, d.compute_major, d.compute_minor,
                  d.multiprocessors, d.core_clock_khz, d.memory_bytes, d.memory_bandwidth,
                  d.max_warps_per_multiprocessor, d.max_blocks_per_multiprocessor,
                  d.max_registers_per_multiprocessor, d.max_shared_memory_per_multiprocessor,
                  d.max_shared_memory_per_block, d.max_threads_per_block, d.l2_cache_bytes);
    keep_error(facts);
    keep_error(warnings);
    keep_error(devices);
  }

  void write_metrics() {
    Inserter metrics(database_, "metrics");
    uint32_t id = 0;
    for (const Metric& m : profile_.metrics)
      metrics.add(id++, m.name, m.unit, OptionalId{m.parent}, m.description, m.visible,
                  word_for(m.kind), m.formula);
    keep_error(metrics);
  }

  void write_functions() {
    Inserter functions(database_, "functions");
    uint32_t id = 0;
    for (const GpuFunctionFacts& f : profile_.functions)
      functions.add(id++, f.name, f.mangled, f.binary, f.arch, f.size, f.is_kernel, f.note);
    keep_error(functions);
  }

  void write_contexts() {
    Inserter contexts(database_, "contexts");
    uint32_t id = 0;
    for (const Context& c : profile_.contexts)
      contexts.add(id++, OptionalId{c.parent}, word_for(c.kind), c.name, c.module, file(c.at.file),
                   c.at.line, c.address, OptionalId{c.function});
    Inserter values(database_, "metric_values");
    for (const MetricValue& v : profile_.values)
      values.add(v.context, v.metric, v.exclusive, v.inclusive);
    keep_error(contexts);
    keep_error(values);
  }

  void write_kernels() {
    Inserter kernels(database_, "kernels"), contexts(database_, "kernel_contexts");
    Inserter stalls(database_, "kernel_stalls"), topdown(database_, "kernel_topdown");
    Inserter groups(database_, "launch_groups");
    uint32_t id = 0;
    for (const KernelSummary& k : profile_.kernels) {
      kernels.add(id, k.name, k.mangled, OptionalId{k.device}, OptionalId{k.function}, k.launches,
                  k.seconds, k.min_seconds, k.max_seconds, k.share, k.coverage_before,
                  k.coverage_after);
      for (uint32_t context : k.launch_contexts) contexts.add(id, context);
      for (const LaunchGroup& group : k.groups) write_group(groups, id, group);
      write_counts(stalls, topdown, id++, k.samples, k.topdown);
    }
    for (const Inserter* table : {&kernels, &contexts, &stalls, &topdown, &groups})
      keep_error(*table);
  }

  static void write_group(Inserter& groups, uint32_t kernel, const LaunchGroup& group) {
    const LaunchShape& s = group.shape;
    const Occupancy& o = group.occupancy;
    groups.add(kernel, s.grid[0], s.grid[1], s.grid[2], s.block[0], s.block[1], s.block[2],
               s.cluster[0], s.cluster[1], s.cluster[2], s.registers_per_thread,
               s.static_shared_memory, s.dynamic_shared_memory, s.local_memory_per_thread,
               group.launches, group.seconds, o.active_blocks, o.active_warps, o.available_warps,
               word_for(o.limit), o.limit_warps, o.limit_blocks, o.limit_registers,
               o.limit_shared_memory, group.waves);
  }

  static void write_counts(Inserter& stalls, Inserter& topdown, uint32_t owner,
                           const StallCounts& counts, const TopDownCounts& tree) {
    for (uint32_t i = 0; i < kStallReasonCount; ++i)
      if (counts.all[i] || counts.latency[i])
        stalls.add(owner, i, counts.all[i], counts.latency[i]);
    for (uint32_t i = 0; i < kTopDownCount; ++i)
      if (tree.own[i] != 0) topdown.add(owner, i, tree.own[i]);
  }

  /// Inlined stacks share their outer frames: many instructions have the same ones.
  OptionalId inline_frame(Inserter& table, const std::vector<InlineFrame>& stack) {
    OptionalId frame{kNoId};
    for (const InlineFrame& call : stack) {
      auto key = std::make_tuple(frame.id, call.function, call.call.file, call.call.line);
      auto [entry, is_new] = frame_ids_.try_emplace(key, static_cast<uint32_t>(frame_ids_.size()));
      if (is_new)
        table.add(entry->second, frame, call.function, file(call.call.file), call.call.line);
      frame = {entry->second};
    }
    return frame;
  }

  void write_instructions() {
    Inserter loops(database_, "loops"), frames(database_, "inline_frames");
    Inserter instructions(database_, "instructions");
    Inserter stalls(database_, "stalls"), topdown(database_, "topdown");
    uint32_t id = 0;
    for (const LoopFacts& l : profile_.loops)
      loops.add(id++, l.function, OptionalId{l.parent}, l.depth, file(l.at.file), l.at.line,
                l.last_line, l.first_offset, l.last_offset);
    id = 0;
    for (const InstructionFacts& i : profile_.instructions) {
      instructions.add(id, i.function, i.offset, i.text, file(i.at.file), i.at.line,
                       inline_frame(frames, i.inlined), OptionalId{i.loop});
      write_counts(stalls, topdown, id++, i.samples, i.topdown);
    }
    for (const Inserter* table : {&loops, &frames, &instructions, &stalls, &topdown})
      keep_error(*table);
  }

  void write_blame() {
    Inserter blame(database_, "blame");
    for (const BlameEdge& edge : profile_.blame)
      blame.add(edge.consumer, OptionalId{edge.producer}, static_cast<uint32_t>(edge.reason),
                word_for(edge.kind), edge.stalls, edge.latency, edge.distance, edge.through);
    keep_error(blame);
  }

  void write_numa() {
    Inserter processes(database_, "numa_processes"), threads(database_, "numa_threads");
    Inserter objects(database_, "numa_objects");
    uint32_t id = 0;
    for (const NumaFacts& n : profile_.numa) {
      processes.add(id, n.program, n.process, n.threads, n.time_ms, n.parallel_share,
                    n.migration_score, n.phases, n.sampling, n.accesses_not_counted, n.topology);
      for (const NumaThreadFacts& t : n.thread_facts)
        threads.add(id, t.index, t.kind, t.start, file(t.at.file), t.at.line, t.reads, t.writes,
                    t.spin_reads, t.contended_locks, t.condition_waits, t.barrier_waits,
                    t.semaphore_waits, t.wait_seconds, t.cpu_seconds, t.seconds);
      for (const NumaObjectFacts& o : n.objects)
        objects.add(id, o.name, o.kind, file(o.at.file), o.at.line, o.count, o.bytes, o.reads,
                    o.writes, o.remote, o.false_invalidations, o.true_invalidations, o.remote_score,
                    o.false_score, o.true_score);
      ++id;
    }
    for (const Inserter* table : {&processes, &threads, &objects}) keep_error(*table);
  }

  void write_findings() {
    Inserter findings(database_, "findings");
    uint32_t id = 0;
    for (const Finding& f : profile_.findings) {
      auto add = [&](auto... speedups) {
        findings.add(id, f.kind, f.fix, f.subject, file(f.location.file), f.location.line,
                     speedups..., f.title, f.text);
      };
      const std::optional<SpeedupRange>&own = f.speedup, &program = f.program_speedup;
      std::nullptr_t no{};
      if (own && program)
        add(own->low, own->mid, own->high, program->low, program->mid, program->high);
      else if (own)
        add(own->low, own->mid, own->high, no, no, no);
      else if (program)
        add(no, no, no, program->low, program->mid, program->high);
      else
        add(no, no, no, no, no, no);
      ++id;
    }
    keep_error(findings);
    write_finding_parts();
  }

  void write_finding_parts() {
    Inserter places(database_, "finding_places"), evidence(database_, "evidence");
    Inserter suggestions(database_, "suggestions"), assumptions(database_, "assumptions");
    uint32_t id = 0;
    for (const Finding& f : profile_.findings) {
      for (const RelatedLocation& r : f.related)
        places.add(id, r.role, file(r.at.file), r.at.line, r.what);
      for (const Evidence& e : f.evidence) evidence.add(id, e.name, e.value, e.unit);
      for (const std::string& text : f.suggestions) suggestions.add(id, text);
      for (const std::string& text : f.assumptions) assumptions.add(id, text);
      ++id;
    }
    for (const Inserter* table : {&places, &evidence, &suggestions, &assumptions})
      keep_error(*table);
  }

  void write_sources() {
    Inserter sources(database_, "sources"), lines(database_, "source_lines");
    uint32_t id = 0;
    for (const SourceText& source : profile_.sources) {
      sources.add(id, file(source.file));
      for (const auto& [line, text] : source.lines) lines.add(id, line, text);
      ++id;
    }
    keep_error(sources);
    keep_error(lines);
  }

  sqlite3* database_;
  const Profile& profile_;
  Inserter files_;
  std::unordered_map<std::string, uint32_t> file_ids_;
  std::map<std::tuple<uint32_t, std::string, std::string, uint32_t>, uint32_t> frame_ids_;
  std::string error_;
};

/// Nothing that depends on the time, the machine or an earlier file; no journal, because the file
/// gets its name only once it is whole.
constexpr const char* kSettings =
    "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = NONE;"
    "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA locking_mode = EXCLUSIVE;"
    "PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;";

std::string fill(sqlite3* database, const Profile& profile) {
  std::string identity = format("PRAGMA application_id = %u; PRAGMA user_version = %u;",
                                kApplicationId, kSchemaVersion);
  for (const char* sql : {kSettings, "BEGIN", identity.c_str(), kSchema}) {
    std::string error = execute(database, sql);
    if (!error.empty()) return error;
  }
  std::string error = ProfileWriter(database, profile).write();
  return error.empty() ? execute(database, "COMMIT") : error;
}

std::string write_new_file(const Profile& profile, const std::string& path) {
  sqlite3* handle = nullptr;
  int status =
      sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database database(handle);
  if (status != SQLITE_OK) return handle ? sqlite3_errmsg(handle) : "out of memory";
  return fill(handle, profile);
}

}  // namespace

Result<Done> write_profile(const Profile& profile, const std::string& path) {
  std::string contradiction = find_contradiction(profile);
  if (!contradiction.empty())
    return Error{ErrorKind::cannot_answer, "the analysis contradicts itself: " + contradiction,
                 path, "this is a defect of fathom; please report it with the measurement"};
  std::string temporary = path + format(".%d.tmp", getpid());
  unlink(temporary.c_str());  // what a killed process of the same number left behind
  std::string error = write_new_file(profile, temporary);
  if (error.empty() && std::rename(temporary.c_str(), path.c_str()) == 0) return Done{};
  unlink(temporary.c_str());
  if (error.empty()) error = "it cannot be renamed to its final name";
  return Error{ErrorKind::bad_input, "cannot write the profile database: " + error, path,
               "check that the folder exists, is writable and has room, or choose another with -o"};
}

}  // namespace fathom
