#include <gtest/gtest.h>

#include <cmath>

#include "measurement/measurement.h"
#include "measurement/numa_testing.h"

namespace fathom {
namespace {

using testing::MeasurementBuilder;
using testing::NumaBuilder;
using testing::ProcessBuilder;
using testing::RecordFile;
using testing::TemporaryDirectory;

/// A process with two threads that share an array; what is read of it after `change`.
struct Recording {
  MeasurementBuilder builder;
  ProcessBuilder& process = builder.add_process();
  uint32_t app = process.module("/bin/app");
  NumaBuilder numa{process};
  uint32_t outer = numa.frame(record::kNone, app, 0x30), inner = numa.frame(outer, app, 0x40);

  void add_snapshot(uint64_t reads, bool is_last) {
    numa.module(app);
    record::NumaThread main{};
    main.start_module = main.created_at = record::kNone;
    main.end_ns = main.cpu_ns = 5;
    numa.thread(main);
    record::NumaThread worker{};
    worker.kind = record::ThreadKind::pthread;
    worker.start_module = app;
    worker.start_address = 0x50;
    worker.created_at = outer;
    worker.reads = reads;
    worker.barrier_waits = 7;
    numa.thread(worker);
    record::NumaObject object{};
    object.call_path = inner;
    object.module = record::kNone;
    object.thread = 1;
    object.size = 8192;
    object.reads = reads + 1;
    object.remote_accesses = reads;
    uint32_t id = numa.object(object);
    record::NumaPage page{};
    page.address = 0x7000;
    page.object = id;
    page.reads = reads;
    page.remote_reads = page.reads_after_last_write = reads;
    uint32_t number = numa.page(page);
    numa.page_thread({number, 1, reads, 0});
    numa.page_thread({number, 9, 1, 0});
    uint32_t line = numa.line({0x7040, id, 2, 1.5, 0.25, 10, 20});
    record::NumaLineThread share{};
    share.line = line;
    share.thread = 1;
    share.writes[3] = 20;
    numa.line_thread(share);
    numa.place({id, app, 0x60, 12, 1, 0});
    numa.place({record::kNone, app, 0x70, 8, 0, 0});
    numa.snapshot(is_last);
  }

