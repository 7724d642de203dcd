// Compiled with debug information: reads the variables of this very program.

#include "binary/data_symbols.h"

#include <gtest/gtest.h>
#include <link.h>

#include <algorithm>
#include <array>

#include "base/files.h"

namespace fathom::data_symbols_test {

struct Statistics {
  long hits, misses;
  char padding[48];
  int last;
};
constexpr uint32_t kFirstLine = __LINE__ + 1;
Statistics global_statistics = {1, 2, {}, 3};
volatile double field[6][10] = {{1}};
std::array<long, 9> counters = {1};
Statistics many[5] = {{1, 2, {}, 3}};
int* plain_pointer = nullptr;
thread_local int of_each_thread = 3;

int* inside() {
  static int hidden[3] = {1, 2, 3};
  return hidden;
}

namespace {

uint64_t in_file(const volatile void* variable) {
  uint64_t bias = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<uint64_t*>(out) = info->dlpi_addr;
        return 1;
      },
      &bias);
  return reinterpret_cast<uint64_t>(variable) - bias;
}

DataSymbol at(const std::vector<DataSymbol>& symbols, const volatile void* variable) {
  auto found = std::find_if(symbols.begin(), symbols.end(), [&](const DataSymbol& symbol) {
    return symbol.address == in_file(variable);
  });
  EXPECT_NE(found, symbols.end());
  return found == symbols.end() ? DataSymbol{} : *found;
}

TEST(DataSymbols, HaveANameASizeAPlaceAndAType) {
  const auto symbols = read_data_symbols(executable_path());
  DataSymbol statistics = at(symbols, &global_statistics);
  EXPECT_EQ(statistics.name, "_ZN6fathom17data_symbols_test17global_statisticsE");
  EXPECT_EQ(statistics.size, sizeof(Statistics));
  EXPECT_EQ(statistics.line, kFirstLine);
  EXPECT_TRUE(statistics.file.ends_with("/src/binary/data_symbols_test.cpp")) << statistics.file;
  EXPECT_EQ(statistics.type, "Statistics {hits:0:8, misses:8:8, padding:16:48, last:64:4}");
  EXPECT_EQ(statistics.element_size, 0u);
  EXPECT_EQ(at(symbols, &plain_pointer).type, "int*");
  EXPECT_TRUE(std::is_sorted(
      symbols.begin(), symbols.end(),
      [](const DataSymbol& a, const DataSymbol& b) { return a.address < b.address; }));
}

TEST(DataSymbols, TellTheSizeOfAnArraysElements) {
  const auto symbols = read_data_symbols(executable_path());
  EXPECT_EQ(at(symbols, field).element_size, 80u);
  EXPECT_EQ(at(symbols, field).type, "double []");
  EXPECT_EQ(at(symbols, &counters).element_size, 8u);
  EXPECT_EQ(at(symbols, many).element_size, sizeof(Statistics));
  EXPECT_EQ(at(symbols, many).type.substr(0, 19), "Statistics {hits:0:");
}

TEST(DataSymbols, IncludeStaticOnesOfFunctionsButNotThoseOfEachThread) {
  const auto symbols = read_data_symbols(executable_path());
  EXPECT_EQ(at(symbols, inside()).size, 3 * sizeof(int));
  EXPECT_EQ(at(symbols, inside()).element_size, sizeof(int));
  for (const DataSymbol& symbol : symbols)
    EXPECT_EQ(symbol.name.find("of_each_thread"), std::string::npos);
  EXPECT_EQ(of_each_thread, 3);
}

TEST(DataSymbols, OfAFileThatIsNoProgramAreNone) {
  EXPECT_TRUE(read_data_symbols("/nowhere").empty());
  EXPECT_TRUE(read_data_symbols(FATHOM_SOURCE_DIR "/README.md").empty());
}

}  // namespace
}  // namespace fathom::data_symbols_test
