#pragma once
// What instrumented code and the NUMA runtime agree on. The compiler pass (instrument/) writes the
// fast path into the program; __tsan_* callbacks take the same path; the rest is the runtime's.

#include <cstdint>

namespace fathom::numa {

inline constexpr unsigned kLineBits = 6, kWordBits = 2, kPageBits = 12;
inline constexpr unsigned kCachedLines = 1024;  ///< of a thread; a power of two
/// Slots of whole pages follow those of lines: instrumented code need not know of them.
inline constexpr unsigned kCachedPages = 256;
inline constexpr unsigned kSlots = kCachedLines + kCachedPages;

/// What a thread did to one cache line (or page) since the line came into the thread's cache. The slot of an
/// address is (address >> kLineBits) % kCachedLines.
///
/// Fast path, for an access that lies in one line:
///   slot->tag == address >> kLineBits (relaxed load)?
///     yes: ++slot->reads or slot->writes
///     no:  __fathom_numa_access(address, size | flags)
/// Counters belong to the owning thread alone. Only `tag` may be set to 0 by another thread, so
/// that the owner comes to the runtime at its next access.
struct LineSlot {
  uint64_t tag;  ///< address >> kLineBits; 0: none, or the owner must come to the runtime
  uint32_t reads, writes;
};
static_assert(sizeof(LineSlot) == 16);

/// flags of __fathom_numa_access, above the size in bytes
inline constexpr uint32_t kSizeMask = 0x00ffffff;
inline constexpr uint32_t kIsWrite = 1u << 24;
inline constexpr uint32_t kIsAtomic = 1u << 25;    ///< or volatile: may be a spin-wait's read
inline constexpr uint32_t kIsSpinning = 1u << 26;  ///< the compiler saw that a loop only waits here

}  // namespace fathom::numa

extern "C" {
/// Of this thread; initial-exec TLS of libfathom_numa.so.
/// (constinit: so that no access asks whether it must be initialized.)
extern constinit thread_local fathom::numa::LineSlot __fathom_numa_lines[fathom::numa::kSlots]
    __attribute__((tls_model("initial-exec"), visibility("default")));
/// Any access, of any size and alignment. The caller's return address is the access's place.
void __fathom_numa_access(uintptr_t address, uint32_t size_and_flags);
/// The same for callers that know the access's place otherwise.
void __fathom_numa_access_at(uintptr_t address, uint32_t size_and_flags, uintptr_t place);
/// `count` accesses of `size` bytes each, `stride` bytes apart: a loop's, before the loop.
void __fathom_numa_strided(uintptr_t address, uint32_t size_and_flags, uint64_t count,
                           int64_t stride);
/// A module tells that it was instrumented (a constructor does), with its own address.
void __fathom_numa_module(const void* address_in_module);
}
