#include "views/finding_kinds.h"

namespace fathom {
namespace {

constexpr FindingKind kKinds[] = {
    {"strength-reduction", "Cheaper arithmetic",
     "Slow arithmetic, such as divisions and conversions, keeps warps waiting. Replace it by "
     "equivalent "
     "cheaper operations, for example a multiplication by the reciprocal."},
    {"loop-unrolling", "Unroll the loop",
     "Each turn of a loop waits for its own loads or results. With several turns in flight at "
     "once, their "
     "waiting overlaps: use #pragma unroll or unroll by hand."},
    {"code-reordering", "Load earlier, use later",
     "A value is used too soon after it was asked for. Move the load up or independent work in "
     "between, so "
     "that the waiting is filled."},
    {"warp-balance", "Balance the warps of a block",
     "Warps wait at a barrier for the slowest one. Give each the same amount of work, or "
     "synchronize fewer "
     "warps, or less often."},
    {"memory-transaction-reduction", "Fewer memory requests",
     "The queues for memory requests are full. Let neighbouring threads access neighbouring "
     "addresses, use "
     "wider loads, or keep shared read-only values in constant or shared memory."},
    {"vectorized-loads", "Wider loads",
     "Many narrow loads and stores take issue slots and places in the queue for memory. Move up to "
     "16 bytes with one instruction: float4, int4, double2."},
    {"bank-conflicts", "No bank conflicts",
     "Threads of a warp access different words of the same bank of shared memory, which go one "
     "after the other. Pad the rows by one element, or exchange the indexes."},
    {"atomic-contention", "Fewer atomic operations",
     "Many threads change the same addresses, one after the other. Combine within a warp or block "
     "first, or keep several copies and add them up at the end."},
    {"constant-indexing", "Tables out of constant memory",
     "Threads of a warp read different elements of constant memory, which serves one address at a "
     "time. Keep the table in shared memory, or read it from global memory."},
    {"asynchronous-copy", "Copy tiles asynchronously",
     "Data go from global to shared memory through registers, and threads wait for them. Let "
     "asynchronous or bulk copies bring the next tile while this one is worked on."},
    {"tensor-cores", "Use tensor cores",
     "A matrix product runs on the ordinary arithmetic pipes. Tensor cores do it at several times "
     "the rate, where half, bfloat16 or TF32 operands will do."},
    {"block-increase", "More blocks",
     "There are fewer blocks than multiprocessors, so that some of these have nothing to do. "
     "Launch more and "
     "smaller blocks, or divide the work more finely."},
    {"thread-increase", "More threads in a block",
     "Small blocks use up the block slots before the warp slots are full. With larger blocks more "
     "warps run "
     "at once and hide each other's waiting."},
    {"register-reuse", "Fewer spilled registers",
     "Values that do not fit into registers go to local memory and back. Shorten their lives, "
     "split the loop "
     "or the kernel, or allow more registers per thread."},
    {"function-split", "Smaller code",
     "Warps wait for instructions to be fetched: the code that runs together does not fit into the "
     "instruction cache. Split large functions and move rare paths out of hot loops."},
    {"function-inlining", "Inline the call",
     "Calls of device functions cost jumps, moves and lost freedom to reorder. Inline small ones "
     "with "
     "__forceinline__ or by hand."},
    {"fast-math", "Fast math functions",
     "Precise math functions take many instructions. Where their last bits do not matter, use the "
     "intrinsic "
     "ones, such as __expf, or compile with -use_fast_math."},
    {"occupancy-increase", "More resident blocks",
     "Registers or shared memory of a block keep others off the multiprocessor, which then has too "
     "few warps to hide "
     "waiting. Take less for each block."},
    {"tail-effect", "Fill the last wave",
     "The last wave of blocks uses a part of the device only. Launch a number of blocks that fills "
     "it, or smaller "
     "blocks."},
    {"divergence", "Let a warp's threads agree",
     "The threads of a warp take different sides of a branch, which run one after the other. Group "
     "the work so that "
     "neighbours take the same side."},
    {"branch-elimination", "Test less often",
     "A branch in a loop nearly always goes the same way. Test before the loop, or handle the rare "
     "case elsewhere."},
    {"launch-overhead", "Fewer launches",
     "Kernels are shorter than the gaps between them. Use a CUDA graph, fuse kernels, or give each "
     "more to do."},
    {"host-copies", "Fewer copies",
     "The device waits for copies between host and device. Keep data on the device, pin host "
     "memory, overlap copies "
     "with kernels."},
    {"host-gaps", "Keep the device busy",
     "The device has nothing to do while the host works. Launch ahead, or move the host's work."},
    {"remote-access", "Memory on the wrong node",
     "Threads access memory that belongs to another processor socket. Place pages near the threads "
     "that use "
     "them: first touch, interleaving, or a copy on each node."},
    {"false-sharing", "False sharing",
     "Threads write to different data in the same cache line, which then travels between cores. "
     "Pad the data "
     "to a line each."},
    {"true-sharing", "Shared writes",
     "Threads write to the same data, which travels between cores. Give each thread its own copy "
     "and combine "
     "them at the end."},
    {"thread-migration", "Threads that move",
     "Threads move between nodes, away from their memory. Bind them to cores."},
    {"load-imbalance", "Uneven work among threads",
     "Some threads have more work than others, which then wait. Divide the work anew or change the "
     "number of "
     "threads of each group."},
};

}  // namespace

FindingKind explain_kind(std::string_view id) {
  for (const FindingKind& kind : kKinds)
    if (kind.id == id) return kind;
  return {id, id, "Time is lost here. The result's own text says why and what to change."};
}

}  // namespace fathom
