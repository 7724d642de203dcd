#include "database/database.h"

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "base/files.h"
#include "base/text.h"
#include "database/enum_names.h"
#include "database/schema.h"
#include "database/validate.h"
#include "model/sample_profile.h"

namespace fathom {
namespace {

/// A folder of its own for each test, removed afterwards.
class DatabaseTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char name[] = "/tmp/fathom-database-XXXXXX";
    ASSERT_NE(mkdtemp(name), nullptr);
    folder_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string written(const Profile& profile, const std::string& name = "run.fdb") const {
    Result<Done> done = write_profile(profile, path(name));
    EXPECT_TRUE(done.ok()) << done.error().message();
    return path(name);
  }
  static std::string content(const std::string& file) {
    Result<std::string> text = read_text_file(file);
    EXPECT_TRUE(text.ok());
    return text.ok() ? *text : std::string();
  }
  static void run_sql(const std::string& file, const char* sql) {
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
    char* message = nullptr;
    EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, &message), SQLITE_OK) << message;
    sqlite3_close(database);
  }
  static std::string read_error(const std::string& file) {
    Result<Profile> profile = read_profile(file);
    if (profile.ok()) return "";
    EXPECT_EQ(profile.error().kind, ErrorKind::bad_input);
    EXPECT_EQ(profile.error().where, file);
    EXPECT_FALSE(profile.error().hint.empty());
    return profile.error().message();
  }

  std::string folder_;
};

void expect_same_counts(const StallCounts& a, const StallCounts& b) {
  EXPECT_EQ(a.all, b.all);
  EXPECT_EQ(a.latency, b.latency);
}

void expect_same_run(const RunFacts& a, const RunFacts& b) {
  EXPECT_EQ(a.fathom_version, b.fathom_version);
  EXPECT_EQ(a.command, b.command);
  EXPECT_EQ(a.working_directory, b.working_directory);
  EXPECT_EQ(a.events, b.events);
  EXPECT_EQ(a.host, b.host);
  EXPECT_EQ(a.exit_code, b.exit_code);
  EXPECT_EQ(a.finished, b.finished);
  EXPECT_EQ(a.wall_seconds, b.wall_seconds);
  EXPECT_EQ(a.processes, b.processes);
  EXPECT_EQ(a.sampling_period_log2, b.sampling_period_log2);
  EXPECT_EQ(a.sampling_serialized, b.sampling_serialized);
  EXPECT_EQ(a.samples_total, b.samples_total);
  EXPECT_EQ(a.samples_dropped, b.samples_dropped);
  EXPECT_EQ(a.samples_non_user, b.samples_non_user);
  EXPECT_EQ(a.samples_attributed, b.samples_attributed);
  EXPECT_EQ(a.samples_unattributed, b.samples_unattributed);
}

void expect_same_kernel(const KernelSummary& a, const KernelSummary& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.mangled, b.mangled);
  EXPECT_EQ(a.device, b.device);
  EXPECT_EQ(a.function, b.function);
  EXPECT_EQ(a.launches, b.launches);
  EXPECT_EQ(a.seconds, b.seconds);
  EXPECT_EQ(a.min_seconds, b.min_seconds);
  EXPECT_EQ(a.max_seconds, b.max_seconds);
  EXPECT_EQ(a.share, b.share);
  EXPECT_EQ(a.coverage_before, b.coverage_before);
  EXPECT_EQ(a.coverage_after, b.coverage_after);
  EXPECT_EQ(a.launch_contexts, b.launch_contexts);
  EXPECT_EQ(a.topdown.own, b.topdown.own);
  expect_same_counts(a.samples, b.samples);
  ASSERT_EQ(a.groups.size(), b.groups.size());
  for (size_t i = 0; i < a.groups.size(); ++i) {
    const LaunchGroup &x = a.groups[i], &y = b.groups[i];
    EXPECT_EQ(x.shape, y.shape);
    EXPECT_EQ(x.launches, y.launches);
    EXPECT_EQ(x.seconds, y.seconds);
    EXPECT_EQ(x.waves, y.waves);
    EXPECT_EQ(x.occupancy.active_blocks, y.occupancy.active_blocks);
    EXPECT_EQ(x.occupancy.active_warps, y.occupancy.active_warps);
    EXPECT_EQ(x.occupancy.available_warps, y.occupancy.available_warps);
    EXPECT_EQ(x.occupancy.limit, y.occupancy.limit);
    EXPECT_EQ(x.occupancy.limit_warps, y.occupancy.limit_warps);
    EXPECT_EQ(x.occupancy.limit_blocks, y.occupancy.limit_blocks);
    EXPECT_EQ(x.occupancy.limit_registers, y.occupancy.limit_registers);
    EXPECT_EQ(x.occupancy.limit_shared_memory, y.occupancy.limit_shared_memory);
  }
}

