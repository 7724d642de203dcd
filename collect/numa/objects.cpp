#include "numa/objects.h"

#include <link.h>

#include <algorithm>
#include <map>
#include <new>

#include "core/node_map.h"
#include "core/session.h"
#include "numa/pages.h"
#include "numa/recorder.h"
#include "numa/slab.h"

namespace fathom::numa {
namespace {

using record::ObjectKind;

constexpr uint32_t kObjectsOfChunk = 1024;

std::atomic<Object*> chunks[kMaxObjects / kObjectsOfChunk];
std::atomic<uint32_t> next_object{1};
SpinLock objects_lock;

/// Ranges that do not overlap, each of one object.
class Ranges {
 public:
  void add(uintptr_t low, uintptr_t high, uint32_t object) {
    if (low >= high) return;
    remove(low, high);
    ranges_[low] = {high, object};
  }
  void remove(uintptr_t low, uintptr_t high) {
    auto at = ranges_.lower_bound(low);
    if (at != ranges_.begin() && std::prev(at)->second.high > low) --at;
    while (at != ranges_.end() && at->first < high) {
      const uintptr_t begin = at->first;
      const Range old = at->second;
      at = ranges_.erase(at);
      if (begin < low) ranges_[begin] = {low, old.object};
      if (old.high > high) ranges_[high] = {old.high, old.object};
    }
  }
  /// Takes out the range that begins there; its end, or 0.
  uintptr_t take(uintptr_t low) {
    const auto at = ranges_.find(low);
    if (at == ranges_.end()) return 0;
    const uintptr_t high = at->second.high;
    ranges_.erase(at);
    return high;
  }
  uint32_t find(uintptr_t address) const {
    auto after = ranges_.upper_bound(address);
    if (after == ranges_.begin()) return kUnknownObject;
    --after;
    return address < after->second.high ? after->second.object : kUnknownObject;
  }

 private:
  struct Range {
    uintptr_t high;
    uint32_t object;
  };
  std::map<uintptr_t, Range> ranges_;
};

/// Never destroyed: threads may outlive the end of main().
struct Memory {
  SpinLock lock;
  Ranges heap, stacks, mappings, modules;
  unsigned long long modules_added = 0;
  SpinLock sites_lock;
  collect::NodeMap sites;
};

Memory& memory() {
  static Memory* const memory = new Memory;
  return *memory;
}

uint32_t make_object(ObjectKind kind, uint32_t call_path, uint32_t module, uint32_t thread) {
  Held held(objects_lock);
  const uint32_t id = next_object.load(std::memory_order_relaxed);
  if (id == kMaxObjects) return kUnknownObject;
  auto& chunk = chunks[id / kObjectsOfChunk];
  if (chunk.load(std::memory_order_relaxed) == nullptr) {
    auto* objects = static_cast<Object*>(map_memory(sizeof(Object) * kObjectsOfChunk));
    if (objects == nullptr) return kUnknownObject;
    chunk.store(objects, std::memory_order_release);
  }
  Object& object = chunk.load(std::memory_order_relaxed)[id % kObjectsOfChunk];
  object.kind = kind;
  object.call_path = call_path;
  object.module = module;
  object.thread = thread;
  next_object.store(id + 1, std::memory_order_release);
  return id;
}

void count_block(uint32_t id, uintptr_t address, uint64_t size) {
  if (id == kUnknownObject) return;
  Object& object = object_at(id);
  object.count.fetch_add(1, std::memory_order_relaxed);
  object.total_bytes.fetch_add(size, std::memory_order_relaxed);
  Held held(object.lock);
  if (size <= object.size) return;
  object.address = address;
  object.size = size;
}

int add_module_data(dl_phdr_info* info, size_t, void* data) {
  auto& known = *static_cast<Memory*>(data);
  if (info->dlpi_adds == known.modules_added) return 1;
  uint32_t id = kUnknownObject;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& segment = info->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || segment.p_memsz == 0) continue;
    const uintptr_t low = info->dlpi_addr + segment.p_vaddr, high = low + segment.p_memsz;
    {
      Held held(known.lock);
      if (id == kUnknownObject) id = known.modules.find(low);
    }
    if (id == kUnknownObject) {
      const auto place = collect::Session::get().modules().find(low);
      id = make_object(ObjectKind::module_data, record::kNone, place.module, record::kNone);
      count_block(id, low, segment.p_memsz);
    } else if (Object& object = object_at(id); high > object.address + object.size) {
      Held held(object.lock);
      object.size = high - object.address;
      object.total_bytes.store(object.size, std::memory_order_relaxed);
    }
    Held held(known.lock);
    known.modules.add(low, high, id);
  }
  return 0;
}

/// Looks for modules that have come, or waits for another thread that does.
void refresh_modules() {
  static SpinLock lock;
  Held held(lock);
  Memory& known = memory();
  unsigned long long added = 0;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* out) {
        *static_cast<unsigned long long*>(out) = info->dlpi_adds;
        return 1;
      },
      &added);
  if (added == known.modules_added) return;
  dl_iterate_phdr(add_module_data, &known);
  known.modules_added = added;
}

uint32_t size_class(uint64_t size) {
  return size == 0 ? 0 : 64u - static_cast<uint32_t>(__builtin_clzll(size));
}

