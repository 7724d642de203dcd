#include <filesystem>
#include <optional>

#include "base/files.h"
#include "base/text.h"
#include "database/database.h"
#include "database/enum_names.h"
#include "database/run_facts.h"
#include "database/schema.h"
#include "database/sqlite.h"
#include "database/validate.h"

namespace fathom {

namespace {

void read_fact(Rows& rows, std::string& value) {
  value = rows.text();
}
void read_fact(Rows& rows, int& value) {
  value = static_cast<int>(rows.i64());
}
void read_fact(Rows& rows, bool& value) {
  value = rows.flag();
}
void read_fact(Rows& rows, double& value) {
  value = rows.real();
}
void read_fact(Rows& rows, uint32_t& value) {
  value = rows.u32();
}
void read_fact(Rows& rows, uint64_t& value) {
  value = rows.u64();
}

template <class Enum>
Enum read_word(Rows& rows) {
  std::string word = rows.text();
  std::optional<Enum> value = value_of<Enum>(word);
  if (!value) rows.fail("an unknown word: \"" + word.substr(0, 40) + "\"");
  return value.value_or(Enum{});
}

/// Reads the tables in the order of their references. The first error ends it.
class ProfileReader {
 public:
  explicit ProfileReader(sqlite3* database) : database_(database) {}

  std::string read(Profile& profile) {
    using Step = void (ProfileReader::*)(Profile&);
    for (Step step :
         {&ProfileReader::read_files, &ProfileReader::read_run, &ProfileReader::read_devices,
          &ProfileReader::read_metrics, &ProfileReader::read_functions,
          &ProfileReader::read_contexts, &ProfileReader::read_kernels,
          &ProfileReader::read_kernel_parts, &ProfileReader::read_loops,
          &ProfileReader::read_instructions, &ProfileReader::read_blame, &ProfileReader::read_numa,
          &ProfileReader::read_numa_threads, &ProfileReader::read_numa_objects,
          &ProfileReader::read_findings, &ProfileReader::read_finding_parts,
          &ProfileReader::read_sources}) {
      (this->*step)(profile);
      if (!error_.empty()) return error_;
    }
    return find_contradiction(profile);
  }

 private:
  template <class Function>
  void each(const char* table, const char* columns, int64_t first, Function read_row) {
    if (!error_.empty()) return;
    Rows rows(database_, table, columns, first);
    while (rows.next()) read_row(rows);
    error_ = rows.error();
  }

  std::string file(Rows& rows) {
    uint32_t id = rows.optional_id(files_.size());
    return id < files_.size() ? files_[id] : std::string();
  }
  SourceLocation location(Rows& rows) {
    SourceLocation at;
    at.file = file(rows);
    at.line = rows.u32();
    return at;
  }

  void read_files(Profile&) {
    each("files", "path", 0, [&](Rows& rows) { files_.push_back(rows.text()); });
  }

  void read_run(Profile& profile) {
    size_t found = 0, wanted = 0;
    each("facts", "name, value", 1, [&](Rows& rows) {
      std::string name = rows.text();
      bool known = false;
      visit_facts(profile.run, [&](const char* candidate, auto& value) {
        if (name != candidate) return;
        known = true;
        read_fact(rows, value);
      });
      if (!known) rows.fail("an unknown fact: \"" + name.substr(0, 40) + "\"");
      ++found;
    });
    visit_facts(profile.run, [&](const char*, auto&) { ++wanted; });
    if (error_.empty() && found != wanted) error_ = "table facts: rows are missing";
    each("warnings", "severity, what, place, hint", 1, [&](Rows& rows) {
      Warning& w = profile.warnings.emplace_back();
      w.severity = read_word<WarningSeverity>(rows);
      w.what = rows.text();
      w.where = rows.text();
      w.hint = rows.text();
    });
  }

