#pragma once
// What memory belongs to: allocations by their call paths, modules' data, stacks.

#include <atomic>
#include <cstdint>

#include "numa/places.h"
#include "numa/thread.h"
#include "record/layout.h"

namespace fathom::numa {

inline constexpr uint32_t kUnknownObject = 0;
inline constexpr uint32_t kMaxObjects = 1u << 16;
/// Blocks from here on have whole pages of their own; smaller ones are told apart by 16 bytes.
inline constexpr uint64_t kLargeBlock = 1u << kPageBits;

struct Object {
  record::ObjectKind kind;
  uint32_t call_path, module, thread;
  SpinLock lock;  ///< guards the next two
  uint64_t address, size;
  std::atomic<uint64_t> count, total_bytes;
};

uint32_t object_count();
Object& object_at(uint32_t id);

/// The object that an address belongs to; kUnknownObject if none is known.
uint32_t find_object(uintptr_t address);

/// A block that the calling thread has got from malloc or mmap; `depth` calls away.
void note_allocation(Thread& thread, uintptr_t address, uint64_t size, record::ObjectKind kind);
/// A block of at least kLargeBlock is about to be freed. Its pages have no first thread from then
/// on: whether the allocator gives them to another thread depends on the schedule.
void note_release(uintptr_t address);
/// The pages in [low, high) are unmapped or emptied; `unmapped`: nothing is there any longer.
void note_unmapped(uintptr_t low, uintptr_t high, bool unmapped);

void add_stack(Thread& thread);
void remove_stack(const Thread& thread);

/// The calling thread's stack, until the next call. Null if memory is short.
const collect::CallStack* current_stack(Thread& thread);
/// The call path of the calling thread, as an id in numa.fathom.
uint32_t current_call_path(Thread& thread);

/// Samples of the threads that have ended.
Places& all_places();

}  // namespace fathom::numa