  Measurement read() {
    TemporaryDirectory directory;
    builder.write(directory.path());
    Result<Measurement> measurement = read_measurement(directory.path());
    EXPECT_TRUE(measurement.ok());
    return measurement.ok() ? *measurement : Measurement{};
  }
};

bool warned(const Measurement& measurement, const std::string& part) {
  for (const Warning& warning : measurement.warnings)
    if (warning.what.find(part) != std::string::npos) return true;
  return false;
}

TEST(NumaRecords, BecomeThreadsObjectsPagesAndLines) {
  Recording recording;
  recording.add_snapshot(100, true);
  Measurement measurement = recording.read();
  EXPECT_TRUE(measurement.warnings.empty());
  const Process& process = measurement.processes.at(0);
  const NumaMeasurement& numa = process.numa;
  EXPECT_EQ(numa.number, 1u);
  EXPECT_TRUE(numa.is_last);
  EXPECT_EQ(numa.epochs, 3u);
  EXPECT_EQ(numa.modules, std::vector<uint32_t>{0});
  ASSERT_EQ(numa.threads.size(), 2u);
  EXPECT_EQ(numa.threads[0].start_module, kNoId);
  EXPECT_EQ(numa.threads[1].kind, NumaThreadKind::pthread);
  EXPECT_EQ(process.call_paths.at(numa.threads[1].created_at).address, 0x30u);
  EXPECT_EQ(numa.threads[1].barrier_waits, 7u);
  ASSERT_EQ(numa.objects.size(), 1u);
  EXPECT_EQ(process.call_paths.at(numa.objects[0].call_path).address, 0x40u);
  EXPECT_EQ(numa.objects[0].thread, 1u);
  EXPECT_EQ(numa.objects[0].remote_accesses, 100u);
  ASSERT_EQ(numa.pages.size(), 1u);
  EXPECT_EQ(numa.pages[0].first_thread, 0u);
  ASSERT_EQ(numa.pages[0].shares.size(), 2u);
  EXPECT_EQ(numa.pages[0].shares[0].reads, 100u);
  EXPECT_EQ(numa.pages[0].shares[1].thread, kNoId) << "thread 9 is not in the file";
  ASSERT_EQ(numa.lines.size(), 1u);
  EXPECT_EQ(numa.lines[0].false_invalidations, 1.5);
  EXPECT_EQ(numa.lines[0].shares.at(0).writes[3], 20u);
  ASSERT_EQ(numa.places.size(), 1u);
  EXPECT_TRUE(numa.places[0].is_write);
  ASSERT_EQ(numa.waits.size(), 1u);
  EXPECT_EQ(numa.waits[0].module, 0u);
  EXPECT_EQ(numa.waits[0].address, 0x70u);
  EXPECT_EQ(numa.waits[0].samples, 8u);
}

TEST(NumaRecords, TheLastWholeSnapshotCounts) {
  Recording recording;
  recording.add_snapshot(100, false);
  recording.add_snapshot(300, true);
  EXPECT_EQ(recording.read().processes.at(0).numa.threads.at(1).reads, 300u);
}

TEST(NumaRecords, MayComeInAnyOrderBeforeTheirSnapshot) {
  Recording recording;
  RecordFile& file = recording.process.file("numa.fathom");
  record::NumaPage page{};
  page.object = 4;
  page.reads = 5;
  file.add(record::ChunkType::numa_page_thread, record::NumaPageThread{0, 3, 5, 0});
  file.add(record::ChunkType::numa_page, page);
  record::NumaObject object{};
  object.id = 4;
  file.add(record::ChunkType::numa_object, object);
  record::NumaThread thread{};
  thread.index = 3;
  file.add(record::ChunkType::numa_thread, thread);
  record::NumaSnapshot snapshot{};
  snapshot.records = 4;
  file.add(record::ChunkType::numa_snapshot, snapshot);
  Measurement measurement = recording.read();
  const NumaMeasurement& numa = measurement.processes.at(0).numa;
  ASSERT_EQ(numa.pages.size(), 1u);
  EXPECT_EQ(numa.pages[0].reads, 5u);
  ASSERT_EQ(numa.pages[0].shares.size(), 1u);
  EXPECT_EQ(numa.threads.at(numa.pages[0].shares[0].thread).index, 3u);
}

TEST(NumaRecords, ASnapshotThatLacksARecordIsLeftOut) {
  Recording recording;
  recording.add_snapshot(100, false);
  recording.numa.module(recording.app);  // one that the next snapshot does not count
  recording.process.file("numa.fathom").end_chunk();
  recording.process.file("numa.fathom")
      .add(record::ChunkType::numa_snapshot, record::NumaSnapshot{});
  Measurement measurement = recording.read();
  EXPECT_EQ(measurement.processes.at(0).numa.threads.at(1).reads, 100u);
  EXPECT_TRUE(warned(measurement, "lacks records"));
  EXPECT_TRUE(warned(measurement, "after the last whole snapshot"));
}

TEST(NumaRecords, WithoutAWholeSnapshotNothingIsInvented) {
  Recording recording;
  recording.numa.module(recording.app);
  Measurement measurement = recording.read();
  EXPECT_EQ(measurement.processes.at(0).numa.number, 0u);
  EXPECT_TRUE(measurement.processes.at(0).numa.modules.empty());
  EXPECT_TRUE(warned(measurement, "no snapshot"));
}

TEST(NumaRecords, ImpossibleOnesAreLeftOutAndTheOthersKeepTheirReferences) {
  Recording recording;
  NumaBuilder& numa = recording.numa;
  record::NumaThread backwards{};
  backwards.start_ns = 2;
  numa.thread(backwards);
  record::NumaObject object{};
  object.reads = 3;
  object.remote_accesses = 4;
  uint32_t impossible = numa.object(object);
  object.reads = ~uint64_t{0};
  object.writes = ~uint64_t{0};
  uint32_t id = numa.object(object);
  record::NumaPage page{};
  page.object = id;
  page.remote_writes = 1;
  numa.page(page);
  page.object = impossible;
  page.remote_writes = 0;
  numa.page(page);
  page.object = id;
  page.address = 0x9000;
  uint32_t good = numa.page(page);
  numa.page_thread({0, 0, 1, 1});
  numa.page_thread({good, 0, 5, 5});
  numa.page_thread({77, 0, 1, 1});
  numa.line({0x40, id, 2, NAN, 0, 1, 1});
  numa.line({0x80, id, 2, 0, -1, 1, 1});
  uint32_t line = numa.line({0xc0, id, 2, 3, 4, 1, 1});
  record::NumaLineThread share{};
  share.line = line;
  numa.line_thread(share);
  share.line = 99;
  numa.line_thread(share);
  numa.place({impossible, 0, 0, 1, 0, 0});
  numa.snapshot();
  Measurement measurement = recording.read();
  const NumaMeasurement& read = measurement.processes.at(0).numa;
  EXPECT_EQ(read.number, 1u);
  EXPECT_TRUE(read.threads.empty());
  ASSERT_EQ(read.objects.size(), 1u);
  ASSERT_EQ(read.pages.size(), 1u);
  EXPECT_EQ(read.pages[0].address, 0x9000u);
  ASSERT_EQ(read.pages[0].shares.size(), 1u);
  EXPECT_EQ(read.pages[0].shares[0].reads, 5u);
  ASSERT_EQ(read.lines.size(), 1u);
  EXPECT_EQ(read.lines[0].true_invalidations, 4);
  EXPECT_EQ(read.lines[0].shares.size(), 1u);
  EXPECT_TRUE(read.places.empty());
  EXPECT_GE(measurement.warnings.size(), 7u);
}

TEST(DataSymbols, AreSortedByAddressForEachModule) {
  MeasurementBuilder builder;
  builder.variable("/bin/app", {0x200, 8, 12, 0}, "b", "app.c", "long");
  builder.variable("/bin/app", {0x100, 64, 11, 16}, "a", "app.c", "pair [4]");
  builder.variable("/bin/app", {~uint64_t{0}, 64, 11, 16}, "c", "app.c", "");
  builder.add_process();
  TemporaryDirectory directory;
  builder.write(directory.path());
  Result<Measurement> measurement = read_measurement(directory.path());
  ASSERT_TRUE(measurement.ok());
  const std::vector<DataVariable>& variables = measurement->variables.at("/bin/app");
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].name, "a");
  EXPECT_EQ(variables[0].element_size, 16u);
  EXPECT_EQ(variables[0].type, "pair [4]");
  EXPECT_EQ(variables[1].at.line, 12u);
  EXPECT_TRUE(warned(*measurement, "leaves the address space"));
}

}  // namespace
}  // namespace fathom
