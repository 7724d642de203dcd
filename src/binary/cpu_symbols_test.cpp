// Compiled with debug information: resolves addresses of this very program.

#include "binary/cpu_symbols.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <link.h>

#include "base/files.h"

namespace fathom {
namespace {

uint64_t where_am_i() __attribute__((noinline));
uint64_t where_am_i() {
  const auto address = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  asm volatile("");
  return address - 1;
}

constexpr uint32_t kInlinedLine = __LINE__ + 2;
__attribute__((always_inline)) inline uint64_t inlined() {
  return where_am_i();
}
constexpr uint32_t kOuterLine = __LINE__ + 2;
__attribute__((noinline)) uint64_t outer() {
  const uint64_t address = inlined();
  asm volatile("");
  return address;
}

uint64_t bias_of_program() {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &bias);
  return bias;
}

TEST(CpuSymbols, NameFunctionFileAndLineOfEachInlinedLevel) {
  const auto symbols = resolve_cpu_addresses(executable_path(), {outer() - bias_of_program()});
  ASSERT_EQ(symbols.size(), 1u);
  ASSERT_EQ(symbols[0].size(), 2u);
  EXPECT_EQ(symbols[0][0].function, "_ZN6fathom12_GLOBAL__N_15outerEv");
  EXPECT_EQ(symbols[0][0].line, kOuterLine);
  EXPECT_NE(symbols[0][0].file.find("cpu_symbols_test.cpp"), std::string::npos);
  EXPECT_EQ(symbols[0][0].file.front(), '/');
  EXPECT_NE(symbols[0][1].function.find("inlined"), std::string::npos);
  EXPECT_EQ(symbols[0][1].line, kInlinedLine);
  EXPECT_NE(symbols[0][1].file.find("cpu_symbols_test.cpp"), std::string::npos);
}

__attribute__((noinline)) void* void_pointer(uint64_t* where) {
  *where = where_am_i();
  return where;
}
__attribute__((noinline)) const uint64_t* number_pointer(uint64_t* where) {
  *where = where_am_i();
  return where;
}

TEST(CpuSymbols, TellFunctionsThatReturnPointers) {
  uint64_t first = 0, second = 0;
  ASSERT_TRUE(void_pointer(&first) && number_pointer(&second));
  const uint64_t bias = bias_of_program();
  const auto symbols =
      resolve_cpu_addresses(executable_path(), {first - bias, second - bias, outer() - bias});
  ASSERT_EQ(symbols[0].size(), 1u);
  EXPECT_EQ(symbols[0][0].returned, Returned::pointer_to_void);
  EXPECT_EQ(symbols[1].at(0).returned, Returned::pointer);
  EXPECT_EQ(symbols[2].at(0).returned, Returned::other);
}

TEST(CpuSymbols, FallBackToTheSymbolTable) {
  Dl_info info{};
  ASSERT_NE(dladdr(dlsym(RTLD_DEFAULT, "qsort"), &info), 0);
  const auto address =
      reinterpret_cast<uint64_t>(info.dli_saddr) - reinterpret_cast<uint64_t>(info.dli_fbase);
  const auto symbols = resolve_cpu_addresses(info.dli_fname, {address + 1});
  ASSERT_EQ(symbols[0].size(), 1u);
  EXPECT_NE(symbols[0][0].function.find("qsort"), std::string::npos);
}

TEST(CpuSymbols, AreEmptyForMissingFilesAndStrayAddresses) {
  EXPECT_TRUE(resolve_cpu_addresses("/no/such/library.so", {1, 2})[1].empty());
  EXPECT_TRUE(resolve_cpu_addresses("/proc/self/status", {1})[0].empty());
  EXPECT_TRUE(resolve_cpu_addresses(executable_path(), {~uint64_t(0) - 5})[0].empty());
}

}  // namespace
}  // namespace fathom