  void read_devices(Profile& profile) {
    each("devices",
         "process, device, name, compute_major, compute_minor, multiprocessors, core_clock_khz, "
         "memory_bytes, memory_bandwidth, max_warps_per_multiprocessor, "
         "max_blocks_per_multiprocessor, max_registers_per_multiprocessor, "
         "max_shared_memory_per_multiprocessor, max_shared_memory_per_block, "
         "max_threads_per_block, l2_cache_bytes",
         0, [&](Rows& rows) {
           DeviceFacts& d = profile.devices.emplace_back();
           d.process = rows.u32();
           d.id = rows.u32();
           d.name = rows.text();
           for (uint32_t* number :
                {&d.compute_major, &d.compute_minor, &d.multiprocessors, &d.core_clock_khz})
             *number = rows.u32();
           d.memory_bytes = rows.u64();
           d.memory_bandwidth = rows.real();
           for (uint32_t* number :
                {&d.max_warps_per_multiprocessor, &d.max_blocks_per_multiprocessor,
                 &d.max_registers_per_multiprocessor, &d.max_shared_memory_per_multiprocessor,
                 &d.max_shared_memory_per_block, &d.max_threads_per_block, &d.l2_cache_bytes})
             *number = rows.u32();
         });
  }

  void read_metrics(Profile& profile) {
    each("metrics", "name, unit, parent, description, visible, kind, formula", 0, [&](Rows& rows) {
      Metric& m = profile.metrics.emplace_back();
      m.name = rows.text();
      m.unit = rows.text();
      m.parent = rows.optional_id(kNoId);
      m.description = rows.text();
      m.visible = rows.flag();
      m.kind = read_word<MetricKind>(rows);
      m.formula = rows.text();
    });
  }

  void read_functions(Profile& profile) {
    each("functions", "name, mangled, binary_sha256, arch, size, is_kernel, note", 0,
         [&](Rows& rows) {
           GpuFunctionFacts& f = profile.functions.emplace_back();
           f.name = rows.text();
           f.mangled = rows.text();
           f.binary = rows.text();
           f.arch = rows.text();
           f.size = rows.u64();
           f.is_kernel = rows.flag();
           f.note = rows.text();
         });
  }

  void read_contexts(Profile& profile) {
    each("contexts", "parent, kind, name, module, file, line, address, function", 0,
         [&](Rows& rows) {
           Context& c = profile.contexts.emplace_back();
           c.parent = rows.optional_id(kNoId);
           c.kind = read_word<ContextKind>(rows);
           c.name = rows.text();
           c.module = rows.text();
           c.at = location(rows);
           c.address = rows.u64();
           c.function = rows.optional_id(profile.functions.size());
         });
    each("metric_values", "context, metric, exclusive, inclusive", 1, [&](Rows& rows) {
      MetricValue& v = profile.values.emplace_back();
      v.context = rows.id(profile.contexts.size());
      v.metric = rows.id(profile.metrics.size());
      v.exclusive = rows.real();
      v.inclusive = rows.real();
    });
  }

  void read_kernels(Profile& profile) {
    each("kernels",
         "name, mangled, device, function, launches, seconds, min_seconds, max_seconds, share, "
         "coverage_before, coverage_after",
         0, [&](Rows& rows) {
           KernelSummary& k = profile.kernels.emplace_back();
           k.name = rows.text();
           k.mangled = rows.text();
           k.device = rows.optional_id(profile.devices.size());
           k.function = rows.optional_id(profile.functions.size());
           k.launches = rows.u64();
           for (double* number : {&k.seconds, &k.min_seconds, &k.max_seconds, &k.share,
                                  &k.coverage_before, &k.coverage_after})
             *number = rows.real();
         });
  }

