#include "binary/gpu_binary.h"

#include <gtest/gtest.h>

#include <cstring>

#include "binary/test_support.h"

namespace fathom {
namespace {

using FileBytes = std::vector<uint8_t>;

FileBytes tiny() {
  return *fixture_bytes("tiny.sm_90.cubin");
}

Result<GpuBinary> open_bytes(FileBytes bytes) {
  return open_gpu_binary(std::make_shared<const FileBytes>(std::move(bytes)), "some.cubin");
}

void put32(FileBytes& bytes, size_t offset, uint32_t value) {
  std::memcpy(bytes.data() + offset, &value, sizeof value);
}

/// The message for a binary with these bytes.
std::string complaint(FileBytes bytes) {
  Result<GpuBinary> binary = open_bytes(std::move(bytes));
  return binary ? "it opened" : binary.error().message();
}

constexpr size_t kClass = 4, kAbiVersion = 8, kMachine = 18, kFlags = 48;

TEST(GpuBinary, KernelsAndDeviceFunctionsShareSectionsWithoutOverlap) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  EXPECT_EQ(binary.arch, "sm_90");
  EXPECT_EQ(binary.compute, 90u);
  const GpuSymbol* kernel = binary.find("nested");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->is_kernel);
  const GpuSymbol* callee = binary.find(kernel->section, kernel->offset + kernel->size);
  ASSERT_NE(callee, nullptr);
  EXPECT_NE(callee->name.find("series"), std::string::npos);
  EXPECT_FALSE(callee->is_kernel);
  EXPECT_EQ(binary.find(kernel->section, kernel->offset), kernel);
  EXPECT_EQ(binary.find("absent"), nullptr);
  EXPECT_EQ(binary.find(12345, 0), nullptr);
  uint64_t end = 0;
  uint32_t section = 0;
  for (const GpuSymbol& function : binary.functions) {
    if (function.section == section) {
      EXPECT_GE(function.offset, end);
    }
    section = function.section;
    end = function.offset + function.size;
    EXPECT_EQ(binary.code(function).size(), function.size);
  }
}

TEST(GpuBinary, ResourcesComeFromTheCompilersNotes) {
  GpuBinary binary = open_fixture("inlining.sm_90.cubin");
  KernelResources nested = kernel_resources(binary, *binary.find("nested"));
  EXPECT_EQ(nested.max_threads, 256u);
  EXPECT_GT(nested.registers, 4u);
  EXPECT_EQ(nested.static_shared, 0u);
  KernelResources reduce = kernel_resources(binary, *binary.find("_Z6reduceIdEvPT_PKS0_i"));
  EXPECT_EQ(reduce.static_shared, 128 * sizeof(double));
  EXPECT_EQ(reduce.max_threads, 0u);
}

TEST(GpuBinary, ArchitectureIsReadFromOldAndNewFlags) {
  FileBytes bytes = tiny();
  bytes[kAbiVersion] = 7;
  put32(bytes, kFlags, 0x5a055a);
  EXPECT_EQ(open_bytes(bytes)->arch, "sm_90");
  put32(bytes, kFlags, 0x5a0d5a);
  EXPECT_EQ(open_bytes(bytes)->arch, "sm_90a");
  bytes[kAbiVersion] = 8;
  put32(bytes, kFlags, 0x6006402);
  EXPECT_EQ(open_bytes(bytes)->arch, "sm_100");
  put32(bytes, kFlags, 0x600640a);
  EXPECT_EQ(open_bytes(bytes)->arch, "sm_100a");
}

TEST(GpuBinary, ArchitectureSpecificCodeIsMarkedInTheCompatibilityNotes) {
  FileBytes bytes = tiny();
  const uint8_t plain[] = {2, 9, 0, 0, 2, 2};
  auto at = std::search(bytes.begin(), bytes.end(), std::begin(plain), std::end(plain));
  ASSERT_NE(at, bytes.end());
  at[2] = 1;
  EXPECT_EQ(open_bytes(bytes)->arch, "sm_90a");
}

TEST(GpuBinary, ErrorsSayWhatWasFound) {
  EXPECT_EQ(complaint({}).rfind("some.cubin: the file is empty", 0), 0u) << complaint({});
  EXPECT_NE(complaint({'h', 'e', 'l', 'l', 'o'}).find("starts with 68656c6c"), std::string::npos);
  EXPECT_NE(complaint({0x50, 0xed, 0x55, 0xba, 1}).find("fat binary"), std::string::npos);
  EXPECT_NE(complaint({'/', '/', '\n', '.'}).find("PTX"), std::string::npos);
  EXPECT_NE(complaint({0x7f, 'E', 'L', 'F', 2, 1}).find("cut off"), std::string::npos);
  FileBytes bytes = tiny();
  bytes[kMachine] = 62;
  EXPECT_NE(complaint(bytes).find("machine 62, not for CUDA"), std::string::npos);
  bytes = tiny();
  bytes[kClass] = 1;
  EXPECT_NE(complaint(bytes).find("32-bit"), std::string::npos);
  bytes = tiny();
  bytes[kAbiVersion] = 7;
  put32(bytes, kFlags, 0x3d053d);
  EXPECT_NE(complaint(bytes).find("sm_61, which has 64-bit instruction"), std::string::npos);
  bytes = tiny();
  bytes.resize(bytes.size() / 2);
  EXPECT_NE(complaint(bytes).find("outside the file"), std::string::npos);
}

/// Whatever happens to a file, opening and decoding it end with a result or an error.
void try_everything(FileBytes bytes, InstructionSource& source) {
  Result<GpuBinary> binary = open_bytes(std::move(bytes));
  if (!binary) return;
  for (const GpuSymbol& function : binary->functions) {
    kernel_resources(*binary, function);
    Result<std::vector<Instruction>> instructions = source.decode(*binary, function);
    if (!instructions) continue;
    for (const Instruction& instruction : *instructions) {
      const LineRow* row =
          binary->lines.find(function.section, function.offset + instruction.offset);
      if (row) describe_row(binary->lines, *row);
    }
  }
}

TEST(GpuBinary, SurvivesEveryByteDamaged) {
  const FileBytes whole = tiny();
  auto source = fixture_source("tiny.sm_90.sass");
  for (size_t i = 0; i < whole.size(); ++i) {
    for (uint8_t flip : flips_of(i)) {
      FileBytes bytes = whole;
      bytes[i] ^= flip;
      try_everything(std::move(bytes), *source);
    }
  }
}

TEST(GpuBinary, SurvivesEveryLength) {
  const FileBytes whole = tiny();
  auto source = fixture_source("tiny.sm_90.sass");
  for (size_t size = 0; size < whole.size(); ++size) {
    FileBytes bytes(whole.begin(), whole.begin() + size);
    EXPECT_FALSE(open_bytes(bytes).ok() && size < 64);
    try_everything(std::move(bytes), *source);
  }
}

}  // namespace
}  // namespace fathom
