#include "core/sha256.h"

#include <gtest/gtest.h>

#include <string>

namespace fathom::collect {
namespace {

std::string digest(const std::string& text) {
  std::string out;
  for (const uint8_t byte : sha256(text.data(), text.size())) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    out += digits;
  }
  return out;
}

// The examples of FIPS 180-4, and lengths around the padding's edges (checked with sha256sum).
TEST(Sha256, AgreesWithTheStandardsExamples) {
  EXPECT_EQ(digest(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(digest("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(digest("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(digest(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PadsAtTheEdgesOfABlock) {
  EXPECT_EQ(digest(std::string(55, 'a')),
            "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318");
  EXPECT_EQ(digest(std::string(56, 'a')),
            "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a");
  EXPECT_EQ(digest(std::string(64, 'a')),
            "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb");
}

TEST(Sha256, IsTheSameWithAndWithoutSpecialInstructions) {
  std::string text;
  for (int size = 0; size < 400; ++size) {
    EXPECT_EQ(sha256(text.data(), text.size()), sha256_portable(text.data(), text.size())) << size;
    text += static_cast<char>(size * 37 + 11);
  }
}

}  // namespace
}  // namespace fathom::collect
