#include "record/writer.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>

#include "record/test_reader.h"

namespace fathom::record {
namespace {

class WriterTest : public testing::Test {
 protected:
  WriterTest() {
    char pattern[] = "/tmp/fathom-writer-test-XXXXXX";
    directory_ = mkdtemp(pattern);
    path_ = directory_ + "/file.fathom";
  }
  ~WriterTest() override {
    unlink(path_.c_str());
    rmdir(directory_.c_str());
  }
  std::string directory_, path_;
};

ApiCall call(uint32_t id) {
  return {id, 3, ApiKind::copy, 1, 1000 + id};
}

TEST_F(WriterTest, ReadsBackWhatWasWritten) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.open(path_));
  for (uint32_t i = 0; i < 100; ++i) writer.add(ChunkType::api_call, call(i));
  writer.add_text(ChunkType::load_module, LoadModule{1, 2, 3, 4, 0}, {"/bin/x", ""});
  writer.close();
  EXPECT_EQ(writer.error(), 0);
  const TestFile file = read_chunks(path_);
  EXPECT_EQ(file.left_over, 0u);
  const auto calls = records<ApiCall>(file, ChunkType::api_call);
  ASSERT_EQ(calls.size(), 100u);
  EXPECT_EQ(calls[99].correlation, 99u);
  EXPECT_EQ(calls[99].gpu_time_ns, 1099u);
  const auto modules = text_records<LoadModule>(file, ChunkType::load_module, 2);
  ASSERT_EQ(modules.size(), 1u);
  EXPECT_EQ(modules[0].record.bias, 3u);
  EXPECT_EQ(modules[0].strings, (std::vector<std::string>{"/bin/x", ""}));
}

TEST_F(WriterTest, WritesCallPathsBeforeTheCallsThatReferToThem) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.open(path_));
  writer.add(ChunkType::api_call, call(1));
  writer.add(ChunkType::call_path_node, CallPathNode{0, kNone, 0, 0, 4});
  writer.flush();
  const TestFile file = read_chunks(path_);
  ASSERT_EQ(file.chunks.size(), 2u);
  EXPECT_EQ(file.chunks[0].type, ChunkType::call_path_node);
}

TEST_F(WriterTest, WritesByItselfOnceMuchHasGathered) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.open(path_));
  for (uint32_t i = 0; i < 10000; ++i) writer.add(ChunkType::api_call, call(i));
  EXPECT_GT(records<ApiCall>(read_chunks(path_), ChunkType::api_call).size(), 5000u);
  writer.abandon();
  EXPECT_LT(records<ApiCall>(read_chunks(path_), ChunkType::api_call).size(), 10000u);
}

TEST_F(WriterTest, NeverWritesOverAnExistingFile) {
  ChunkWriter first, second, third;
  ASSERT_TRUE(first.open(path_));
  first.add(ChunkType::api_call, call(1));
  first.close();
  EXPECT_FALSE(second.open(path_));
  EXPECT_EQ(second.error(), EEXIST);
  second.add(ChunkType::api_call, call(2));
  ASSERT_TRUE(third.open(path_, true));
  third.add(ChunkType::api_call, call(3));
  third.close();
  EXPECT_EQ(records<ApiCall>(read_chunks(path_), ChunkType::api_call).size(), 2u);
}

TEST_F(WriterTest, AFullDiskLeavesWholeChunksAndNoMore) {
  // A limit on the size of files stands in for a full disk: writes come back short, then fail.
  signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{100000, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  ChunkWriter writer;
  ASSERT_TRUE(writer.open(path_));
  for (uint32_t i = 0; i < 20000; ++i) writer.add(ChunkType::api_call, call(i));
  writer.flush();
  setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_EQ(writer.error(), EFBIG);
  EXPECT_FALSE(writer.is_open());
  writer.add(ChunkType::api_call, call(0));
  writer.flush();
  const TestFile file = read_chunks(path_);
  EXPECT_EQ(file.left_over, 0u);
  EXPECT_EQ(file.chunks.size(), 1u);
}

TEST_F(WriterTest, KeepsErrno) {
  ChunkWriter writer;
  ASSERT_TRUE(writer.open(path_));
  writer.add(ChunkType::api_call, call(1));
  errno = 77;
  writer.flush();
  EXPECT_EQ(errno, 77);
}

}  // namespace
}  // namespace fathom::record
