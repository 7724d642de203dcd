#include <gtest/gtest.h>

#include <cstdio>

#include "base/bytes.h"
#include "base/files.h"
#include "base/sha256.h"
#include "base/text.h"

namespace fathom {
namespace {

Bytes bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256_hex({}), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex(bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(bytes_of("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
}

TEST(ByteReader, StaysWithinItsBytes) {
  const uint8_t data[] = {1, 2, 3, 0xe5, 0x8e, 0x26, 'h', 'i', 0};
  ByteReader reader(data);
  EXPECT_EQ(reader.u16(), 0x0201);
  reader.skip(1);
  EXPECT_EQ(reader.uleb128(), 624485u);
  EXPECT_EQ(reader.c_string(), "hi");
  EXPECT_TRUE(reader.at_end());
  EXPECT_FALSE(reader.failed());
  EXPECT_EQ(reader.u32(), 0u);
  EXPECT_TRUE(reader.failed());
}

TEST(ByteReader, ReadsSignedLeb128) {
  const uint8_t data[] = {0xc0, 0xbb, 0x78, 0x7f};
  ByteReader reader(data);
  EXPECT_EQ(reader.sleb128(), -123456);
  EXPECT_EQ(reader.sleb128(), -1);
}

TEST(Text, ShortNameDropsReturnTypeAndParameters) {
  EXPECT_EQ(short_name("void ns::kernel<float, 4>(float*, int)"), "ns::kernel<float, 4>");
  EXPECT_EQ(short_name("saxpy(int, float (*)(int))"), "saxpy");
  EXPECT_EQ(short_name("plain"), "plain");
}

TEST(Text, HumanUnits) {
  EXPECT_EQ(human_seconds(0.00123), "1.23 ms");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
  EXPECT_EQ(human_count(1234567), "1,234,567");
  EXPECT_EQ(human_percent(0.1234), "12.3%");
}

TEST(Files, ErrorsNameThePath) {
  Result<std::string> missing = read_text_file("/nonexistent/file");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message().find("/nonexistent/file"), std::string::npos);
}

TEST(Files, RunProgramReturnsOutputOrTheComplaint) {
  Result<std::string> hello = run_program({"sh", "-c", "echo hello"});
  ASSERT_TRUE(hello.ok());
  EXPECT_EQ(*hello, "hello\n");
  Result<std::string> bad = run_program({"sh", "-c", "echo broken >&2; exit 3"});
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().what, "exited with 3: broken");
  EXPECT_FALSE(run_program({"/nonexistent/program"}).ok());
}

}  // namespace
}  // namespace fathom
