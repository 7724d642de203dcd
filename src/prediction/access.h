#pragma once
// What one warp's access asks of the memory.

#include <vector>

#include "prediction/lanes.h"
#include "prediction/walk.h"

namespace fathom {

/// Passes through 32 banks of 4 bytes: threads that want different words of one bank take turns; 8
/// and 16 bytes for each thread go in two and four parts, of which two go together where no bank is
/// asked for two words. Of an atomic: threads that want one
/// address take turns, too.
Access shared_access(const Step& step, const LaneValues& addresses, uint32_t mask);
/// Sectors are appended to `sectors`. `wavefronts` are passes through L1's tags or banks, whichever
/// are more. Of an atomic, they are how many threads want the same
/// address at most.
Access global_access(const Step& step, const LaneValues& addresses, uint32_t mask,
                     std::vector<uint64_t>& sectors);
/// Words of one address lie side by side for the warp's threads.
Access local_access(const Step& step, const LaneValues& addresses, uint32_t mask, uint64_t warp,
                    std::vector<uint64_t>& sectors);

}  // namespace fathom