std::vector<double> numbers(const std::optional<SpeedupRange>& range) {
  if (!range) return {};
  return {range->low, range->mid, range->high};
}

void expect_same_finding(const Finding& a, const Finding& b) {
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.fix, b.fix);
  EXPECT_EQ(a.subject, b.subject);
  EXPECT_EQ(a.location, b.location);
  EXPECT_EQ(a.title, b.title);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.suggestions, b.suggestions);
  EXPECT_EQ(a.assumptions, b.assumptions);
  EXPECT_EQ(numbers(a.speedup), numbers(b.speedup));
  EXPECT_EQ(numbers(a.program_speedup), numbers(b.program_speedup));
  ASSERT_EQ(a.related.size(), b.related.size());
  for (size_t i = 0; i < a.related.size(); ++i) {
    EXPECT_EQ(a.related[i].role, b.related[i].role);
    EXPECT_EQ(a.related[i].at, b.related[i].at);
    EXPECT_EQ(a.related[i].what, b.related[i].what);
  }
  ASSERT_EQ(a.evidence.size(), b.evidence.size());
  for (size_t i = 0; i < a.evidence.size(); ++i) {
    EXPECT_EQ(a.evidence[i].name, b.evidence[i].name);
    EXPECT_EQ(a.evidence[i].value, b.evidence[i].value);
    EXPECT_EQ(a.evidence[i].unit, b.evidence[i].unit);
  }
}

void expect_same_instruction(const InstructionFacts& a, const InstructionFacts& b) {
  EXPECT_EQ(a.function, b.function);
  EXPECT_EQ(a.offset, b.offset);
  EXPECT_EQ(a.text, b.text);
  EXPECT_EQ(a.at, b.at);
  EXPECT_EQ(a.loop, b.loop);
  EXPECT_EQ(a.topdown.own, b.topdown.own);
  expect_same_counts(a.samples, b.samples);
  ASSERT_EQ(a.inlined.size(), b.inlined.size());
  for (size_t i = 0; i < a.inlined.size(); ++i) {
    EXPECT_EQ(a.inlined[i].function, b.inlined[i].function);
    EXPECT_EQ(a.inlined[i].call, b.inlined[i].call);
  }
}

TEST_F(DatabaseTest, KeepsTheRunItsWarningsAndItsDevices) {
  Profile a = testing::sample_profile();
  Result<Profile> read = read_profile(written(a));
  ASSERT_TRUE(read.ok()) << read.error().message();
  const Profile& b = *read;
  expect_same_run(a.run, b.run);
  ASSERT_EQ(a.warnings.size(), b.warnings.size());
  for (size_t i = 0; i < a.warnings.size(); ++i) {
    EXPECT_EQ(a.warnings[i].severity, b.warnings[i].severity);
    EXPECT_EQ(a.warnings[i].what, b.warnings[i].what);
    EXPECT_EQ(a.warnings[i].where, b.warnings[i].where);
    EXPECT_EQ(a.warnings[i].hint, b.warnings[i].hint);
  }
  ASSERT_EQ(b.devices.size(), 1u);
  const DeviceFacts &x = a.devices[0], &y = b.devices[0];
  EXPECT_EQ(x.process, y.process);
  EXPECT_EQ(x.id, y.id);
  EXPECT_EQ(x.name, y.name);
  EXPECT_EQ(x.compute_major, y.compute_major);
  EXPECT_EQ(x.compute_minor, y.compute_minor);
  EXPECT_EQ(x.multiprocessors, y.multiprocessors);
  EXPECT_EQ(x.core_clock_khz, y.core_clock_khz);
  EXPECT_EQ(x.memory_bytes, y.memory_bytes);
  EXPECT_EQ(x.memory_bandwidth, y.memory_bandwidth);
  EXPECT_EQ(x.max_warps_per_multiprocessor, y.max_warps_per_multiprocessor);
  EXPECT_EQ(x.max_blocks_per_multiprocessor, y.max_blocks_per_multiprocessor);
  EXPECT_EQ(x.max_registers_per_multiprocessor, y.max_registers_per_multiprocessor);
  EXPECT_EQ(x.max_shared_memory_per_multiprocessor, y.max_shared_memory_per_multiprocessor);
  EXPECT_EQ(x.max_shared_memory_per_block, y.max_shared_memory_per_block);
  EXPECT_EQ(x.max_threads_per_block, y.max_threads_per_block);
  EXPECT_EQ(x.l2_cache_bytes, y.l2_cache_bytes);
}