  void read_kernel_parts(Profile& profile) {
    std::vector<KernelSummary>& kernels = profile.kernels;
    each("kernel_contexts", "kernel, context", 1, [&](Rows& rows) {
      uint32_t kernel = rows.id(kernels.size()), context = rows.id(profile.contexts.size());
      if (!rows.failed()) kernels[kernel].launch_contexts.push_back(context);
    });
    each("launch_groups",
         "kernel, grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, "
         "cluster_z, registers_per_thread, static_shared_memory, dynamic_shared_memory, "
         "local_memory_per_thread, launches, seconds, active_blocks, active_warps, "
         "available_warps, occupancy_limit, limit_warps, limit_blocks, limit_registers, "
         "limit_shared_memory, waves",
         1, [&](Rows& rows) {
           uint32_t kernel = rows.id(kernels.size());
           LaunchGroup group = read_group(rows);
           if (!rows.failed()) kernels[kernel].groups.push_back(group);
         });
    read_counts("kernel_stalls", "kernel_topdown", "kernel", kernels);
  }

  static LaunchGroup read_group(Rows& rows) {
    LaunchGroup group;
    LaunchShape& s = group.shape;
    Occupancy& o = group.occupancy;
    for (auto* extent : {&s.grid, &s.block, &s.cluster})
      for (uint32_t& number : *extent) number = rows.u32();
    for (uint32_t* number : {&s.registers_per_thread, &s.static_shared_memory,
                             &s.dynamic_shared_memory, &s.local_memory_per_thread})
      *number = rows.u32();
    group.launches = rows.u64();
    group.seconds = rows.real();
    for (uint32_t* number : {&o.active_blocks, &o.active_warps, &o.available_warps})
      *number = rows.u32();
    o.limit = read_word<OccupancyLimit>(rows);
    for (uint32_t* number :
         {&o.limit_warps, &o.limit_blocks, &o.limit_registers, &o.limit_shared_memory})
      *number = rows.u32();
    group.waves = rows.real();
    return group;
  }

  /// Stalls and top-down samples of kernels or instructions.
  template <class Owner>
  void read_counts(const char* stalls, const char* topdown, const std::string& owner_column,
                   std::vector<Owner>& owners) {
    each(stalls, (owner_column + ", reason, samples, exposed").c_str(), 1, [&](Rows& rows) {
      uint32_t owner = rows.id(owners.size()), reason = rows.id(kStallReasonCount);
      uint64_t samples = rows.u64(), exposed = rows.u64();
      if (rows.failed()) return;
      owners[owner].samples.all[reason] = samples;
      owners[owner].samples.latency[reason] = exposed;
    });
    each(topdown, (owner_column + ", node, samples").c_str(), 1, [&](Rows& rows) {
      uint32_t owner = rows.id(owners.size()), node = rows.id(kTopDownCount);
      double samples = rows.real();
      if (!rows.failed()) owners[owner].topdown.own[node] = samples;
    });
  }

  void read_loops(Profile& profile) {
    each("loops", "function, parent, depth, file, line, last_line, first_offset, last_offset", 0,
         [&](Rows& rows) {
           LoopFacts& l = profile.loops.emplace_back();
           l.function = rows.id(profile.functions.size());
           l.parent = rows.optional_id(kNoId);
           l.depth = rows.u32();
           l.at = location(rows);
           l.last_line = rows.u32();
           l.first_offset = rows.u64();
           l.last_offset = rows.u64();
         });
  }

  /// An inlined call and the one around it.
  struct Frame {
    uint32_t outer = kNoId;
    uint32_t depth = 0;
    InlineFrame call;
  };
  /// Deeper than any compiler inlines; a bound on what a damaged file can make us allocate.
  static constexpr uint32_t kDeepestInlining = 1000;

  std::vector<InlineFrame> stack_of(uint32_t frame) const {
    std::vector<InlineFrame> stack;
    if (frame == kNoId) return stack;
    stack.resize(frames_[frame].depth);
    for (size_t i = stack.size(); i-- > 0; frame = frames_[frame].outer)
      stack[i] = frames_[frame].call;
    return stack;
  }

