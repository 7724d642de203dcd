#include "model/sample_profile.h"

#include <algorithm>
#include <tuple>

#include "base/text.h"

namespace fathom::testing {
namespace {

const char* const kCuda = "/src/layers/kernels.cu";
const char* const kHost = "/src/layers/main.cpp";
const char* const kBinary = "9f2c7d1e5ab04c8f6a3b1d92e7c5408f13aa6be0d4419c27f58e6b0a7d3c2e11";

struct Sampled {
  StallReason reason;
  uint64_t all, exposed;
};

/// Where samples of a reason go in the top-down tree.
TopDown node_of(StallReason reason) {
  switch (reason) {
    case StallReason::selected:
      return TopDown::issues;
    case StallReason::long_scoreboard:
      return TopDown::global_memory;
    case StallReason::short_scoreboard:
      return TopDown::memory_latency;
    case StallReason::lg_throttle:
      return TopDown::flat_request;
    case StallReason::barrier:
      return TopDown::synchronization;
    case StallReason::no_instructions:
      return TopDown::instruction_fetch;
    case StallReason::math_pipe_throttle:
      return TopDown::pipeline;
    default:
      return TopDown::instruction_dependence;
  }
}

template <class Facts>
void count(Facts& facts, const std::vector<Sampled>& samples) {
  for (const Sampled& s : samples) {
    facts.samples.all[size_t(s.reason)] += s.all;
    facts.samples.latency[size_t(s.reason)] += s.exposed;
    if (s.reason == StallReason::not_selected) {
      facts.topdown[TopDown::not_selected] += double(s.all);
      continue;
    }
    bool issued = s.reason == StallReason::selected;
    facts.topdown[node_of(s.reason)] += double(issued ? s.all : s.exposed);
    if (!issued) facts.topdown[TopDown::other_hidden] += double(s.all - s.exposed);
  }
}

void add_run(Profile& p) {
  p.run.fathom_version = "0.1.0";
  p.run.command = "./layers --size 4096";
  p.run.working_directory = "/src/layers";
  p.run.events = "gpu=cuda,pc@14";
  p.run.host = "node07";
  p.run.exit_code = 0;
  p.run.finished = true;
  p.run.wall_seconds = 3.42;
  p.run.processes = 1;
  p.run.sampling_period_log2 = 14;
  p.run.samples_dropped = 41;
  p.run.samples_non_user = 310;
  p.run.samples_unattributed = 352;
  p.warnings = {
      {WarningSeverity::warning, "41 samples were dropped by the GPU: its buffer was full",
       "process 4711", "sample less often: `-e gpu=cuda,pc@16`"},
      {WarningSeverity::note, "gemm_library has no line information", "",
       "build with -lineinfo to see its source lines"}};
  DeviceFacts d;
  d.id = 0;
  d.process = 0;
  d.name = "NVIDIA H200";
  d.compute_major = 9;
  d.compute_minor = 0;
  d.multiprocessors = 132;
  d.core_clock_khz = 1980000;
  d.memory_bytes = 150754820096;
  d.memory_bandwidth = 4.8e12;
  d.max_warps_per_multiprocessor = 64;
  d.max_blocks_per_multiprocessor = 32;
  d.max_registers_per_multiprocessor = 65536;
  d.max_shared_memory_per_multiprocessor = 233472;
  d.max_shared_memory_per_block = 232448;
  d.max_threads_per_block = 1024;
  d.l2_cache_bytes = 62914560;
  p.devices = {d};
}

void add_functions(Profile& p) {
  p.functions = {{"void transpose<double>(double*, double const*, int)",
                  "_Z9transposeIdEvPT_PKS0_i", kBinary, "sm_90", 1408, true, ""},
                 {"wrap(int, int)", "_Z4wrapii", kBinary, "sm_90", 256, false, ""},
                 {"row_sums(float*, float const*, int)", "_Z8row_sumsPfPKfi", kBinary, "sm_90", 896,
                  true, "two instructions at its end could not be decoded"}};
  p.loops = {{0, kNoId, 1, {kCuda, 14}, 22, 0x80, 0x4f0},
             {0, 0, 2, {kCuda, 17}, 20, 0x120, 0x3e0},
             {2, kNoId, 1, {kCuda, 41}, 46, 0x60, 0x200}};
}

void add_instruction(Profile& p, uint32_t function, uint64_t offset, uint32_t line, uint32_t loop,
                     const char* text, const std::vector<Sampled>& samples) {
  InstructionFacts& i = p.instructions.emplace_back();
  i.function = function;
  i.offset = offset;
  i.text = text;
  i.at = {kCuda, line};
  i.loop = loop;
  count(i, samples);
}

void add_instructions(Profile& p) {
  using R = StallReason;
  add_instruction(p, 0, 0x00, 11, kNoId, "LDC R1, c[0x0][0x28]",
                  {{R::selected, 12, 0}, {R::wait, 9, 4}});
  add_instruction(p, 0, 0x80, 14, 0, "ISETP.GE.AND P0, PT, R3, R8, PT",
                  {{R::selected, 40, 0}, {R::wait, 31, 20}});
  add_instruction(p, 0, 0x120, 18, 1, "I2F.RP R6, R12",
                  {{R::selected, 160, 0}, {R::wait, 44, 20}, {R::not_selected, 22, 0}});
  add_instruction(p, 0, 0x130, 18, 1, "MUFU.RCP R6, R6",
                  {{R::selected, 155, 0}, {R::short_scoreboard, 610, 520}});
  add_instruction(p, 0, 0x140, 18, 1, "F2I.FTZ.U32.TRUNC.NTZ R7, R6",
                  {{R::selected, 158, 0}, {R::short_scoreboard, 705, 596}});
  add_instruction(p, 0, 0x150, 18, 1, "IMAD.HI.U32 R7, R7, R9, R6",
                  {{R::selected, 149, 0}, {R::short_scoreboard, 312, 260}, {R::wait, 120, 71}});
  add_instruction(p, 0, 0x200, 19, 1, "LDG.E.64 R10, desc[UR4][R14.64]",
                  {{R::selected, 170, 0}, {R::lg_throttle, 260, 190}, {R::wait, 60, 25}});
  add_instruction(p, 0, 0x210, 19, 1, "DADD R10, R10, R18",
                  {{R::selected, 168, 0}, {R::long_scoreboard, 1480, 1310}});
  p.instructions.back().inlined = {{"add<double>(double, double)", {kCuda, 19}},
                                   {"plus(double, double)", {"/src/layers/numeric.h", 7}}};
  p.instructions.back().at = {"/src/layers/numeric.h", 3};
  add_instruction(
      p, 0, 0x3e0, 20, 1, "STG.E.64 desc[UR4][R16.64], R10",
      {{R::selected, 166, 0}, {R::lg_throttle, 190, 120}, {R::math_pipe_throttle, 8, 3}});
  add_instruction(p, 1, 0x00, 5, kNoId, "IMAD R4, R4, R5, RZ",
                  {{R::selected, 88, 0}, {R::no_instructions, 54, 41}});
  add_instruction(p, 2, 0x60, 42, 2, "LDG.E R2, desc[UR4][R4.64]",
                  {{R::selected, 70, 0}, {R::wait, 20, 8}});
  add_instruction(p, 2, 0x90, 43, 2, "FADD R6, R6, R2",
                  {{R::selected, 66, 0}, {R::long_scoreboard, 540, 430}});
  add_instruction(p, 2, 0x1a0, 45, 2, "BAR.SYNC.DEFER_BLOCKING 0x0",
                  {{R::selected, 30, 0}, {R::barrier, 280, 240}});
}

void add_blame(Profile& p) {
  using R = StallReason;
  p.blame = {{3, 2, R::short_scoreboard, StallClass::arithmetic, 610, 520, 1, "B0"},
             {4, 3, R::short_scoreboard, StallClass::arithmetic, 705, 596, 1, "B0"},
             {5, 4, R::short_scoreboard, StallClass::arithmetic, 312, 260, 1, "B1"},
             {5, 2, R::wait, StallClass::arithmetic, 120, 71, 3, "R6"},
             {6, 6, R::lg_throttle, StallClass::throttle, 260, 190, 0, ""},
             {7, 6, R::long_scoreboard, StallClass::global_memory, 1480, 1310, 1, "R10"},
             {8, kNoId, R::lg_throttle, StallClass::throttle, 190, 120, 0, ""},
             {11, 10, R::long_scoreboard, StallClass::global_memory, 540, 430, 3, "R2"},
             {12, 12, R::barrier, StallClass::synchronization, 280, 240, 0, ""}};
}

LaunchGroup group(std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, uint64_t launches,
                  double seconds, Occupancy occupancy, double waves) {
  LaunchGroup g;
  g.shape.grid = grid;
  g.shape.block = block;
  g.shape.cluster = {1, 1, 1};
  g.shape.registers_per_thread = 72;
  g.launches = launches;
  g.seconds = seconds;
  g.occupancy = occupancy;
  g.waves = waves;
  return g;
}

void add_kernels(Profile& p) {
  KernelSummary transpose;
  transpose.name = p.functions[0].name;
  transpose.mangled = p.functions[0].mangled;
  transpose.function = 0;
  transpose.launches = 1200;
  transpose.seconds = 1.464;
  transpose.min_seconds = 0.00118;
  transpose.max_seconds = 0.00142;
  transpose.coverage_before = 0.61;
  transpose.coverage_after = 0.93;
  transpose.launch_contexts = {4};
  transpose.groups = {group({128, 128, 1}, {32, 8, 1}, 1000, 1.22,
                            {3, 24, 64, OccupancyLimit::registers, 8, 32, 3, 13}, 41.374),
                      group({64, 64, 1}, {32, 8, 1}, 200, 0.244,
                            {3, 24, 64, OccupancyLimit::registers, 8, 32, 3, 13}, 10.343)};
  transpose.groups[0].shape.static_shared_memory = 16896;
  transpose.groups[0].shape.dynamic_shared_memory = 1024;
  transpose.groups[0].shape.local_memory_per_thread = 48;
  KernelSummary sums;
  sums.name = p.functions[2].name;
  sums.mangled = p.functions[2].mangled;
  sums.function = 2;
  sums.launches = 1200;
  sums.seconds = 0.312;
  sums.min_seconds = 0.00025;
  sums.max_seconds = 0.00029;
  sums.coverage_before = 0.8;
  sums.coverage_after = 1;
  sums.launch_contexts = {10};
  sums.groups = {group({64, 1, 1}, {1024, 1, 1}, 1200, 0.312,
                       {2, 64, 64, OccupancyLimit::warps, 2, 32, 2, 6}, 0.242)};
  sums.groups[0].shape.registers_per_thread = 32;
  KernelSummary library;
  library.name = library.mangled = "gemm_library_f32_128x128x32_stages4_warpspecialized_kernel";
  library.launches = 40;
  library.seconds = 0.128;
  library.min_seconds = 0.0031;
  library.max_seconds = 0.0033;
  library.groups = {group({132, 1, 1}, {384, 1, 1}, 40, 0.128,
                          {1, 12, 64, OccupancyLimit::shared_memory, 5, 32, 1, 1}, 1)};
  library.groups[0].shape.registers_per_thread = 168;
  library.groups[0].shape.dynamic_shared_memory = 213 * 1024;
  p.kernels = {transpose, sums, library};
  for (const InstructionFacts& i : p.instructions) {
    KernelSummary& kernel = p.kernels[i.function == 2 ? 1 : 0];
    kernel.samples += i.samples;
    kernel.topdown += i.topdown;
    p.run.samples_attributed += i.samples.total();
  }
  for (KernelSummary& kernel : p.kernels) kernel.share = kernel.seconds / 1.904;
  p.run.samples_total = p.run.samples_attributed + p.run.samples_unattributed +
                        p.run.samples_dropped + p.run.samples_non_user;
}

void add_metrics(Profile& p) {
  p.metrics = {
      {"GPUOP", "s", kNoId, "Total GPU operation time", true, MetricKind::sum, ""},
      {"GKER", "s", 0, "GPU time: kernel execution", true, MetricKind::sum, ""},
      {"GXCOPY", "s", 0, "GPU time: explicit data copy", true, MetricKind::sum, ""},
      {"GMSET", "s", 0, "GPU time: memory set", true, MetricKind::sum, ""},
      {"GMEM", "s", 0, "GPU time: memory allocation", true, MetricKind::sum, ""},
      {"GSYNC", "s", 0, "GPU time: synchronization", true, MetricKind::sum, ""},
      {"GKER:COUNT", "count", kNoId, "GPU kernel: launch count", true, MetricKind::sum, ""},
      {"GXCOPY:H2D", "bytes", kNoId, "copies from host to device", false, MetricKind::sum, ""},
      {"GXCOPY:D2H", "bytes", kNoId, "copies from device to host", false, MetricKind::sum, ""},
      {"GXCOPY:COUNT", "count", kNoId, "copies", true, MetricKind::sum, ""},
      {"GMSET:DEV", "bytes", kNoId, "memory set on the device", false, MetricKind::sum, ""},
      {"GMSET:COUNT", "count", kNoId, "memory sets", true, MetricKind::sum, ""},
      {"GMEM:DEV", "bytes", kNoId, "device memory allocated", false, MetricKind::sum, ""},
      {"GMEM:COUNT", "count", kNoId, "allocations", true, MetricKind::sum, ""},
      {"GSYNC:CTX", "s", kNoId, "waiting for a context", false, MetricKind::sum, ""},
      {"GSYNC:COUNT", "count", kNoId, "synchronizations", true, MetricKind::sum, ""},
      {"GKER:OCC_T", "%", kNoId, "theoretical occupancy", true, MetricKind::derived,
       "100 * GKER:WRP_ACT_T / GKER:WRP_AVL"},
      {"GKER:THR_REG", "registers", kNoId, "registers per thread", true, MetricKind::average, ""},
      {"GCYCLES", "cycles", kNoId, "GPU cycles", true, MetricKind::sum, ""}};
}

uint32_t add_context(Profile& p, uint32_t parent, ContextKind kind, const std::string& name,
                     SourceLocation at = {}, uint32_t function = kNoId) {
  Context& c = p.contexts.emplace_back();
  c.parent = parent;
  c.kind = kind;
  c.name = name;
  c.at = std::move(at);
  c.function = function;
  return uint32_t(p.contexts.size() - 1);
}

void add_contexts(Profile& p) {
  using K = ContextKind;
  add_context(p, kNoId, K::root, "layers");
  add_context(p, 0, K::process, "layers (process 4711)");
  add_context(p, 1, K::cpu_function, "main", {kHost, 88});
  add_context(p, 2, K::cpu_function, "run_layers(Model&, int)", {kHost, 92});
  add_context(p, 3, K::gpu_operation, "<gpu kernel>", {kHost, 51});
  add_context(p, 4, K::gpu_function, p.functions[0].name, {kCuda, 11}, 0);
  add_context(p, 5, K::gpu_loop, "loop", {kCuda, 14}, 0);
  add_context(p, 6, K::gpu_loop, "loop", {kCuda, 17}, 0);
  add_context(p, 7, K::gpu_line, "kernels.cu:18", {kCuda, 18}, 0);
  add_context(p, 7, K::gpu_line, "kernels.cu:19", {kCuda, 19}, 0);
  add_context(p, 3, K::gpu_operation, "<gpu kernel>", {kHost, 57});
  add_context(p, 10, K::gpu_function, p.functions[2].name, {kCuda, 38}, 2);
  add_context(p, 3, K::gpu_operation, "<gpu copy>", {kHost, 44});
  add_context(p, 3, K::gpu_operation, "<gpu copy>", {kHost, 63});
  add_context(p, 2, K::cpu_inlined, "prepare(Model&)", {kHost, 90});
  add_context(p, 14, K::gpu_operation, "<gpu alloc>", {kHost, 21});
  add_context(p, 14, K::gpu_operation, "<gpu memset>", {kHost, 23});
  add_context(p, 2, K::gpu_operation, "<gpu sync>", {kHost, 95});
  add_context(p, 5, K::gpu_function, p.functions[1].name, {kCuda, 16}, 1);
  add_context(p, 3, K::gpu_operation, "<gpu kernel>", {kHost, 60});
  add_context(p, 2, K::cpu_line, "main.cpp:97", {kHost, 97});
  add_context(p, 5, K::gpu_inlined, "add<double>(double, double)", {kCuda, 19}, 0);
  add_context(p, 7, K::gpu_instruction, "DADD R10, R10, R18", {kCuda, 19}, 0);
  add_context(p, 5, K::gpu_scc, "recursion", {kCuda, 30}, 1);
  p.contexts[2].module = p.contexts[3].module = "layers";
  p.contexts[3].address = 0x401a2c;
  p.contexts[5].module = kBinary;
  p.contexts[22].address = 0x210;
}

uint32_t metric_id(const Profile& p, const std::string& name) {
  for (uint32_t i = 0; i < p.metrics.size(); ++i)
    if (p.metrics[i].name == name) return i;
  return kNoId;
}

/// Adds to a context and to all above it.
void add_value(Profile& p, uint32_t context, const char* metric, double amount) {
  uint32_t id = metric_id(p, metric);
  for (uint32_t at = context; at != kNoId; at = p.contexts[at].parent) {
    auto same = [&](const MetricValue& v) { return v.context == at && v.metric == id; };
    auto value = std::find_if(p.values.begin(), p.values.end(), same);
    if (value == p.values.end()) value = p.values.insert(value, {at, id, 0, 0});
    value->inclusive += amount;
    if (at == context) value->exclusive += amount;
  }
}

void add_values(Profile& p) {
  auto timed = [&](uint32_t context, const char* metric, double seconds) {
    add_value(p, context, metric, seconds);
    add_value(p, context, "GPUOP", seconds);
  };
  timed(4, "GKER", 1.464);
  timed(10, "GKER", 0.312);
  timed(19, "GKER", 0.128);
  add_value(p, 4, "GKER:COUNT", 1200);
  add_value(p, 10, "GKER:COUNT", 1200);
  add_value(p, 19, "GKER:COUNT", 40);
  timed(12, "GXCOPY", 0.021);
  add_value(p, 12, "GXCOPY:H2D", 1.1e9);
  add_value(p, 12, "GXCOPY:COUNT", 16);
  timed(13, "GXCOPY", 0.012);
  add_value(p, 13, "GXCOPY:D2H", 2.7e8);
  add_value(p, 13, "GXCOPY:COUNT", 1200);
  timed(15, "GMEM", 0.0021);
  add_value(p, 15, "GMEM:DEV", 1.4e9);
  add_value(p, 15, "GMEM:COUNT", 6);
  timed(16, "GMSET", 0.0004);
  add_value(p, 16, "GMSET:DEV", 1.3e8);
  add_value(p, 16, "GMSET:COUNT", 2);
  timed(17, "GSYNC", 0.0031);
  add_value(p, 17, "GSYNC:CTX", 0.0031);
  add_value(p, 17, "GSYNC:COUNT", 1201);
  double cycles = 1 << p.run.sampling_period_log2;
  double line18 = 0, line19 = 0, rest = 0, wrap = 0, sums = 0;
  for (const InstructionFacts& i : p.instructions) {
    double own = double(i.samples.total()) * cycles;
    (i.function == 2   ? sums
     : i.function == 1 ? wrap
     : i.at.line == 18 ? line18
     : i.at.line == 19 ? line19
                       : rest) += own;
  }
  add_value(p, 8, "GCYCLES", line18);
  add_value(p, 9, "GCYCLES", line19);
  add_value(p, 7, "GCYCLES", rest);
  add_value(p, 18, "GCYCLES", wrap);
  add_value(p, 11, "GCYCLES", sums);
  std::sort(p.values.begin(), p.values.end(), [](const MetricValue& a, const MetricValue& b) {
    return std::tie(a.context, a.metric) < std::tie(b.context, b.metric);
  });
}

Finding division_finding(const Profile& p) {
  Finding f;
  f.kind = "strength-reduction";
  f.fix = "reciprocal";
  f.subject = p.functions[0].name;
  f.location = {kCuda, 18};
  f.related = {{"waits here", {kCuda, 18}, "IMAD.HI.U32 R7, R7, R9, R6, 1 instruction later"},
               {"value comes from", {kCuda, 18}, "F2I.FTZ.U32.TRUNC.NTZ R7, R6"},
               {"loop", {kCuda, 17}, "lines 17 to 20"}};
  f.evidence = {{"matched samples", 1747, "samples"},
                {"share of the kernel's samples", 0.3121, "fraction"},
                {"distance", 1, "instructions"}};
  f.speedup = {1.18, 1.31, 1.45};
  f.program_speedup = {1.07, 1.11, 1.15};
  f.title = "An integer division takes a third of the kernel's time";
  f.text =
      "The GPU has no instruction for an integer division. The compiler makes about twenty of it, "
      "among them conversions and a reciprocal on a slow unit, and each waits for the one before.";
  f.suggestions = {
      "Divide by a constant that the compiler knows (a template parameter), so that it multiplies "
      "instead.",
      "If the divisor is the same for all threads, compute its reciprocal once on the CPU.",
      "For a power of two, shift and mask."};
  f.assumptions = {"all the matched waiting disappears (upper end) or half of it (lower end)",
                   "the replacement itself costs nothing that other warps do not hide"};
  return f;
}

Finding unroll_finding(const Profile& p) {
  Finding f;
  f.kind = "loop-unrolling";
  f.subject = p.functions[0].name;
  f.location = {kCuda, 17};
  f.related = {{"waits here", {"/src/layers/numeric.h", 3}, "DADD R10, R10, R18"},
               {"value comes from", {kCuda, 19}, "LDG.E.64 R10, desc[UR4][R14.64]"},
               {"inlined at", {kCuda, 19}, "add<double>(double, double)"}};
  f.evidence = {{"exposed samples in the loop", 1310, "samples"},
                {"active samples in the loop", 1490, "samples"}};
  f.speedup = {1.08, 1.2, 1.26};
  f.program_speedup = {1.03, 1.08, 1.1};
  f.title = "Each turn of the loop waits for its own load from global memory";
  f.text =
      "The loaded value is used right after the load. With several turns of the loop in flight, "
      "their loads overlap and the waiting is shared.";
  f.suggestions = {"Put `#pragma unroll 4` before the loop in line 17.",
                   "Load the values of the next turn before using those of this one."};
  f.assumptions = {"the loop runs at least four turns"};
  return f;
}

void add_findings(Profile& p) {
  Finding blocks;
  blocks.kind = "block-increase";
  blocks.subject = p.functions[2].name;
  blocks.location = {kCuda, 38};
  blocks.evidence = {{"blocks", 64, "blocks"}, {"multiprocessors", 132, "multiprocessors"}};
  blocks.speedup = {1.3, 1.61, 1.9};
  blocks.program_speedup = {1.02, 1.04, 1.05};
  blocks.title = "68 of the 132 multiprocessors have nothing to do";
  blocks.text = "The kernel is launched with 64 blocks, fewer than the GPU has multiprocessors.";
  blocks.suggestions = {"Launch 128 blocks of 512 threads instead of 64 blocks of 1,024."};
  blocks.assumptions = {"the work divides evenly among more blocks"};
  Finding balance;
  balance.kind = "warp-balance";
  balance.subject = p.functions[2].name;
  balance.location = {kCuda, 45};
  balance.evidence = {{"samples at barriers", 280, "samples"}};
  balance.title = "Warps wait for the slowest one at a barrier";
  balance.text = "A quarter of the kernel's samples are at the barrier in line 45.";
  balance.suggestions = {"Give each warp the same number of rows."};
  Finding numa;
  numa.kind = "remote-access";
  numa.fix = "block-interleave";
  numa.subject = "weights (heap object, 1.1 GiB)";
  numa.location = {kHost, 19};
  numa.related = {{"allocation", {kHost, 19}, "new float[n]"}};
  numa.evidence = {{"remote accesses", 0.74, "fraction"}};
  numa.program_speedup = {1.0, 1.02, 1.03};
  numa.title = "Three of four accesses to `weights` go to the other socket's memory";
  numa.text = "One thread fills the object, so that all its pages are on that thread's node.";
  numa.suggestions = {"Fill the object with the threads that use it."};
  p.findings = {division_finding(p), unroll_finding(p), blocks, balance, numa};
}

void add_sources(Profile& p) {
  SourceText cuda{kCuda, {}};
  cuda.lines = {{16, "    int row = blockIdx.y * 32 + threadIdx.y;"},
                {17, "    for (int k = 0; k < depth; ++k) {"},
                {18, "      int from = wrap(row + k, n) / width;"},
                {19, "      double value = add(in[from * n + column], bias);"},
                {20, "      out[column * n + row] = value;"},
                {21, "    }"},
                {37, "__global__ void row_sums(float* sums, const float* in, int n) {"},
                {38, "  __shared__ float part[32];"},
                {42, "    float x = in[row * n + i];"},
                {43, "    sum += x;"},
                {44, "\tpart[warp] = sum;"},
                {45, "    __syncthreads();"}};
  SourceText host{kHost, {{19, "  float* weights = new float[n];"}}};
  SourceText numeric{"/src/layers/numeric.h", {{3, "  return a + b;"}}};
  p.sources = {cuda, host, numeric};
}

}  // namespace

Profile sample_profile() {
  Profile p;
  add_run(p);
  add_functions(p);
  add_instructions(p);
  add_blame(p);
  add_kernels(p);
  add_metrics(p);
  add_contexts(p);
  add_values(p);
  add_findings(p);
  add_sources(p);
  return p;
}

std::vector<NumaFacts> sample_numa() {
  NumaFacts numa;
  numa.program = "solver";
  numa.process = 1;
  numa.threads = 2;
  numa.time_ms = 125.5;
  numa.parallel_share = 0.75;
  numa.migration_score = 12.25;
  numa.phases = 4;
  numa.sampling = 2;
  numa.accesses_not_counted = 17;
  numa.topology = "2x16:1,1.6";
  numa.thread_facts = {
      {0, "main", "", {}, 1000, 200, 0, 1, 0, 3, 0, 0.001, 0.1, 0.2},
      {1, "pthread", "work", {kHost, 12}, 5000, 700, 9, 4, 5, 6, 7, 0.0625, 0.151, 0.19}};
  numa.objects = {{"heap memory of make, main.cpp:19",
                   "heap",
                   {kHost, 19},
                   2,
                   8192,
                   5500,
                   800,
                   4000,
                   1.5,
                   0.25,
                   31.75,
                   0.5,
                   0.125},
                  {"total", "variable", {}, 1, 8, 500, 100, 0, 0, 60.5, 0, 0, 2.5}};
  NumaFacts other;
  other.program = "helper";
  other.process = 3;
  return {numa, other};
}

Profile large_profile(uint32_t instructions) {
  using R = StallReason;
  Profile p;
  add_functions(p);
  p.loops.clear();
  for (uint32_t i = 0; i < instructions; ++i) {
    add_instruction(p, 0, uint64_t{16} * i, 1 + i / 20, kNoId, "FFMA R4, R8, R12, R4",
                    {{R::selected, 3 + i % 7, 0},
                     {R::wait, 2, 1},
                     {R::long_scoreboard, 9, i % 9},
                     {R::not_selected, 1, 0}});
    p.instructions.back().inlined = {{"outer", {kCuda, 1 + i / 200}}, {"inner", {kCuda, i / 20}}};
    if (i > 0)
      p.blame.push_back(
          {i, i - 1, R::long_scoreboard, StallClass::global_memory, 9, double(i % 9), 1, "R4"});
  }
  return p;
}

}  // namespace fathom::testing
