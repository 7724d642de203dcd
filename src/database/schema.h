#pragma once
// The layout of a profile database. Whoever changes it raises kSchemaVersion.

#include <cstdint>

namespace fathom {

inline constexpr uint32_t kSchemaVersion = 3;
/// SQLite's application id: "Fthm".
inline constexpr uint32_t kApplicationId = 0x4674686d;

/// Ids are indices from 0. A NULL reference means "none" or "unknown". Times are seconds, sizes
/// bytes, unless the comment says otherwise.
inline constexpr const char* kSchema = R"sql(
CREATE TABLE schema_version (version INTEGER NOT NULL);

-- One row each for: command, host, sampling_period_log2, samples_total...
CREATE TABLE facts (name TEXT NOT NULL, value NOT NULL);

CREATE TABLE warnings (
  severity TEXT NOT NULL, -- note, warning, error
  what TEXT NOT NULL,
  place TEXT NOT NULL,    -- file and offset, or process; may be empty
  hint TEXT NOT NULL
);

CREATE TABLE devices (
  id INTEGER PRIMARY KEY,
  process INTEGER NOT NULL,
  device INTEGER NOT NULL, -- the vendor's number in that process
  name TEXT NOT NULL,
  compute_major INTEGER NOT NULL, compute_minor INTEGER NOT NULL,
  multiprocessors INTEGER NOT NULL,
  core_clock_khz INTEGER NOT NULL,
  memory_bytes INTEGER NOT NULL,
  memory_bandwidth REAL NOT NULL, -- bytes per second, theoretical
  max_warps_per_multiprocessor INTEGER NOT NULL,
  max_blocks_per_multiprocessor INTEGER NOT NULL,
  max_registers_per_multiprocessor INTEGER NOT NULL,
  max_shared_memory_per_multiprocessor INTEGER NOT NULL,
  max_shared_memory_per_block INTEGER NOT NULL,
  max_threads_per_block INTEGER NOT NULL,
  l2_cache_bytes INTEGER NOT NULL
);

-- Source files; every "file" column refers to them.
CREATE TABLE files (id INTEGER PRIMARY KEY, path TEXT NOT NULL);

-- What each metric is called and means. "parent" sums its children.
CREATE TABLE metrics (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, unit TEXT NOT NULL,
  parent INTEGER REFERENCES metrics,
  description TEXT NOT NULL,
  visible INTEGER NOT NULL,
  kind TEXT NOT NULL, -- sum, average, derived
  formula TEXT NOT NULL
);

-- GPU functions that have samples.
CREATE TABLE functions (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, mangled TEXT NOT NULL,
  binary_sha256 TEXT NOT NULL,
  arch TEXT NOT NULL,
  size INTEGER NOT NULL,
  is_kernel INTEGER NOT NULL,
  note TEXT NOT NULL -- e.g. why it could not be disassembled
);

-- The calling-context tree; a parent comes before its children.
CREATE TABLE contexts (
  id INTEGER PRIMARY KEY,
  parent INTEGER REFERENCES contexts,
  kind TEXT NOT NULL, -- cpu_function, gpu_operation, gpu_loop, gpu_line...
  name TEXT NOT NULL,
  module TEXT NOT NULL,
  file INTEGER REFERENCES files, line INTEGER NOT NULL,
  address INTEGER NOT NULL,
  function INTEGER REFERENCES functions
);

-- Absent means 0.
CREATE TABLE metric_values (
  context INTEGER NOT NULL REFERENCES contexts,
  metric INTEGER NOT NULL REFERENCES metrics,
  exclusive REAL NOT NULL, inclusive REAL NOT NULL
);

CREATE TABLE kernels (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL, mangled TEXT NOT NULL,
  device INTEGER REFERENCES devices,
  function INTEGER REFERENCES functions,
  launches INTEGER NOT NULL,
  seconds REAL NOT NULL, min_seconds REAL NOT NULL, max_seconds REAL NOT NULL,
  share REAL NOT NULL, -- of the time of all kernels
  coverage_before REAL NOT NULL, coverage_after REAL NOT NULL -- single dependency coverage
);
CREATE TABLE kernel_contexts (
  kernel INTEGER NOT NULL REFERENCES kernels,
  context INTEGER NOT NULL REFERENCES contexts
);

-- All launches of one kernel with one shape.
CREATE TABLE launch_groups (
  kernel INTEGER NOT NULL REFERENCES kernels,
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  cluster_x INTEGER NOT NULL, cluster_y INTEGER NOT NULL, cluster_z INTEGER NOT NULL,
  registers_per_thread INTEGER NOT NULL,
  static_shared_memory INTEGER NOT NULL, dynamic_shared_memory INTEGER NOT NULL,
  local_memory_per_thread INTEGER NOT NULL,
  launches INTEGER NOT NULL, seconds REAL NOT NULL,
  active_blocks INTEGER NOT NULL, active_warps INTEGER NOT NULL, available_warps INTEGER NOT NULL,
  occupancy_limit TEXT NOT NULL, -- none, warps, blocks, registers, shared_memory
  limit_warps INTEGER NOT NULL, limit_blocks INTEGER NOT NULL, -- blocks that each allows
  limit_registers INTEGER NOT NULL, limit_shared_memory INTEGER NOT NULL,
  waves REAL NOT NULL
);

CREATE TABLE loops (
  id INTEGER PRIMARY KEY,
  function INTEGER NOT NULL REFERENCES functions,
  parent INTEGER REFERENCES loops,
  depth INTEGER NOT NULL,
  file INTEGER REFERENCES files, line INTEGER NOT NULL, last_line INTEGER NOT NULL,
  first_offset INTEGER NOT NULL, last_offset INTEGER NOT NULL
);

-- Stacks of inlined calls; an outer frame comes before what was inlined into it.
CREATE TABLE inline_frames (
  id INTEGER PRIMARY KEY,
  outer_frame INTEGER REFERENCES inline_frames,
  function_name TEXT NOT NULL,
  file INTEGER REFERENCES files, line INTEGER NOT NULL -- where it was inlined
);

CREATE TABLE instructions (
  id INTEGER PRIMARY KEY,
  function INTEGER NOT NULL REFERENCES functions,
  offset INTEGER NOT NULL, -- in the function
  text TEXT NOT NULL,
  file INTEGER REFERENCES files, line INTEGER NOT NULL,
  inline_frame INTEGER REFERENCES inline_frames, -- innermost
  loop INTEGER REFERENCES loops                  -- innermost
);

CREATE TABLE stall_reasons (id INTEGER PRIMARY KEY, name TEXT NOT NULL, meaning TEXT NOT NULL);
CREATE TABLE topdown_nodes (
  id INTEGER PRIMARY KEY,
  parent INTEGER REFERENCES topdown_nodes,
  metric TEXT NOT NULL, title TEXT NOT NULL, meaning TEXT NOT NULL
);

-- Samples of an instruction or a kernel by reason. "exposed" ones: the scheduler issued nothing.
CREATE TABLE stalls (
  instruction INTEGER NOT NULL REFERENCES instructions,
  reason INTEGER NOT NULL REFERENCES stall_reasons,
  samples INTEGER NOT NULL, exposed INTEGER NOT NULL
);
CREATE TABLE kernel_stalls (
  kernel INTEGER NOT NULL REFERENCES kernels,
  reason INTEGER NOT NULL REFERENCES stall_reasons,
  samples INTEGER NOT NULL, exposed INTEGER NOT NULL
);
-- The same samples in the top-down tree; a node's total adds its descendants'.
CREATE TABLE topdown (
  instruction INTEGER NOT NULL REFERENCES instructions,
  node INTEGER NOT NULL REFERENCES topdown_nodes,
  samples REAL NOT NULL
);
CREATE TABLE kernel_topdown (
  kernel INTEGER NOT NULL REFERENCES kernels,
  node INTEGER NOT NULL REFERENCES topdown_nodes,
  samples REAL NOT NULL
);

-- Stalls of a consumer, blamed on the producer that causes them.
CREATE TABLE blame (
  consumer INTEGER NOT NULL REFERENCES instructions,
  producer INTEGER REFERENCES instructions,
  reason INTEGER NOT NULL REFERENCES stall_reasons,
  class TEXT NOT NULL, -- global memory, arithmetic...
  stalls REAL NOT NULL, exposed REAL NOT NULL, -- samples
  distance INTEGER NOT NULL, -- instructions on the longest path
  through TEXT NOT NULL -- register or barrier
);

-- Processes whose memory accesses were recorded; docs/numa.md defines the terms.
CREATE TABLE numa_processes (
  id INTEGER PRIMARY KEY,
  program TEXT NOT NULL, process INTEGER NOT NULL,
  threads INTEGER NOT NULL, -- that ran
  time_ms REAL NOT NULL, -- the "time" of the scores
  parallel_share REAL NOT NULL, -- of the run's time in which several threads ran
  migration_score REAL NOT NULL,
  phases INTEGER NOT NULL,
  sampling INTEGER NOT NULL, -- one of 2^sampling intervals was counted
  accesses_not_counted INTEGER NOT NULL,
  topology TEXT NOT NULL -- that gains were estimated for
);
CREATE TABLE numa_threads (
  numa_process INTEGER NOT NULL REFERENCES numa_processes,
  thread INTEGER NOT NULL, -- 0: the main one
  kind TEXT NOT NULL, -- main, pthread, openmp
  start TEXT NOT NULL, file INTEGER REFERENCES files, line INTEGER NOT NULL,
  reads INTEGER NOT NULL, writes INTEGER NOT NULL, spin_reads INTEGER NOT NULL,
  contended_locks INTEGER NOT NULL, condition_waits INTEGER NOT NULL,
  barrier_waits INTEGER NOT NULL, semaphore_waits INTEGER NOT NULL,
  wait_seconds REAL NOT NULL, cpu_seconds REAL NOT NULL, seconds REAL NOT NULL
);
CREATE TABLE numa_objects (
  numa_process INTEGER NOT NULL REFERENCES numa_processes,
  name TEXT NOT NULL,
  kind TEXT NOT NULL, -- heap, mapping, variable, stack, unknown
  file INTEGER REFERENCES files, line INTEGER NOT NULL, -- of the allocation or declaration
  count INTEGER NOT NULL, bytes INTEGER NOT NULL,
  reads INTEGER NOT NULL, writes INTEGER NOT NULL,
  remote INTEGER NOT NULL, -- of the reads and writes
  false_invalidations REAL NOT NULL, true_invalidations REAL NOT NULL,
  remote_score REAL NOT NULL, false_score REAL NOT NULL, true_score REAL NOT NULL
);

-- Advice, best first. A speedup of 1.25 means 1.25 times as fast; NULL: no estimate.
CREATE TABLE findings (
  id INTEGER PRIMARY KEY,
  kind TEXT NOT NULL, fix TEXT NOT NULL, subject TEXT NOT NULL,
  file INTEGER REFERENCES files, line INTEGER NOT NULL,
  speedup_low REAL, speedup_mid REAL, speedup_high REAL,
  program_speedup_low REAL, program_speedup_mid REAL, program_speedup_high REAL,
  title TEXT NOT NULL, text TEXT NOT NULL
);
CREATE TABLE finding_places (
  finding INTEGER NOT NULL REFERENCES findings,
  role TEXT NOT NULL,
  file INTEGER REFERENCES files, line INTEGER NOT NULL,
  what TEXT NOT NULL
);
CREATE TABLE evidence (
  finding INTEGER NOT NULL REFERENCES findings,
  name TEXT NOT NULL, value REAL NOT NULL, unit TEXT NOT NULL
);
CREATE TABLE suggestions (finding INTEGER NOT NULL REFERENCES findings, text TEXT NOT NULL);
CREATE TABLE assumptions (finding INTEGER NOT NULL REFERENCES findings, text TEXT NOT NULL);

-- The text of the source lines that the results refer to.
CREATE TABLE sources (id INTEGER PRIMARY KEY, file INTEGER REFERENCES files);
CREATE TABLE source_lines (
  source INTEGER NOT NULL REFERENCES sources,
  line INTEGER NOT NULL,
  text TEXT NOT NULL
);

-- For queries by hand: SELECT * FROM hot_lines LIMIT 10;
CREATE VIEW hot_lines AS
  SELECT files.path AS file, instructions.line AS line, SUM(stalls.samples) AS samples,
         SUM(stalls.exposed) AS exposed
  FROM stalls JOIN instructions ON instructions.id = stalls.instruction
              LEFT JOIN files ON files.id = instructions.file
  GROUP BY instructions.file, instructions.line ORDER BY samples DESC, file, line;
CREATE VIEW context_values AS
  SELECT contexts.id AS context, contexts.kind AS kind, contexts.name AS name,
         metrics.name AS metric, exclusive, inclusive, unit
  FROM metric_values JOIN contexts ON contexts.id = metric_values.context
                     JOIN metrics ON metrics.id = metric_values.metric;
)sql";

}  // namespace fathom