  void read_instructions(Profile& profile) {
    each("inline_frames", "outer_frame, function_name, file, line", 0, [&](Rows& rows) {
      Frame frame;
      frame.outer = rows.optional_id(frames_.size());
      frame.call.function = rows.text();
      frame.call.call = location(rows);
      if (rows.failed()) return;
      frame.depth = frame.outer == kNoId ? 1 : frames_[frame.outer].depth + 1;
      if (frame.depth > kDeepestInlining) rows.fail("inlined too deeply");
      frames_.push_back(std::move(frame));
    });
    each("instructions", "function, offset, text, file, line, inline_frame, loop", 0,
         [&](Rows& rows) {
           InstructionFacts& i = profile.instructions.emplace_back();
           i.function = rows.id(profile.functions.size());
           i.offset = rows.u64();
           i.text = rows.text();
           i.at = location(rows);
           uint32_t frame = rows.optional_id(frames_.size());
           if (!rows.failed()) i.inlined = stack_of(frame);
           i.loop = rows.optional_id(profile.loops.size());
         });
    read_counts("stalls", "topdown", "instruction", profile.instructions);
  }

  void read_blame(Profile& profile) {
    each("blame", "consumer, producer, reason, class, stalls, exposed, distance, through", 1,
         [&](Rows& rows) {
           BlameEdge& edge = profile.blame.emplace_back();
           edge.consumer = rows.id(profile.instructions.size());
           edge.producer = rows.optional_id(profile.instructions.size());
           edge.reason = static_cast<StallReason>(rows.id(kStallReasonCount));
           edge.kind = read_word<StallClass>(rows);
           edge.stalls = rows.real();
           edge.latency = rows.real();
           edge.distance = rows.u32();
           edge.through = rows.text();
         });
  }

  /// Three columns that are all numbers or all NULL.
  static std::optional<SpeedupRange> read_speedup(Rows& rows) {
    SpeedupRange range;
    int absent = 0;
    for (double* number : {&range.low, &range.mid, &range.high}) {
      if (rows.is_null()) {
        ++absent;
        rows.optional_id(0);
      } else {
        *number = rows.real();
      }
    }
    if (absent == 3) return std::nullopt;
    if (absent) rows.fail("half a speedup");
    return range;
  }

  void read_numa(Profile& profile) {
    each("numa_processes",
         "program, process, threads, time_ms, parallel_share, migration_score, phases, "
         "sampling, accesses_not_counted, topology",
         0, [&](Rows& rows) {
           NumaFacts& n = profile.numa.emplace_back();
           n.program = rows.text();
           n.process = rows.u32();
           n.threads = rows.u64();
           n.time_ms = rows.real();
           n.parallel_share = rows.real();
           n.migration_score = rows.real();
           n.phases = rows.u32();
           n.sampling = rows.u32();
           n.accesses_not_counted = rows.u64();
           n.topology = rows.text();
         });
  }

  void read_numa_threads(Profile& profile) {
    each("numa_threads",
         "numa_process, thread, kind, start, file, line, reads, writes, spin_reads, "
         "contended_locks, condition_waits, barrier_waits, semaphore_waits, wait_seconds, "
         "cpu_seconds, seconds",
         1, [&](Rows& rows) {
           uint32_t process = rows.id(profile.numa.size());
           NumaThreadFacts t;
           t.index = rows.u32();
           t.kind = rows.text();
           t.start = rows.text();
           t.at = location(rows);
           t.reads = rows.u64();
           t.writes = rows.u64();
           t.spin_reads = rows.u64();
           t.contended_locks = rows.u64();
           t.condition_waits = rows.u64();
           t.barrier_waits = rows.u64();
           t.semaphore_waits = rows.u64();
           t.wait_seconds = rows.real();
           t.cpu_seconds = rows.real();
           t.seconds = rows.real();
           if (!rows.failed()) profile.numa[process].thread_facts.push_back(std::move(t));
         });
  }

