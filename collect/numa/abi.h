#pragma once
// What instrumented code and the NUMA runtime agree on. The compiler pass (instrument/) writes the
// fast path into the program; __tsan_* callbacks take the same path; the rest is the runtime's.

#include <cstdint>

namespace fathom::numa {

inline constexpr unsigned kLineBits = 6, kWordBits = 2, kPageBits = 12;
inline constexpr unsigned kLinesOfPage = 1u << (kPageBits - kLineBits);
inline constexpr unsigned kCachedPages = 1u << 15;  ///< of a thread; 128 MiB

/// Of a counter: the runtime must come for such accesses to the line.
inline constexpr uint32_t kBarred = 1u << 31;

/// Accesses that the fast path has counted and the runtime has not taken yet, beside kBarred.
struct LineCounter {
  uint32_t reads, writes;
};

/// Where a thread counts its accesses to a page. The slot of an address is (address >> kPageBits) %
/// kCachedPages.
///
/// Fast path, where line = address >> kLineBits is the one that the access begins in:
///   within = line - slot->first_line (relaxed load) is less than kLinesOfPage (unsigned), and
///   slot->counts[within & slot->mask].reads (or writes) is not barred?
///     yes: ++ of that counter
///     no:  __fathom_numa_access(address, size | flags)
/// It may also count first, look at the sign, and take the count back.
/// All of it is the owning thread's alone. Only `first_line` may be set to 0 by another thread, so
/// that the owner comes to the runtime at its next access.
struct alignas(64) PageSlot {
  uint64_t first_line;  ///< of the page; 0: none, or the owner must come to the runtime
  LineCounter* counts;
  uint64_t mask;                ///< kLinesOfPage - 1, or 0: the page's lines are counted as one
  uint64_t readable, writable;  ///< a bit for each line: its counter is not barred
  LineCounter whole;            ///< where mask is 0: in the cache line that is at hand already
};
static_assert(sizeof(PageSlot) == 64);

/// flags of __fathom_numa_access, above the size in bytes
inline constexpr uint32_t kSizeMask = 0x00ffffff;
inline constexpr uint32_t kIsWrite = 1u << 24;
inline constexpr uint32_t kIsAtomic = 1u << 25;    ///< or volatile: may be a spin-wait's read
inline constexpr uint32_t kIsSpinning = 1u << 26;  ///< the compiler saw that a loop only waits here

}  // namespace fathom::numa

extern "C" {
/// The slots of this thread, kCachedPages; initial-exec TLS of libfathom_numa.so. Changes only
/// where no code of the program is under way that has asked for it, or to one with more in it.
/// (constinit: so that no access asks whether it must be initialized.)
extern constinit thread_local fathom::numa::PageSlot* __fathom_numa_table
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