TEST_F(DatabaseTest, KeepsMetricsContextsAndTheirValues) {
  Profile a = testing::sample_profile();
  Result<Profile> read = read_profile(written(a));
  ASSERT_TRUE(read.ok()) << read.error().message();
  const Profile& b = *read;
  ASSERT_EQ(a.metrics.size(), b.metrics.size());
  for (size_t i = 0; i < a.metrics.size(); ++i) {
    EXPECT_EQ(a.metrics[i].name, b.metrics[i].name);
    EXPECT_EQ(a.metrics[i].unit, b.metrics[i].unit);
    EXPECT_EQ(a.metrics[i].parent, b.metrics[i].parent);
    EXPECT_EQ(a.metrics[i].description, b.metrics[i].description);
    EXPECT_EQ(a.metrics[i].visible, b.metrics[i].visible);
    EXPECT_EQ(a.metrics[i].kind, b.metrics[i].kind);
    EXPECT_EQ(a.metrics[i].formula, b.metrics[i].formula);
  }
  ASSERT_EQ(a.contexts.size(), b.contexts.size());
  for (size_t i = 0; i < a.contexts.size(); ++i) {
    EXPECT_EQ(a.contexts[i].parent, b.contexts[i].parent);
    EXPECT_EQ(a.contexts[i].kind, b.contexts[i].kind);
    EXPECT_EQ(a.contexts[i].name, b.contexts[i].name);
    EXPECT_EQ(a.contexts[i].module, b.contexts[i].module);
    EXPECT_EQ(a.contexts[i].at, b.contexts[i].at);
    EXPECT_EQ(a.contexts[i].address, b.contexts[i].address);
    EXPECT_EQ(a.contexts[i].function, b.contexts[i].function);
  }
  ASSERT_EQ(a.values.size(), b.values.size());
  for (size_t i = 0; i < a.values.size(); ++i) {
    EXPECT_EQ(a.values[i].context, b.values[i].context);
    EXPECT_EQ(a.values[i].metric, b.values[i].metric);
    EXPECT_EQ(a.values[i].exclusive, b.values[i].exclusive);
    EXPECT_EQ(a.values[i].inclusive, b.values[i].inclusive);
  }
}

