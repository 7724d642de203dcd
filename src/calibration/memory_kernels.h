#pragma once

#include <string>
#include <vector>

#include "calibration/kernel.h"

namespace fathom {

/// The memory's microbenchmarks, by name. What their arguments a, b and c mean:
///
/// | name | a, b, c | in each round |
/// | --- | --- | --- |
/// | self_l1, self_l2 | buffer, bytes between threads, bytes between chains | 4 chains x 4 loads of
/// 8 bytes that hold their own address, cached in L1 or only in L2 | | chase_l1, chase_l2 | buffer,
/// bytes between threads | 16 such loads, one chain | | random | zeroed buffer, mask of its lines,
/// - | 8 loads of a line by each warp, each at a place that follows from the last | | shared_stride
/// | -, words between lanes | 16 loads of shared memory, one chain | | shared_wide_8,
/// shared_wide_16 | - | 16 loads of 8 or 16 bytes | | constant | - | 16 loads of constant memory |
/// | constant_walk | -, bytes | 8 loads of constants, one in each line | | constant_table | -,
/// bytes, cycles / 256 by which each block is late | all of the table, 8 bytes at a time | |
/// store_shared, store_global | buffer, bytes between threads | 16 stores of 4 bytes | |
/// atomic_shared, atomic_global | buffer, bytes between threads | 16 additions whose result the
/// next one adds | | barrier | - | 16 barriers of the block | | read_W, write_W, copy_W (W = 4, 8,
/// 16) | buffer, bytes to the next load, bytes between threads | 4 loads or stores of W bytes; a
/// copy goes from the buffer to what lies 2^32 bytes behind |
std::vector<Microbenchmark> memory_benchmarks(unsigned compute);

}  // namespace fathom
