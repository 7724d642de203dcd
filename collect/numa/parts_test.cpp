// The runtime's parts alone: its heap, tables and the watch for spin-waits.

#include <gtest/gtest.h>

#include <memory>

#include <cstdlib>
#include <cstring>
#include <set>
#include <thread>

#include "numa/heap.h"
#include "numa/page_table.h"
#include "numa/places.h"
#include "numa/share_table.h"
#include "numa/slots.h"
#include "numa/spin.h"

namespace fathom::numa {
namespace {

TEST(OwnHeapTest, BlocksAreAlignedDistinctAndKnown) {
  std::set<void*> blocks;
  for (size_t size : {1u, 16u, 100u, 4000u, 5000u, 70000u, 1000000u})
    for (size_t alignment : {1u, 16u, 64u, 2048u}) {
      void* block = own_allocate(size, alignment);
      ASSERT_NE(block, nullptr);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % alignment, 0u);
      EXPECT_TRUE(is_own(block));
      EXPECT_GE(own_size(block), size);
      std::memset(block, 0x5a, own_size(block));
      EXPECT_TRUE(blocks.insert(block).second);
    }
  for (void* block : blocks) {
    EXPECT_TRUE(is_own(block));
    const bool stays_mapped = own_size(block) < 60000;
    own_free(block);
    EXPECT_FALSE(stays_mapped && is_own(block));
  }
}

TEST(OwnHeapTest, BlocksOfTheProgramAreNotOurs) {
  for (size_t size : {1u, 100u, 5000u, 1000000u}) {
    void* block = std::malloc(size);
    EXPECT_FALSE(is_own(block));
    std::free(block);
  }
  EXPECT_FALSE(is_own(reinterpret_cast<void*>(0x1000)));
  EXPECT_EQ(own_allocate(size_t(1) << 60, 16), nullptr);
}

TEST(OwnHeapTest, FreedMemoryIsUsedAgain) {
  void* first = own_allocate(300, 16);
  own_free(first);
  EXPECT_EQ(own_allocate(300, 16), first);
}

TEST(PlacesTest, SamplesAreAddedUp) {
  Places some, more;
  for (int i = 0; i < 5000; ++i) {
    some.add(1, 0x1000 + static_cast<uintptr_t>(i % 700), i % 2 == 0, 1);
    more.add(1, 0x1000 + static_cast<uintptr_t>(i % 700), i % 2 == 0, 2);
  }
  some.take(more);
  uint64_t sum = 0, places = 0;
  some.for_each([&](const Places::Entry& entry) { sum += entry.samples, ++places; });
  EXPECT_EQ(sum, 15000u);
  EXPECT_EQ(places, 700u);
  more.for_each([](const Places::Entry&) { FAIL() << "taken"; });
}

TEST(ShareTableTest, PagesAreFoundUntilTheyAreErased) {
  ShareTable table;
  Share shares[3];
  const uintptr_t far = uintptr_t(0x7fff12345) << kPageBits, near = 0x5000;
  EXPECT_EQ(table.find(near), nullptr);
  table.set(near, &shares[0]);
  table.set(near + 0x1000, &shares[1]);
  table.set(far, &shares[2]);
  EXPECT_EQ(table.find(near + 77), &shares[0]);
  EXPECT_EQ(table.find(near + 0x1fff), &shares[1]);
  EXPECT_EQ(table.find(far), &shares[2]);
  EXPECT_EQ(table.find(near + 0x2000), nullptr);
  table.erase(near, near + 0x1000);
  EXPECT_EQ(table.find(near), nullptr);
  EXPECT_EQ(table.find(near + 0x1000), &shares[1]);
  table.erase(0, uintptr_t(1) << 48);
  EXPECT_EQ(table.find(far), nullptr);
  table.set(far, &shares[0]);
  table.clear();
  EXPECT_EQ(table.find(far), nullptr);
  table.set(uintptr_t(1) << 60, &shares[0]);  // no address of a program
  EXPECT_EQ(table.find(uintptr_t(1) << 60), nullptr);
}

class SpinTest : public testing::Test {
 protected:
  bool read(const void* address, uintptr_t place = 1) {
    const bool spins =
        watch_.is_spinning(reinterpret_cast<uintptr_t>(address), sizeof(int), place, *table_);
    watch_.counted(*table_);
    return spins;
  }
  std::unique_ptr<SlotTable> table_ = std::make_unique<SlotTable>();
  LineCounter counter_{};
  SpinWatch watch_;
  int flag_ = 0, other_ = 0;
};

TEST_F(SpinTest, TheSameValueAgainAndAgainIsWaiting) {
  EXPECT_FALSE(read(&flag_));
  EXPECT_FALSE(read(&flag_));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(read(&flag_));
  flag_ = 1;
  EXPECT_FALSE(read(&flag_));
}

TEST_F(SpinTest, OtherAccessesBetweenAreWork) {
  ASSERT_TRUE(take_page_table());
  for (int i = 0; i < 10000; ++i) {
    EXPECT_FALSE(read(&flag_));
    __fathom_numa_table[7].counts = &counter_;
    __fathom_numa_table[7].readable = 1;
    table_->used.set(0, {7, false});
    table_->used.resize(1);
    ++counter_.reads;  // by the fast path
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(read(&flag_, 2));
    watch_.other_access();
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(read(&flag_, 3));
    EXPECT_FALSE(read(&other_, 3));
  }
}

}  // namespace
}  // namespace fathom::numa
