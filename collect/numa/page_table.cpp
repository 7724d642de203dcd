#include "numa/page_table.h"

#include "numa/lock.h"
#include "numa/slab.h"

namespace fathom::numa {
namespace {

struct Table {
  PageSlot slots[kCachedPages];
  LineCounter nobodys;  ///< what the accesses are counted in that are nobody's
  Table* next;          ///< spare one
};

/// Of threads without a table: never written, so that it takes no memory.
PageSlot no_slots[kCachedPages];

/// Guards what follows. Never waited for: in a process that was forked it may be held for ever, by
/// a thread that is not there.
SpinLock lock;
Table* spare = nullptr;

Table* take_spare() {
  if (!lock.try_lock()) return nullptr;
  Table* table = spare;
  if (table != nullptr) spare = table->next;
  lock.unlock();
  return table;
}

bool keep_as_spare(Table* table) {
  if (!lock.try_lock()) return false;
  table->next = spare;
  spare = table;
  lock.unlock();
  return true;
}

}  // namespace
}  // namespace fathom::numa

constinit thread_local fathom::numa::PageSlot* __fathom_numa_table = fathom::numa::no_slots;

namespace fathom::numa {

bool has_page_table() {
  return __fathom_numa_table != no_slots;
}

bool take_page_table() {
  if (has_page_table()) return true;
  Table* table = take_spare();
  if (table == nullptr) table = static_cast<Table*>(map_memory(sizeof(Table)));
  if (table == nullptr) return false;
  __fathom_numa_table = table->slots;
  return true;
}

void give_back_page_table() {
  if (!has_page_table()) return;
  auto* table = reinterpret_cast<Table*>(__fathom_numa_table);
  __fathom_numa_table = no_slots;
  if (!keep_as_spare(table)) unmap_memory(table, sizeof(Table));
}

void pass_page_by(uintptr_t address) {
  auto& table = *reinterpret_cast<Table*>(__fathom_numa_table);
  table.nobodys = {};
  table.slots[address >> kPageBits & (kCachedPages - 1)] = {
      address >> kPageBits << (kPageBits - kLineBits),
      &table.nobodys,
      0,
      ~uint64_t(0),
      ~uint64_t(0),
      {}};
}

}  // namespace fathom::numa