  void read_numa_objects(Profile& profile) {
    each("numa_objects",
         "numa_process, name, kind, file, line, count, bytes, reads, writes, remote, "
         "false_invalidations, true_invalidations, remote_score, false_score, true_score",
         1, [&](Rows& rows) {
           uint32_t process = rows.id(profile.numa.size());
           NumaObjectFacts o;
           o.name = rows.text();
           o.kind = rows.text();
           o.at = location(rows);
           o.count = rows.u64();
           o.bytes = rows.u64();
           o.reads = rows.u64();
           o.writes = rows.u64();
           o.remote = rows.u64();
           o.false_invalidations = rows.real();
           o.true_invalidations = rows.real();
           o.remote_score = rows.real();
           o.false_score = rows.real();
           o.true_score = rows.real();
           if (!rows.failed()) profile.numa[process].objects.push_back(std::move(o));
         });
  }

  void read_findings(Profile& profile) {
    each("findings",
         "kind, fix, subject, file, line, speedup_low, speedup_mid, speedup_high, "
         "program_speedup_low, program_speedup_mid, program_speedup_high, title, text",
         0, [&](Rows& rows) {
           Finding& f = profile.findings.emplace_back();
           f.kind = rows.text();
           f.fix = rows.text();
           f.subject = rows.text();
           f.location = location(rows);
           f.speedup = read_speedup(rows);
           f.program_speedup = read_speedup(rows);
           f.title = rows.text();
           f.text = rows.text();
         });
  }

  void read_finding_parts(Profile& profile) {
    std::vector<Finding>& findings = profile.findings;
    each("finding_places", "finding, role, file, line, what", 1, [&](Rows& rows) {
      uint32_t finding = rows.id(findings.size());
      RelatedLocation place;
      place.role = rows.text();
      place.at = location(rows);
      place.what = rows.text();
      if (!rows.failed()) findings[finding].related.push_back(std::move(place));
    });
    each("evidence", "finding, name, value, unit", 1, [&](Rows& rows) {
      uint32_t finding = rows.id(findings.size());
      Evidence evidence;
      evidence.name = rows.text();
      evidence.value = rows.real();
      evidence.unit = rows.text();
      if (!rows.failed()) findings[finding].evidence.push_back(std::move(evidence));
    });
    read_texts("suggestions", findings, &Finding::suggestions);
    read_texts("assumptions", findings, &Finding::assumptions);
  }

  void read_texts(const char* table, std::vector<Finding>& findings,
                  std::vector<std::string> Finding::*member) {
    each(table, "finding, text", 1, [&](Rows& rows) {
      uint32_t finding = rows.id(findings.size());
      std::string text = rows.text();
      if (!rows.failed()) (findings[finding].*member).push_back(std::move(text));
    });
  }

  void read_sources(Profile& profile) {
    each("sources", "file", 0, [&](Rows& rows) {
      std::string path = file(rows);
      profile.sources.push_back({path, {}});
    });
    each("source_lines", "source, line, text", 1, [&](Rows& rows) {
      uint32_t source = rows.id(profile.sources.size()), line = rows.u32();
      std::string text = rows.text();
      if (!rows.failed()) profile.sources[source].lines[line] = std::move(text);
    });
  }

