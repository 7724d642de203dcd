#include "numa/modules.h"

#include <algorithm>
#include <atomic>

namespace fathom::numa {
namespace {

constexpr unsigned kMaxModules = 1024;
struct Noted {
  std::atomic<const void*> address;
  std::atomic<uintptr_t> low, high;
};
Noted noted[kMaxModules];
std::atomic<unsigned> noted_count{0};

unsigned known() {
  return std::min(noted_count.load(std::memory_order_acquire), kMaxModules);
}

struct Search {
  uintptr_t address;
  ModuleRange found;
};

int look_at(dl_phdr_info* info, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const ModuleRange range = range_of(*info);
  if (!range.contains(search.address)) return 0;
  search.found = range;
  return 1;
}

}  // namespace

ModuleRange range_of(const dl_phdr_info& module) {
  ModuleRange out{~uintptr_t(0), 0};
  for (int i = 0; i < module.dlpi_phnum; ++i) {
    const auto& segment = module.dlpi_phdr[i];
    if (segment.p_type != PT_LOAD) continue;
    out.low = std::min<uintptr_t>(out.low, module.dlpi_addr + segment.p_vaddr);
    out.high = std::max<uintptr_t>(out.high, module.dlpi_addr + segment.p_vaddr + segment.p_memsz);
  }
  return out;
}

void note_module(const void* address) {
  for (unsigned i = 0, count = known(); i < count; ++i)
    if (noted[i].address.load(std::memory_order_relaxed) == address) return;
  Search search{reinterpret_cast<uintptr_t>(address), {0, 0}};
  dl_iterate_phdr(look_at, &search);
  const unsigned mine = noted_count.fetch_add(1, std::memory_order_acq_rel);
  if (mine >= kMaxModules) return;
  noted[mine].low.store(search.found.low, std::memory_order_relaxed);
  noted[mine].high.store(search.found.high, std::memory_order_relaxed);
  noted[mine].address.store(address, std::memory_order_release);
}

bool is_instrumented(uintptr_t address) {
  for (unsigned i = 0, count = known(); i < count; ++i)
    if (address >= noted[i].low.load(std::memory_order_relaxed) &&
        address < noted[i].high.load(std::memory_order_relaxed))
      return true;
  return false;
}

const void* instrumented_module(unsigned number) {
  return number < known() ? noted[number].address.load(std::memory_order_acquire) : nullptr;
}

}  // namespace fathom::numa