TEST_F(DatabaseTest, KeepsKernelsFunctionsLoopsInstructionsAndBlame) {
  Profile a = testing::sample_profile();
  Result<Profile> read = read_profile(written(a));
  ASSERT_TRUE(read.ok()) << read.error().message();
  const Profile& b = *read;
  ASSERT_EQ(a.kernels.size(), b.kernels.size());
  for (size_t i = 0; i < a.kernels.size(); ++i) expect_same_kernel(a.kernels[i], b.kernels[i]);
  ASSERT_EQ(a.functions.size(), b.functions.size());
  for (size_t i = 0; i < a.functions.size(); ++i) {
    EXPECT_EQ(a.functions[i].name, b.functions[i].name);
    EXPECT_EQ(a.functions[i].mangled, b.functions[i].mangled);
    EXPECT_EQ(a.functions[i].binary, b.functions[i].binary);
    EXPECT_EQ(a.functions[i].arch, b.functions[i].arch);
    EXPECT_EQ(a.functions[i].size, b.functions[i].size);
    EXPECT_EQ(a.functions[i].is_kernel, b.functions[i].is_kernel);
    EXPECT_EQ(a.functions[i].note, b.functions[i].note);
  }
  ASSERT_EQ(a.loops.size(), b.loops.size());
  for (size_t i = 0; i < a.loops.size(); ++i) {
    EXPECT_EQ(a.loops[i].function, b.loops[i].function);
    EXPECT_EQ(a.loops[i].parent, b.loops[i].parent);
    EXPECT_EQ(a.loops[i].depth, b.loops[i].depth);
    EXPECT_EQ(a.loops[i].at, b.loops[i].at);
    EXPECT_EQ(a.loops[i].last_line, b.loops[i].last_line);
    EXPECT_EQ(a.loops[i].first_offset, b.loops[i].first_offset);
    EXPECT_EQ(a.loops[i].last_offset, b.loops[i].last_offset);
  }
  ASSERT_EQ(a.instructions.size(), b.instructions.size());
  for (size_t i = 0; i < a.instructions.size(); ++i)
    expect_same_instruction(a.instructions[i], b.instructions[i]);
  ASSERT_EQ(a.blame.size(), b.blame.size());
  for (size_t i = 0; i < a.blame.size(); ++i) {
    EXPECT_EQ(a.blame[i].consumer, b.blame[i].consumer);
    EXPECT_EQ(a.blame[i].producer, b.blame[i].producer);
    EXPECT_EQ(a.blame[i].reason, b.blame[i].reason);
    EXPECT_EQ(a.blame[i].kind, b.blame[i].kind);
    EXPECT_EQ(a.blame[i].stalls, b.blame[i].stalls);
    EXPECT_EQ(a.blame[i].latency, b.blame[i].latency);
    EXPECT_EQ(a.blame[i].distance, b.blame[i].distance);
    EXPECT_EQ(a.blame[i].through, b.blame[i].through);
  }
}

TEST_F(DatabaseTest, KeepsFindingsAndSources) {
  Profile a = testing::sample_profile();
  a.sources.push_back({"/z/no lines.cu", {}});
  Result<Profile> read = read_profile(written(a));
  ASSERT_TRUE(read.ok()) << read.error().message();
  ASSERT_EQ(a.findings.size(), read->findings.size());
  for (size_t i = 0; i < a.findings.size(); ++i)
    expect_same_finding(a.findings[i], read->findings[i]);
  ASSERT_EQ(a.sources.size(), read->sources.size());
  for (size_t i = 0; i < a.sources.size(); ++i) {
    EXPECT_EQ(a.sources[i].file, read->sources[i].file);
    EXPECT_EQ(a.sources[i].lines, read->sources[i].lines);
  }
}

void expect_same_object(const NumaObjectFacts& a, const NumaObjectFacts& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.at, b.at);
  EXPECT_EQ(a.count, b.count);
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.reads, b.reads);
  EXPECT_EQ(a.writes, b.writes);
  EXPECT_EQ(a.remote, b.remote);
  EXPECT_EQ(a.false_invalidations, b.false_invalidations);
  EXPECT_EQ(a.true_invalidations, b.true_invalidations);
  EXPECT_EQ(a.remote_score, b.remote_score);
  EXPECT_EQ(a.false_score, b.false_score);
  EXPECT_EQ(a.true_score, b.true_score);
}

void expect_same_thread(const NumaThreadFacts& a, const NumaThreadFacts& b) {
  EXPECT_EQ(a.index, b.index);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.start, b.start);
  EXPECT_EQ(a.at, b.at);
  EXPECT_EQ(a.reads, b.reads);
  EXPECT_EQ(a.writes, b.writes);
  EXPECT_EQ(a.spin_reads, b.spin_reads);
  EXPECT_EQ(a.contended_locks, b.contended_locks);
  EXPECT_EQ(a.condition_waits, b.condition_waits);
  EXPECT_EQ(a.barrier_waits, b.barrier_waits);
  EXPECT_EQ(a.semaphore_waits, b.semaphore_waits);
  EXPECT_EQ(a.wait_seconds, b.wait_seconds);
  EXPECT_EQ(a.cpu_seconds, b.cpu_seconds);
  EXPECT_EQ(a.seconds, b.seconds);
}