  sqlite3* database_;
  std::vector<std::string> files_;
  std::vector<Frame> frames_;
  std::string error_;
};

constexpr const char* kRemake = "make it anew with `fathom analyze DIR`";

Error not_a_profile(const std::string& path, const std::string& what, const std::string& hint) {
  return Error{ErrorKind::bad_input, what, path, hint};
}

/// The one number that a statement yields; nothing if the file cannot be read as a database.
std::optional<int64_t> ask(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  std::optional<int64_t> answer;
  if (sqlite3_prepare_v2(database, sql, -1, &statement, nullptr) == SQLITE_OK &&
      sqlite3_step(statement) == SQLITE_ROW)
    answer = sqlite3_column_int64(statement, 0);
  sqlite3_finalize(statement);
  return answer;
}

/// Each table of ours with the text that made it, in order; empty if it cannot be read.
std::string schema_text(sqlite3* database) {
  constexpr const char* kQuery =
      "SELECT name || char(10) || sql FROM sqlite_schema WHERE type = 'table' ORDER BY name";
  sqlite3_stmt* statement = nullptr;
  std::string text;
  if (sqlite3_prepare_v2(database, kQuery, -1, &statement, nullptr) == SQLITE_OK)
    while (sqlite3_step(statement) == SQLITE_ROW)
      if (const unsigned char* row = sqlite3_column_text(statement, 0))
        text.append(reinterpret_cast<const char*>(row)).append("\n");
  sqlite3_finalize(statement);
  return text;
}

/// What the tables must look like. A file with other ones could make a query run for ever.
const std::string& expected_schema() {
  static const std::string text = [] {
    sqlite3* handle = nullptr;
    sqlite3_open(":memory:", &handle);
    Database database(handle);
    execute(handle, kSchema);
    return schema_text(handle);
  }();
  return text;
}

Result<Done> check_identity(sqlite3* database, const std::string& path) {
  std::optional<int64_t> application = ask(database, "PRAGMA application_id");
  std::optional<int64_t> version = ask(database, "PRAGMA user_version");
  if (!application || !version)
    return not_a_profile(
        path, "not a profile database of fathom (no SQLite file, or its start is damaged)",
        "give a .fdb file from `fathom analyze`, or a measurement directory");
  if (*application != kApplicationId)
    return not_a_profile(path, "a SQLite database, but not one of fathom's",
                         "give a .fdb file from `fathom analyze`, or a measurement directory");
  if (*version != kSchemaVersion)
    return not_a_profile(path,
                         format("profile database of version %lld; this fathom reads version %u",
                                (long long)*version, kSchemaVersion),
                         *version > kSchemaVersion ? "use a newer fathom" : kRemake);
  // SQLite takes the missing end of a cut page for zeros.
  std::error_code unknown;
  int64_t pages = ask(database, "PRAGMA page_count").value_or(0);
  int64_t page_size = ask(database, "PRAGMA page_size").value_or(0);
  if (std::filesystem::file_size(path, unknown) != uint64_t(pages * page_size))
    return not_a_profile(path, "damaged profile database: its end is missing", kRemake);
  if (schema_text(database) != expected_schema())
    return not_a_profile(path, "damaged profile database: its tables are not what they should be",
                         kRemake);
  return Done{};
}

/// "file:" and the path with everything escaped that means something in a URI. "immutable" keeps
/// SQLite from looking for (foreign) journals beside the file and from locking it.
std::string read_only_uri(std::string_view path) {
  while (starts_with(path, "//")) path.remove_prefix(1);  // or it would name a host
  std::string uri = "file:";
  for (unsigned char c : path)
    uri += c == '%' || c == '?' || c == '#' || c < 0x21 ? format("%%%02x", c)
                                                        : std::string(1, char(c));
  return uri + "?immutable=1";
}

}  // namespace

Result<Profile> read_profile(const std::string& path) {
  if (!is_regular_file(path))
    return Error{ErrorKind::bad_input, is_directory(path) ? "is a directory" : "no such file", path,
                 "give a .fdb file from `fathom analyze`"};
  sqlite3* handle = nullptr;
  int status = sqlite3_open_v2(read_only_uri(path).c_str(), &handle,
                               SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  Database database(handle);
  if (status != SQLITE_OK)
    return not_a_profile(path,
                         format("cannot open: %s", handle ? sqlite3_errmsg(handle) : "no memory"),
                         "check that the file is readable");
  execute(handle, "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON;");
  Result<Done> identity = check_identity(handle, path);
  if (!identity) return identity.error();
  Profile profile;
  std::string error = ProfileReader(handle).read(profile);
  if (!error.empty()) return not_a_profile(path, "damaged profile database: " + error, kRemake);
  return profile;
}

}  // namespace fathom
