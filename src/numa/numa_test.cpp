#include "numa/numa.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <set>

#include "numa/findings.h"
#include "numa/names.h"
#include "numa/testing.h"

namespace fathom {
namespace {

using testing::NumaProgram;

Profile analyzed(NumaProgram& program, const NumaOptions& options = {}) {
  Profile profile;
  Measurement measurement = program.read();
  EXPECT_TRUE(measurement.warnings.empty());
  find_numa_issues(measurement, options, profile);
  return profile;
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string suggestions(const Finding& finding) {
  std::string text;
  for (const std::string& one : finding.suggestions) text += one + "\n";
  return text;
}

double evidence(const Finding& finding, const std::string& name) {
  for (const Evidence& one : finding.evidence)
    if (one.name == name) return one.value;
  ADD_FAILURE() << "no evidence " << name;
  return 0;
}

/// The only finding of a program.
Finding only(const Profile& profile) {
  EXPECT_EQ(profile.findings.size(), 1u);
  for (const Finding& finding : profile.findings)
    if (profile.findings.size() > 1) ADD_FAILURE() << finding.kind << " of " << finding.subject;
  return profile.findings.empty() ? Finding{} : profile.findings[0];
}

void expect_complete(const Finding& finding) {
  EXPECT_FALSE(finding.title.empty());
  EXPECT_FALSE(finding.text.empty());
  EXPECT_FALSE(finding.suggestions.empty());
  EXPECT_FALSE(finding.evidence.empty());
  for (const Evidence& one : finding.evidence) EXPECT_TRUE(std::isfinite(one.value)) << one.name;
  for (const auto& range : {finding.speedup, finding.program_speedup}) {
    ASSERT_TRUE(range.has_value());
    EXPECT_GE(range->low, 1);
    EXPECT_GE(range->mid, range->low);
    EXPECT_GE(range->high, range->mid);
  }
  EXPECT_GE(finding.assumptions.size(), 2u);
}

/// Kinds and fixes must not depend on how many threads there are.
class WithWorkers : public ::testing::TestWithParam<uint32_t> {
 protected:
  NumaProgram program_{GetParam()};

  Finding find(const std::string& kind, const std::string& fix, const std::string& subject,
               uint32_t line) {
    Finding finding = only(analyzed(program_));
    EXPECT_EQ(finding.kind, kind);
    EXPECT_EQ(finding.fix, fix);
    EXPECT_EQ(finding.subject, subject);
    EXPECT_EQ(finding.location, (SourceLocation{"/project/app.cpp", line}));
    expect_complete(finding);
    return finding;
  }
};
INSTANTIATE_TEST_SUITE_P(Numa, WithWorkers, ::testing::Values(2, 3, 4, 8, 16));

TEST_P(WithWorkers, BlocksOfAnArrayGoToTheirThreads) {
  program_.blocks();
  Finding finding =
      find("remote-access", "block-interleave", "heap memory of make_field, app.cpp:12", 12);
  EXPECT_TRUE(contains(suggestions(finding), "pages 0 to 7: thread 1; pages 8 to 15: thread 2"));
  // A million by each worker, in 100 ms and its part of the main thread's; and beside each thread
  // there are as many as workers.
  double workers = double(GetParam());
  EXPECT_NEAR(evidence(finding, "remote score"), 1e6 / (100 + 100 / workers), 1e-6);
  ASSERT_GE(finding.related.size(), 3u);
  EXPECT_EQ(finding.related[0].role, "read here");
  EXPECT_EQ(finding.related[0].what, "in work, 70% of the sampled accesses");
  EXPECT_EQ(finding.related[1].role, "written here");
  EXPECT_EQ(finding.related[2].role, "called from");
  EXPECT_EQ(finding.related[2].what, "main");
}

TEST_P(WithWorkers, AnArrayThatAllThreadsChangeIsInterleaved) {
  program_.interleaved();
  find("remote-access", "page-interleave", "heap memory of make_grid, app.cpp:14", 14);
}

TEST_P(WithWorkers, ATableThatIsOnlyReadIsDuplicated) {
  program_.table();
  Finding finding = find("remote-access", "duplicate", "heap memory of make_table, app.cpp:16", 16);
  EXPECT_EQ(evidence(finding, "remote reads after the last write"), 1);
}

TEST_P(WithWorkers, CountersSideBySideArePadded) {
  program_.counters();
  Finding finding =
      find("false-sharing", "padding", "heap memory of make_counters, app.cpp:20", 20);
  EXPECT_TRUE(contains(finding.text, "words 0 to 1 by thread 1; words 2 to 3 by thread 2"))
      << finding.text;
  EXPECT_TRUE(contains(suggestions(finding), "from a stride of 8 bytes to 64"))
      << suggestions(finding);
  EXPECT_TRUE(contains(suggestions(finding), "128 bytes"));
}

TEST_P(WithWorkers, FieldsOfStructsOnTheHeapAreNamed) {
  program_.structs(8, 16);
  Finding finding = find("false-sharing", "padding", "heap memory of make_tallies, app.cpp:22", 22);
  EXPECT_TRUE(contains(finding.text,
                       "[0].count (words 2 to 3) by thread 1; [1].count (words 6 to 7) "
                       "by thread 2"))
      << finding.text;
  EXPECT_TRUE(
      contains(suggestions(finding), "pad the struct tally from a stride of 16 bytes to 64"))
      << suggestions(finding);
  EXPECT_EQ(finding.related.at(0).at.line, 42u);
  EXPECT_TRUE(contains(finding.related.at(0).what, "in work, "));
}

/// The words that are used are not those that the code says it accesses, or the block is not made
/// of such structs: then their names would be guesses.
TEST(Numa, FieldsThatAreNotCertainAreNotNamed) {
  for (auto [told, size] : {std::pair{0u, 16u}, std::pair{8u, 24u}}) {
    NumaProgram program(4);
    program.structs(told, size);
    Finding finding = only(analyzed(program));
    EXPECT_EQ(finding.kind, "false-sharing");
    EXPECT_FALSE(contains(finding.text, "count")) << finding.text;
    EXPECT_TRUE(contains(finding.text, "words 2 to 3 by thread 1")) << finding.text;
    EXPECT_FALSE(contains(suggestions(finding), "tally"));
  }
}

TEST_P(WithWorkers, FieldsOfAGlobalStructAreNamed) {
  program_.global_struct();
  Finding finding = find("false-sharing", "padding", "stats", 5);
  const char* others[] = {"thread 2", "threads 2 and 3", "threads 2, 3 and 4", "threads 2, 3, 4"};
  EXPECT_TRUE(contains(finding.text, "hits (words 0 to 1) by thread 1; misses (words 2 to 3) by " +
                                         std::string(others[std::min(GetParam() - 2, 3u)])))
      << finding.text;
  EXPECT_TRUE(contains(suggestions(finding), "put hits, misses on lines of their own"));
}

TEST_P(WithWorkers, ACounterOfAllThreadsIsTrueSharing) {
  program_.shared_counter();
  Finding finding = find("true-sharing", "", "app::total", 9);
  EXPECT_EQ(evidence(finding, "threads that share them"), GetParam());
}

TEST_P(WithWorkers, ThreadsThatWaitAreBoundAndSpread) {
  program_.waits(false);
  Finding finding = find("thread-migration", "thread-binding", "all threads", 36);
  ASSERT_GE(finding.related.size(), 2u);
  EXPECT_EQ(finding.related[0].role, "waits here");
  EXPECT_EQ(finding.related[0].what, "in work, 80% of the waits");
  EXPECT_EQ(finding.related[1].at.line, 38u);
  EXPECT_TRUE(contains(suggestions(finding), "round robin"));
  // 50 waits of each worker in 0.1 s of each thread, 90% of the time parallel.
  EXPECT_NEAR(evidence(finding, "migration score"),
              0.9 * 50 * GetParam() / (0.1 * (GetParam() + 1)), 1e-6);
}

TEST_P(WithWorkers, NeighboursThatShareAreBoundTogether) {
  program_.waits(true);
  Finding finding = find("thread-migration", "thread-binding", "all threads", 36);
  EXPECT_TRUE(contains(suggestions(finding), "packed"));
}

TEST_P(WithWorkers, UnequalStagesGetThreadsByTheirWork) {
  program_.stages(3);
  if (GetParam() == 2) {  // one of each: there is no thread to give
    EXPECT_TRUE(contains(suggestions(only(analyzed(program_))), "1 of work, 3 of drain"));
    return;
  }
  if (GetParam() == 3) {
    EXPECT_TRUE(contains(suggestions(only(analyzed(program_))), "1 of work, 2 of drain"));
    return;
  }
  Finding finding = find("load-imbalance", "thread-counts", "threads of work and drain", 60);
  EXPECT_EQ(evidence(finding, "imbalance"), 3);
  double now = evidence(finding, "threads of work") + evidence(finding, "threads of drain");
  double wanted = evidence(finding, "suggested threads of work") +
                  evidence(finding, "suggested threads of drain");
  EXPECT_EQ(wanted, now);
  EXPECT_EQ(wanted, GetParam());
  EXPECT_EQ(evidence(finding, "suggested threads of work"), GetParam() / 4.0);
}

TEST_P(WithWorkers, ACleanProgramHasNoFinding) {
  program_.local_blocks();
  program_.stages(1.4);
  EXPECT_TRUE(analyzed(program_).findings.empty());
}

/// The same work by more threads. Of T of them, T - 1 are others than a line's last one, and than a
/// page's first one, unless that is a main thread that only waits for them.
TEST(Numa, ScoresDoNotDependOnTheNumberOfThreads) {
  constexpr double kAccesses = 16'000'000;
  for (bool main_waits : {false, true})
    for (uint64_t workers : {2, 4, 8, 16}) {
      double by_others = kAccesses * double(workers - 1) / double(workers);
      NumaFacts program;
      program.threads = workers + main_waits;
      program.time_ms = 1600.0 / double(workers);
      NumaObjectFacts object;
      object.remote = uint64_t(main_waits ? kAccesses : by_others);
      set_scores(program, workers, object);
      EXPECT_DOUBLE_EQ(object.remote_score, 10'000) << workers << main_waits;
      object.false_invalidations = object.true_invalidations = by_others;
      set_scores(program, workers, object);
      EXPECT_DOUBLE_EQ(object.false_score, 10'000) << workers << main_waits;
      EXPECT_DOUBLE_EQ(object.true_score, 10'000) << workers << main_waits;
    }
}

TEST(Numa, AThreadThatOnlyWaitsIsNotOneOfThoseThatShare) {
  Measurement measurement = NumaProgram(4).read();
  NumaMeasurement& numa = measurement.processes[0].numa;
  EXPECT_EQ(parallel_threads(numa), 4u);
  numa.threads[0].parallel_accesses = numa.threads[1].parallel_accesses / 200;
  EXPECT_EQ(parallel_threads(numa), 4u);
  numa.threads[0].parallel_accesses = numa.threads[1].parallel_accesses / 20;
  EXPECT_EQ(parallel_threads(numa), 5u);
}

TEST(Numa, TheTimeIsDividedByTheThreadsThatWork) {
  NumaProgram program(4);
  program.blocks();
  EXPECT_DOUBLE_EQ(analyzed(program).numa.at(0).time_ms, (100 + 4 * 100) / 4.0);
}

TEST(Numa, LocalAndRemoteAccessesAddUp) {
  NumaProgram program(4);
  program.blocks();
  program.table();
  program.local_blocks();
  program.counters();
  program.global_struct();
  program.shared_counter();
  Measurement measurement = program.read();
  uint64_t accesses = 0, remote = 0, local = 0, remote_of_facts = 0;
  for (const NumaObject& object : measurement.processes[0].numa.objects) {
    accesses += object.reads + object.writes;
    remote += object.remote_accesses;
  }
  Profile profile;
  find_numa_issues(measurement, {}, profile);
  for (const NumaObjectFacts& facts : profile.numa.at(0).objects) {
    EXPECT_LE(facts.remote, facts.reads + facts.writes);
    local += facts.local();
    remote_of_facts += facts.remote;
  }
  EXPECT_EQ(remote_of_facts, remote);
  EXPECT_EQ(local + remote, accesses);
}

TEST(Numa, APageOfManyVariablesIsDividedByItsLines) {
  NumaProgram program(4);
  program.global_struct();
  Profile profile = analyzed(program);
  std::map<std::string, NumaObjectFacts> facts;
  for (const NumaObjectFacts& one : profile.numa.at(0).objects) facts[one.name] = one;
  // 400,000 writes are known to be to its line; the others count for the largest variable.
  EXPECT_EQ(facts.at("stats").writes, 400'000u);
  EXPECT_EQ(facts.at("stats").remote, 180'000u);
  EXPECT_EQ(facts.at("buffer").writes, 1'600'000u);
  EXPECT_EQ(facts.at("buffer").remote, 720'000u);
  EXPECT_EQ(facts.at("other data of app").writes, 1'000'000u);
  EXPECT_EQ(facts.at("other data of app").remote, 100'000u);
  EXPECT_EQ(facts.at("stats").kind, "variable");
  EXPECT_EQ(facts.at("stats").false_invalidations, 2e5);
}

TEST(Numa, InvalidationsHideTheRemoteScore) {
  NumaProgram program(4);
  program.counters();  // its invalidations are 60% of its remote accesses
  Profile profile = analyzed(program);
  EXPECT_EQ(profile.numa.at(0).objects.at(0).remote_score, 0);
  EXPECT_GT(profile.numa.at(0).objects.at(0).false_score, 1);
}

TEST(Numa, SampledCountsAreScaledInScores) {
  NumaProgram all(4), sampled(4);
  all.table();
  sampled.table();
  sampled.sampling(3);
  double whole = evidence(only(analyzed(all)), "remote score");
  EXPECT_DOUBLE_EQ(evidence(only(analyzed(sampled)), "remote score"), 8 * whole);
}

TEST(Numa, ThresholdsAreConfigurable) {
  NumaProgram program(4);
  program.blocks();
  program.counters();
  program.shared_counter();
  program.waits(false);
  program.stages(3);
  Measurement measurement = program.read();
  NumaOptions options;
  for (const char* text : {"remote-access=1e9", "false-sharing=1e9", "true-sharing=1e9",
                           "thread-migration=1e9", "load-imbalance=4"}) {
    Profile before, after;
    find_numa_issues(measurement, options, before);
    ASSERT_TRUE(set_threshold(text, options.thresholds).ok());
    find_numa_issues(measurement, options, after);
    EXPECT_EQ(after.findings.size() + 1, before.findings.size()) << text;
  }
  for (const char* bad : {"", "remote-access", "remote-access=", "remote=1", "false-sharing=x",
                          "true-sharing=-1", "load-imbalance=nan", "thread-migration=1 "})
    EXPECT_FALSE(set_threshold(bad, options.thresholds).ok()) << bad;
}

TEST(Numa, GainsGrowWithTheDistanceOfTheNodes) {
  auto gain = [](const char* topology, bool table) {
    NumaProgram program(8);
    table ? program.table() : program.counters();
    NumaOptions options;
    options.topology = parse_topology(topology).value();
    return *only(analyzed(program, options)).program_speedup;
  };
  for (bool table : {true, false}) {
    EXPECT_LT(gain("2x16:1,1.6", table).mid, gain("2x16:1,3", table).mid);
    EXPECT_LT(gain("2x16:1,1.6", table).mid, gain("8x16:1,1.6", table).mid);
  }
  EXPECT_GT(gain("1x16:1", false).mid, 1) << "lines wander between the cores of one node, too";
  // 8 threads on 2 nodes: 4/7 of the remote accesses, which are all, take 1.6 times as long.
  double mid = gain("2x16:1,1.6", true).mid;
  EXPECT_NEAR(mid, 1 / (1 - 0.3 * (1 - 1 / (1 + 4.0 / 7 * 0.6))), 2e-3);
}

TEST(Numa, OneNodeHasNoRemoteMemory) {
  NumaProgram program(8);
  program.table();
  NumaOptions options;
  options.topology = parse_topology("1x16:1").value();
  Profile profile = analyzed(program, options);
  EXPECT_TRUE(profile.findings.empty());
  EXPECT_GT(profile.numa.at(0).objects.at(0).remote_score, 1500) << "the score knows no topology";
}

TEST(Numa, NamesOfFortranModulesAreReadable) {
  EXPECT_EQ(source_name("__grid_MOD_field"), "grid::field");
  EXPECT_EQ(source_name("_ZN3app5totalE"), "app::total");
  EXPECT_EQ(source_name("_MOD_x"), "_MOD_x");
  EXPECT_EQ(source_name("__MOD_"), "__MOD_");
}

TEST(Numa, TheTopologyIsNamedInEachFindingThatRestsOnIt) {
  NumaProgram program(4);
  program.blocks();
  program.counters();
  Profile profile = analyzed(program);
  EXPECT_EQ(profile.numa.at(0).topology, "2x16:1,1.6");
  for (const Finding& finding : profile.findings)
    EXPECT_TRUE(contains(finding.assumptions.at(0), "topology 2x16:1,1.6"));
}

TEST(Numa, FindingsComeInTheOrderOfTheirGain) {
  NumaProgram program(8);
  program.blocks();
  program.counters();
  program.stages(3);
  Profile profile = analyzed(program);
  ASSERT_EQ(profile.findings.size(), 3u);
  for (size_t i = 1; i < 3; ++i)
    EXPECT_GE(profile.findings[i - 1].program_speedup->mid,
              profile.findings[i].program_speedup->mid);
}

TEST(Numa, ForgedRecordsNeverBreakTheAnalysis) {
  NumaProgram program(4);
  program.blocks();
  program.interleaved();
  program.table();
  program.counters();
  program.global_struct();
  program.shared_counter();
  program.waits(true);
  program.stages(3);
  const std::map<std::string, std::string> files = program.files();
  testing::TemporaryDirectory directory;
  testing::write_files(directory.path(), files);
  std::mt19937 random(20240807);
  for (const auto& [file, bytes] : files) {
    if (!file.ends_with("numa.fathom") && file != "run.fathom") continue;
    std::vector<Damage> damages;
    std::vector<Chunk> chunks =
        read_chunks({reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size()}, damages);
    for (int round = 0; round < 300; ++round) {
      std::string forged;
      for (const Chunk& chunk : chunks) {
        std::string payload(as_text(chunk.payload));
        for (size_t flips = random() % 3; flips > 0; --flips)
          payload[random() % payload.size()] = char(random() % 2 ? random() : 255);
        forged += encode_chunk(chunk.type, payload);
      }
      testing::write_files(directory.path(), {{file, forged}});
      Result<Measurement> measurement = read_measurement(directory.path());
      ASSERT_TRUE(measurement.ok());
      Profile profile;
      find_numa_issues(*measurement, {}, profile);
      for (const Finding& finding : profile.findings) expect_complete(finding);
      for (const NumaFacts& facts : profile.numa)
        for (const NumaObjectFacts& object : facts.objects)
          ASSERT_TRUE(object.remote <= object.reads ||
                      object.remote - object.reads <= object.writes);
    }
    testing::write_files(directory.path(), {{file, bytes}});
  }
}

TEST(Numa, OpenMPThreadsAreNotComparedWithOthers) {
  NumaProgram program(4);
  program.stages(3);
  Measurement measurement = program.read();
  Profile before, after;
  find_numa_issues(measurement, {}, before);
  EXPECT_EQ(only(before).kind, "load-imbalance");
  for (NumaThread& thread : measurement.processes[0].numa.threads)
    if (thread.index > 2) thread.kind = NumaThreadKind::openmp;
  find_numa_issues(measurement, {}, after);
  EXPECT_TRUE(after.findings.empty());
}

TEST(Numa, HelpersOfOneThreadAreNoImbalance) {
  NumaProgram program(5);
  program.helper();
  EXPECT_TRUE(analyzed(program).findings.empty());
}

TEST(Numa, AFewWaitsInAShortRunAreNoMigration) {
  NumaProgram program(4);
  program.waits(false);
  Measurement measurement = program.read();
  for (NumaThread& thread : measurement.processes[0].numa.threads) {
    thread.contended_locks /= 10, thread.condition_waits = thread.barrier_waits = 0;
    thread.cpu_ns /= 100;
  }
  Profile profile;
  find_numa_issues(measurement, {}, profile);
  EXPECT_GT(profile.numa.at(0).migration_score, 150);
  EXPECT_TRUE(profile.findings.empty());
}

TEST(Numa, MemoryBelongsToTheCallersOfHelpersThatAllocate) {
  NumaProgram program(4);
  program.allocate_by_helpers();
  Profile profile = analyzed(program);
  std::set<std::string> names;
  for (const Finding& finding : profile.findings) {
    names.insert(finding.subject);
    EXPECT_EQ(finding.related.at(2).role, "allocated in");
  }
  EXPECT_EQ(names, (std::set<std::string>{"heap memory of setup, app.cpp:41",
                                          "heap memory of setup, app.cpp:42",
                                          "heap memory of setup, app.cpp:43"}));
}

TEST(Numa, LinesWithoutAWordOfOneThreadAloneAreTrulyShared) {
  NumaProgram program(4);
  program.shared_counter();
  Measurement measurement = program.read();
  NumaLine& line = measurement.processes[0].numa.lines.at(0);
  line.false_invalidations = 5000;  // of a thread that no word was counted for
  double all = line.false_invalidations + line.true_invalidations;
  Profile profile;
  find_numa_issues(measurement, {}, profile);
  EXPECT_EQ(only(profile).kind, "true-sharing");
  EXPECT_EQ(evidence(only(profile), "invalidations by the same words"), all);
  line.shares.resize(1);  // now nothing can be told from the words
  Profile unknown;
  find_numa_issues(measurement, {}, unknown);
  EXPECT_EQ(unknown.findings.size(), 2u);
}

TEST(Numa, AProcessWithoutInstrumentedCodeIsNotSilent) {
  testing::MeasurementBuilder builder;
  testing::NumaBuilder numa(builder.add_process());
  numa.snapshot();
  testing::TemporaryDirectory directory;
  builder.write(directory.path());
  Profile profile;
  find_numa_issues(read_measurement(directory.path()).value(), {}, profile);
  ASSERT_EQ(profile.warnings.size(), 1u);
  EXPECT_TRUE(contains(profile.warnings[0].hint, "fathom cc"));
  EXPECT_TRUE(profile.findings.empty());
}

}  // namespace
}  // namespace fathom