uint32_t object_of_site(Thread& thread, uint64_t size, ObjectKind kind) {
  const auto* stack = current_stack(thread);
  if (stack == nullptr) return kUnknownObject;
  const uint64_t key =
      stack->hash ^
      (uint64_t(size_class(size)) << 8 | static_cast<uint64_t>(kind)) * 0x9e3779b97f4a7c15u;
  Memory& known = memory();
  {
    Held held(known.sites_lock);
    const uint32_t id = known.sites.find(key);
    if (id != collect::NodeMap::kAbsent) return id;
  }
  const uint32_t path = recorder().intern(*stack);  // may lock: not while others wait for us
  Held held(known.sites_lock);
  uint32_t id = known.sites.find(key);
  if (id != collect::NodeMap::kAbsent) return id;
  id = make_object(kind, path, record::kNone, thread.index);
  known.sites.insert(key, id);
  return id;
}

uintptr_t page_up(uintptr_t address) {
  return (address + kLargeBlock - 1) & ~(kLargeBlock - 1);
}
uintptr_t page_down(uintptr_t address) {
  return address & ~(kLargeBlock - 1);
}

}  // namespace

uint32_t object_count() {
  return next_object.load(std::memory_order_acquire);
}

Object& object_at(uint32_t id) {
  static Object unknown{
      ObjectKind::unknown, record::kNone, record::kNone, record::kNone, {}, 0, 0, {}, {}};
  if (id == kUnknownObject) return unknown;
  return chunks[id / kObjectsOfChunk].load(std::memory_order_acquire)[id % kObjectsOfChunk];
}

uint32_t find_object(uintptr_t address) {
  Memory& known = memory();
  const auto look = [&] {
    Held held(known.lock);
    for (const Ranges* ranges : {&known.heap, &known.stacks, &known.mappings, &known.modules})
      if (const uint32_t id = ranges->find(address); id != kUnknownObject) return id;
    return kUnknownObject;
  };
  const uint32_t id = look();
  if (id != kUnknownObject) return id;
  refresh_modules();
  return look();
}

void note_allocation(Thread& thread, uintptr_t address, uint64_t size, ObjectKind kind) {
  if (address == 0 || size == 0) return;
  const uint32_t id = object_of_site(thread, size, kind);
  count_block(id, address, size);
  const uintptr_t end = address + size;
  if (kind == ObjectKind::heap && size < kLargeBlock) {
    const uintptr_t border = page_up(address);
    if (border == address || border >= end) return mark_granules(address, end, id);
    mark_granules(address, border, id);
    return mark_granules(border, end, id);
  }
  Memory& known = memory();
  {
    Held held(known.lock);
    (kind == ObjectKind::heap ? known.heap : known.mappings).add(address, end, id);
  }
  const uintptr_t low = page_up(address), high = page_down(end);
  if (low < high) reset_pages(low, high, kind == ObjectKind::mapping);
  if (kind == ObjectKind::mapping) return;
  if (address < low) mark_granules(address, low, id);
  if (high < end) mark_granules(high, end, id);
}

void note_release(uintptr_t address) {
  Memory& known = memory();
  uintptr_t high;
  {
    Held held(known.lock);
    high = known.heap.take(address);
  }
  const uintptr_t low = page_up(address), end = page_down(high);
  if (high == 0 || low >= end) return;
  reset_pages(low, end, true);
}

void note_unmapped(uintptr_t low, uintptr_t high, bool unmapped) {
  if (low >= high) return;
  if (unmapped) {
    Memory& known = memory();
    Held held(known.lock);
    known.heap.remove(low, high);
    known.mappings.remove(low, high);
  }
  reset_pages(page_down(low), page_up(high), true);
}

void add_stack(Thread& thread) {
  constexpr uint32_t kNamedStacks =
      4096;  // a program of very many threads shall not use up all ids
  if (thread.stack_low >= thread.stack_high || thread.index >= kNamedStacks) return;
  uint32_t& id = thread.stack_object;
  if (id == kUnknownObject)
    id = make_object(ObjectKind::stack, record::kNone, record::kNone, thread.index);
  count_block(id, thread.stack_low, thread.stack_high - thread.stack_low);
  Memory& known = memory();
  {
    Held held(known.lock);
    known.stacks.add(thread.stack_low, thread.stack_high, id);
  }
  reset_pages(page_up(thread.stack_low), page_down(thread.stack_high), true);
}

void remove_stack(const Thread& thread) {
  if (thread.stack_low >= thread.stack_high) return;
  Memory& known = memory();
  {
    Held held(known.lock);
    known.stacks.remove(thread.stack_low, thread.stack_high);
  }
  reset_pages(page_up(thread.stack_low), page_down(thread.stack_high), true);
}

const collect::CallStack* current_stack(Thread& thread) {
  Work& work = *thread.work;
  if (work.unwinder == nullptr) work.unwinder = new (std::nothrow) collect::Unwinder;
  if (work.stack == nullptr) work.stack = new (std::nothrow) collect::CallStack;
  if (work.unwinder == nullptr || work.stack == nullptr) return nullptr;
  work.unwinder->walk(*work.stack);
  return work.stack;
}

uint32_t current_call_path(Thread& thread) {
  const auto* stack = current_stack(thread);
  return stack == nullptr ? record::kNone : recorder().intern(*stack);
}

Places& all_places() {
  static Places places;
  return places;
}

}  // namespace fathom::numa