TEST_F(DatabaseTest, KeepsThreadsAndObjects) {
  Profile a;
  a.numa = testing::sample_numa();
  Result<Profile> read = read_profile(written(a));
  ASSERT_TRUE(read.ok()) << read.error().message();
  ASSERT_EQ(read->numa.size(), a.numa.size());
  for (size_t i = 0; i < a.numa.size(); ++i) {
    const NumaFacts &x = a.numa[i], &y = read->numa[i];
    EXPECT_EQ(x.program, y.program);
    EXPECT_EQ(x.process, y.process);
    EXPECT_EQ(x.threads, y.threads);
    EXPECT_EQ(x.time_ms, y.time_ms);
    EXPECT_EQ(x.parallel_share, y.parallel_share);
    EXPECT_EQ(x.migration_score, y.migration_score);
    EXPECT_EQ(x.phases, y.phases);
    EXPECT_EQ(x.sampling, y.sampling);
    EXPECT_EQ(x.accesses_not_counted, y.accesses_not_counted);
    EXPECT_EQ(x.topology, y.topology);
    ASSERT_EQ(x.thread_facts.size(), y.thread_facts.size());
    for (size_t k = 0; k < x.thread_facts.size(); ++k)
      expect_same_thread(x.thread_facts[k], y.thread_facts[k]);
    ASSERT_EQ(x.objects.size(), y.objects.size());
    for (size_t k = 0; k < x.objects.size(); ++k) expect_same_object(x.objects[k], y.objects[k]);
  }
  for (const char* damage : {"UPDATE numa_threads SET numa_process = 2 WHERE rowid = 1",
                             "UPDATE numa_objects SET remote = reads + writes + 1 WHERE rowid = 1",
                             "UPDATE numa_processes SET time_ms = 'long'"}) {
    std::string file = written(a);
    run_sql(file, damage);
    EXPECT_NE(read_error(file).find("damaged profile database"), std::string::npos) << damage;
  }
}

TEST_F(DatabaseTest, KeepsAnEmptyProfile) {
  Result<Profile> read = read_profile(written(Profile{}));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_TRUE(read->contexts.empty());
  EXPECT_EQ(read->run.processes, 0u);
}

TEST_F(DatabaseTest, KeepsUnusualTexts) {
  Profile a;
  a.run.command = std::string("a\0b'\"\xff\n", 7);
  a.run.samples_total = ~uint64_t{0};
  a.run.exit_code = -11;
  Result<Profile> read = read_profile(written(a, "odd %41 name?#.fdb"));
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->run.command, a.run.command);
  EXPECT_EQ(read->run.samples_total, a.run.samples_total);
  EXPECT_EQ(read->run.exit_code, -11);
}

