#pragma once

#include <cstddef>

namespace fathom::numa {

/// The runtime's own heap. What it allocates while a thread of the program is inside a call of the
/// allocator must not come back there; and it must work in a process that dies with the
/// allocator's lock held.
void* own_allocate(size_t size, size_t alignment);
void own_free(void* block);
/// Whether a block came from own_allocate; false for every other block of an allocator.
bool is_own(const void* block);
size_t own_size(const void* block);
/// Keeps a few megabytes for when the program has used up everything: the last snapshot needs them.
void reserve_own_heap();
/// In the child of a fork: other threads may have held the lock, so nothing is freed any longer.
void abandon_own_heap();

}  // namespace fathom::numa