TEST_F(DatabaseTest, TheSameProfileGivesTheSameBytes) {
  std::string first = content(written(testing::sample_profile(), "first.fdb"));
  sleep(1);  // a timestamp would differ now
  EXPECT_EQ(first, content(written(testing::sample_profile(), "second.fdb")));
  Result<Profile> read = read_profile(path("first.fdb"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(first, content(written(*read, "third.fdb")));
}

TEST_F(DatabaseTest, ReplacesAnOlderFileAndLeavesNothingElse) {
  ASSERT_TRUE(write_file(path("run.fdb"), "something old").ok());
  written(testing::sample_profile());
  EXPECT_TRUE(read_profile(path("run.fdb")).ok());
  EXPECT_EQ(*list_directory(folder_), std::vector<std::string>{"run.fdb"});
}

TEST_F(DatabaseTest, RefusesToWriteWhatContradictsItself) {
  Profile profile = testing::sample_profile();
  profile.contexts[3].parent = 9;
  Result<Done> done = write_profile(profile, path("run.fdb"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().kind, ErrorKind::cannot_answer);
  EXPECT_NE(done.error().what.find("context 3"), std::string::npos);
  profile = testing::sample_profile();
  profile.kernels[0].share = 0.0 / 0.0;
  EXPECT_FALSE(write_profile(profile, path("run.fdb")).ok());
  EXPECT_TRUE(list_directory(folder_)->empty());
}

TEST_F(DatabaseTest, SaysWhereItCannotWrite) {
  Result<Done> done = write_profile(testing::sample_profile(), path("absent/run.fdb"));
  ASSERT_FALSE(done.ok());
  EXPECT_EQ(done.error().where, path("absent/run.fdb"));
  EXPECT_FALSE(done.error().hint.empty());
}

TEST_F(DatabaseTest, TellsForeignFilesApart) {
  EXPECT_NE(read_error(path("absent.fdb")).find("no such file"), std::string::npos);
  EXPECT_NE(read_error(folder_).find("directory"), std::string::npos);
  ASSERT_TRUE(write_file(path("text.fdb"), "This is a text.\n").ok());
  EXPECT_NE(read_error(path("text.fdb")).find("not a profile database"), std::string::npos);
  ASSERT_TRUE(write_file(path("empty.fdb"), "").ok());
  EXPECT_NE(read_error(path("empty.fdb")).find("not one of fathom's"), std::string::npos);
  run_sql(path("other.fdb"), "CREATE TABLE contexts (id INTEGER PRIMARY KEY)");
  EXPECT_NE(read_error(path("other.fdb")).find("not one of fathom's"), std::string::npos);
}

TEST_F(DatabaseTest, TellsOtherVersionsApart) {
  std::string file = written(testing::sample_profile());
  run_sql(file, "PRAGMA user_version = 99");
  EXPECT_NE(read_error(file).find("use a newer fathom"), std::string::npos);
  run_sql(file, "PRAGMA user_version = 0");
  EXPECT_NE(read_error(file).find("fathom analyze"), std::string::npos);
}

TEST_F(DatabaseTest, FindsEachSortOfDamageInTheTables) {
  for (const char* damage : {
           "UPDATE contexts SET parent = 7 WHERE id = 3",
           "UPDATE contexts SET kind = 'cloud' WHERE id = 3",
           "UPDATE contexts SET file = 1000 WHERE id = 3",
           "DELETE FROM contexts WHERE id = 5",
           "UPDATE contexts SET function = 77 WHERE id = 5",
           "UPDATE metric_values SET metric = -1 WHERE rowid = 1",
           "UPDATE metric_values SET context = 2 WHERE rowid = 1",
           "UPDATE metrics SET parent = 1 WHERE id = 1",
           "UPDATE kernels SET device = 4",
           "UPDATE kernels SET seconds = 'long'",
           "UPDATE kernel_contexts SET context = 500",
           "UPDATE launch_groups SET occupancy_limit = 'luck'",
           "UPDATE launch_groups SET grid_x = -1",
           "UPDATE loops SET parent = 1 WHERE id = 0",
           "UPDATE loops SET function = 3",
           "UPDATE instructions SET loop = 3 WHERE id = 1",
           "UPDATE instructions SET offset = 0",
           "UPDATE inline_frames SET outer_frame = id",
           "UPDATE stalls SET exposed = samples + 1",
           "UPDATE stalls SET reason = 19",
           "UPDATE topdown SET node = 49",
           "UPDATE blame SET consumer = 100000",
           "UPDATE blame SET class = ''",
           "UPDATE findings SET speedup_low = NULL WHERE id = 0",
           "UPDATE evidence SET finding = 6",
           "UPDATE source_lines SET source = 3",
           "UPDATE facts SET value = 'many' WHERE name = 'processes'",
           "UPDATE facts SET value = 2 WHERE name = 'finished'",
           "DELETE FROM facts WHERE name = 'host'",
           "UPDATE warnings SET severity = 'panic'",
           "UPDATE devices SET multiprocessors = 5000000000",
       }) {
    std::string file = written(testing::sample_profile());
    run_sql(file, damage);
    EXPECT_NE(read_error(file).find("damaged profile database"), std::string::npos) << damage;
  }
}

TEST_F(DatabaseTest, RefusesTablesThatAreQueries) {
  std::string file = written(testing::sample_profile());
  run_sql(
      file,
      "DROP TABLE warnings; CREATE VIEW warnings AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL "
      "SELECT i + 1 FROM n) SELECT 'note' AS severity, '' AS what, '' AS place, '' AS hint FROM n");
  EXPECT_NE(read_error(file).find("its tables are not what they should be"), std::string::npos);
}

TEST_F(DatabaseTest, TakesATruncatedFileForDamaged) {
  std::string whole = content(written(testing::sample_profile()));
  for (size_t size = 1; size < whole.size(); size += whole.size() / 23) {
    ASSERT_TRUE(write_file(path("cut.fdb"), std::string_view(whole).substr(0, size)).ok());
    EXPECT_FALSE(read_error(path("cut.fdb")).empty()) << size;
  }
}

TEST_F(DatabaseTest, FlippedBytesNeverCrashTheReader) {
  const std::string whole = content(written(testing::sample_profile()));
  std::mt19937 random(20240501);
  int refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::string damaged = whole;
    for (int flips = 1 + round % 8; flips > 0; --flips)
      damaged[random() % (round % 2 ? damaged.size() : 8192)] ^= char(1 + random() % 255);
    ASSERT_TRUE(write_file(path("damaged.fdb"), damaged).ok());
    Result<Profile> profile = read_profile(path("damaged.fdb"));
    // What is read in spite of it is consistent: a number or a letter may differ, no more.
    if (profile.ok()) {
      EXPECT_EQ(find_contradiction(*profile), "");
    }
    refused += !profile.ok();
  }
  EXPECT_GT(refused, 50);  // many bytes are letters, or belong to no row
}

TEST_F(DatabaseTest, CanBeQueriedByHand) {
  std::string file = written(testing::sample_profile());
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  sqlite3_stmt* statement = nullptr;
  ASSERT_EQ(sqlite3_prepare_v2(database, "SELECT file, line, samples FROM hot_lines LIMIT 1", -1,
                               &statement, nullptr),
            SQLITE_OK);
  ASSERT_EQ(sqlite3_step(statement), SQLITE_ROW);
  EXPECT_STREQ(reinterpret_cast<const char*>(sqlite3_column_text(statement, 0)),
               "/src/layers/kernels.cu");
  EXPECT_EQ(sqlite3_column_int(statement, 1), 18);
  EXPECT_EQ(sqlite3_column_int(statement, 2), 2435);
  sqlite3_finalize(statement);
  sqlite3_close(database);
}

#ifndef FATHOM_SANITIZED  // the same code as in the tests above, which takes long then
TEST_F(DatabaseTest, AHundredThousandInstructionsTakeSeconds) {
  Profile profile = testing::large_profile(100000);
  auto start = std::chrono::steady_clock::now();
  std::string file = written(profile);
  Result<Profile> read = read_profile(file);
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(read->instructions.size(), 100000u);
  EXPECT_EQ(read->blame.size(), 99999u);
  RecordProperty("milliseconds", int(seconds * 1000));
  EXPECT_LT(seconds, 30);  // about two; loose, for busy machines
}
#endif

TEST(EnumNames, EachWordLeadsBackToItsValue) {
  for (int i = 0; i < 12; ++i)
    EXPECT_EQ(value_of<ContextKind>(word_for(ContextKind(i))), ContextKind(i));
  for (int i = 0; i < 10; ++i)
    EXPECT_EQ(value_of<StallClass>(word_for(StallClass(i))), StallClass(i));
  for (int i = 0; i < 5; ++i)
    EXPECT_EQ(value_of<OccupancyLimit>(word_for(OccupancyLimit(i))), OccupancyLimit(i));
  EXPECT_EQ(value_of<MetricKind>("derived"), MetricKind::derived);
  EXPECT_EQ(value_of<WarningSeverity>("error"), WarningSeverity::error);
  EXPECT_FALSE(value_of<MetricKind>("").has_value());
}

}  // namespace
}  // namespace fathom
