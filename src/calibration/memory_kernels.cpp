#include "calibration/memory_kernels.h"

#include <cstring>

#include "base/text.h"
#include "calibration/timed_kernel.h"

namespace fathom {
namespace {

constexpr int kChain = 16;

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

/// %w0 = a + global * b
const char kOwnPlace[] = "  cvt.u64.u32 %w0, %global; mad.lo.u64 %w0, %w0, %b, %a;\n";
/// %r0 = this thread's word of shared memory, in which its own address stands.
const char kOwnWord[] =
    "  cvt.u32.u64 %t, %b; mul.lo.u32 %r0, %lane, %t; and.b32 %r0, %r0, 1023;\n"
    "  mov.u32 %t, words; mad.lo.u32 %r0, %r0, 4, %t; st.shared.b32 [%r0], %r0;\n";
const char kFoldWide[] = "  cvt.u32.u64 %t, %w0; xor.b32 %sum, %sum, %t;\n";
const char kFoldWord[] = "  xor.b32 %sum, %sum, %r0;\n";

class List {
 public:
  explicit List(unsigned compute) : compute_(compute) {}
  void add(const std::string& name, std::vector<std::string> opcodes, int expected,
           const TimedKernel& kernel) {
    all.push_back({name, timed_kernel(kernel, compute_), std::move(opcodes), expected});
  }
  std::vector<Microbenchmark> all;

 private:
  unsigned compute_;
};

void add_pointer_loads(List& list) {
  for (const char* level : {"l1", "l2"}) {
    const std::string load =
        std::strcmp(level, "l1") == 0 ? "ld.global.ca.b64" : "ld.global.cg.b64";
    list.add(std::string("chase_") + level, {"LDG"}, kChain,
             {kOwnPlace, repeated("  " + load + " %w0, [%w0];\n", kChain), kFoldWide});
    TimedKernel self{kOwnPlace, "", ""};
    for (int c = 0; c < 4; ++c) {
      if (c > 0) self.setup += for_chain("  mad.lo.u64 %w{c}, %c, {c}, %w0;\n", c);
      self.fold += for_chain("  cvt.u32.u64 %t, %w{c}; xor.b32 %sum, %sum, %t;\n", c);
    }
    for (int i = 0; i < kChain; ++i)
      self.body += for_chain("  " + load + " %w{c}, [%w{c}];\n", i % 4);
    list.add(std::string("self_") + level, {"LDG"}, kChain, self);
  }
}

/// A linear congruence gives the next line, its high bits, which follow no pattern, with the low
/// ones; the zero that was loaded makes it wait.
void add_random(List& list) {
  const char setup[] =
      "  mov.u32 %r0, %clock; mov.u32 %t, %smid; mad.lo.u32 %r0, %t, 40503, %r0;\n"
      "  shr.u32 %t, %global, 5; mad.lo.u32 %r0, %t, 2654435761, %r0;\n"
      "  shfl.sync.idx.b32 %r0, %r0, 0, 31, -1;\n"
      "  cvt.u32.u64 %rb, %b; mul.wide.u32 %w1, %lane, 4; add.u64 %w1, %w1, %a;\n";
  const std::string next =
      "  mad.lo.u32 %r0, %r0, 1664525, 1013904223; shr.u32 %t, %r0, 15;\n"
      "  xor.b32 %t, %t, %r0; and.b32 %t, %t, %rb; mad.wide.u32 %w{c}, %t, 128, %w1;\n";
  const std::string load = for_chain(next, 0) + "  ld.global.ca.b32 %t, [%w0];\n";
  const char wait[] = "  add.u32 %r0, %r0, %t;\n";
  list.add("random", {"LDG"}, 8, {setup, repeated(load + wait, 8), kFoldWord});
  // Of four arrays that lie as far apart as large ones do.
  list.add("random_four", {"LDG"}, 32,
           {setup,
            repeated(for_chain(next, 0) +
                         "  ld.global.ca.b32 %t, [%w0]; ld.global.ca.b32 %r1, [%w0+536870912];\n"
                         "  ld.global.ca.b32 %r2, [%w0+1073741824];\n"
                         "  ld.global.ca.b32 %r3, [%w0+1610612736];\n"
                         "  add.u32 %t, %t, %r1; add.u32 %r2, %r2, %r3; add.u32 %t, %t, %r2;\n" +
                         wait,
                     8),
            kFoldWord});
  list.add("random_copy", {"LDG", "STG"}, 16,
           {setup, repeated(load + wait + "  st.global.b32 [%w0], %t;\n", 8), kFoldWord});
}

void add_shared(List& list) {
  list.add("shared_stride", {"LDS"}, kChain,
           {kOwnWord, repeated("  ld.shared.b32 %r0, [%r0];\n", kChain), kFoldWord});
  const std::string quarter =
      "  mov.u32 %r0, words; and.b32 %t, %thread, 63; mad.lo.u32 %r0, %t, 16, %r0;\n"
      "  st.shared.b32 [%r0], %r0; st.shared.b32 [%r0+4], %r0; st.shared.b32 [%r0+8], %r0;\n"
      "  st.shared.b32 [%r0+12], %r0;\n";
  const std::string half =
      "  mov.u32 %r0, words; and.b32 %t, %thread, 127; mad.lo.u32 %r0, %t, 8, %r0;\n"
      "  st.shared.b32 [%r0], %r0; st.shared.b32 [%r0+4], %r0;\n";
  // All words are used, or the compiler would load fewer.
  list.add(
      "shared_wide_8", {"LDS.64"}, kChain,
      {half, repeated("  ld.shared.v2.b32 {%r0, %r1}, [%r0]; xor.b32 %r2, %r2, %r1;\n", kChain),
       "  xor.b32 %r0, %r0, %r2;\n" + std::string(kFoldWord)});
  list.add("shared_wide_16", {"LDS.128"}, kChain,
           {quarter,
            repeated("  ld.shared.v4.b32 {%r0, %r1, %r2, %r3}, [%r0];\n"
                     "  xor.b32 %r4, %r4, %r1; xor.b32 %r5, %r5, %r2; xor.b32 %r6, %r6, %r3;\n",
                     kChain),
            "  xor.b32 %r0, %r0, %r4; xor.b32 %r0, %r0, %r5; xor.b32 %r0, %r0, %r6;\n" +
                std::string(kFoldWord)});
  list.add("constant", {"LDC"}, kChain,
           {"  mov.u32 %r0, constants; cvt.u32.u64 %t, %b; add.u32 %r0, %r0, %t;\n",
            repeated("  ld.const.b32 %t, [%r0]; add.u32 %r0, %r0, %t;\n", kChain), kFoldWord});
}

/// Walks of warps through a table of b bytes of constants, a line of 64 bytes after the other: one
/// load in each, whose result the next one's address takes; or all of it by a uniform index, as
/// compilers make of a loop over a table, after c / 256 cycles for each block.
void add_constant_walks(List& list) {
  list.add("constant_walk", {"LDC"}, 8,
           {"  cvt.u32.u64 %rb, %b; mov.u32 %r0, 0;\n",
            repeated("  mov.u32 %t, constants; add.u32 %t, %t, %r0; ld.const.b32 %r1, [%t];\n"
                     "  add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, 64;\n"
                     "  setp.ge.u32 %p0, %r0, %rb; selp.b32 %r0, 0, %r0, %p0;\n",
                     8),
            kFoldWord});
  TimedKernel table{
      "  cvt.u32.u64 %rb, %b; cvt.u32.u64 %r2, %c; mul.lo.u32 %r2, %r2, %block;\n"
      "  shr.u32 %r2, %r2, 8; mov.u32 %r3, %clock;\nWAIT:\n  mov.u32 %t, %clock;\n"
      "  sub.u32 %t, %t, %r3; setp.lt.u32 %p0, %t, %r2; @%p0 bra WAIT;\n"
      "  cvt.rn.f32.u32 %k0, %thread; mov.f32 %f2, %k0; mov.f32 %f3, %k0;\n",
      "  mov.u32 %r0, 0;\nLINES:\n  .pragma \"nounroll\";\n"
      "  mov.u32 %t, constants; add.u32 %t, %t, %r0;\n",
      "  add.f32 %f2, %f2, %f3; mov.b32 %t, %f2; xor.b32 %sum, %sum, %t;\n"};
  // An instruction takes one uniform operand, or the compiler would load into other registers.
  for (int at = 0; at < 64; at += 8)
    table.body += format("  ld.const.v2.f32 {%%f0, %%f1}, [%%t+%d];\n", at) +
                  "  fma.rn.f32 %f2, %f2, %f0, %k0; fma.rn.f32 %f3, %f3, %f1, %k0;\n";
  table.body += "  add.u32 %r0, %r0, 64; setp.lt.u32 %p0, %r0, %rb; @%p0 bra LINES;\n";
  list.add("constant_table", {"ULDC.64", "LDCU.64", "LDC.64"}, 8, table);
}

void add_stores_and_atomics(List& list) {
  list.add("store_shared", {"STS"}, kChain,
           {kOwnWord, repeated("  st.volatile.shared.b32 [%r0], %thread;\n", kChain), kFoldWord});
  list.add("store_global", {"STG", "ST"}, kChain,
           {kOwnPlace, repeated("  st.volatile.global.b32 [%w0], %thread;\n", kChain), kFoldWide});
  list.add("atomic_shared", {"ATOMS"}, kChain,
           {std::string(kOwnWord) + "  mov.u32 %r1, %thread;\n",
            repeated("  atom.shared.add.u32 %r1, [%r0], %r1;\n", kChain),
            "  xor.b32 %r0, %r0, %r1;\n" + std::string(kFoldWord)});
  list.add("atomic_global", {"ATOMG", "ATOM"}, kChain,
           {std::string(kOwnPlace) + "  mov.u32 %r0, %thread;\n",
            repeated("  atom.global.add.u32 %r0, [%w0], %r0;\n", kChain), kFoldWord});
  // All warps change the same line.
  list.add("atomic_line", {"ATOMG", "ATOM"}, kChain,
           {"  mul.wide.u32 %w0, %lane, 4; add.u64 %w0, %w0, %a; mov.u32 %r0, %thread;\n",
            repeated("  atom.global.add.u32 %r0, [%w0], %r0;\n", kChain), kFoldWord});
  // Each warp changes one of b + 1 lines.
  list.add("atomic_lines", {"ATOMG", "ATOM"}, kChain,
           {"  shr.u32 %r0, %global, 5; cvt.u64.u32 %w0, %r0; and.b64 %w0, %w0, %b;\n"
            "  shl.b64 %w0, %w0, 7; add.u64 %w0, %w0, %a;\n"
            "  mul.wide.u32 %w1, %lane, 4; add.u64 %w0, %w0, %w1; mov.u32 %r0, %thread;\n",
            repeated("  atom.global.add.u32 %r0, [%w0], %r0;\n", kChain), kFoldWord});
  list.add("barrier", {"BAR"}, kChain,
           {"  mov.u32 %r0, %thread;\n", repeated("  bar.sync 0;\n", kChain), kFoldWord});
}

struct Width {
  int bytes;
  const char* load;
  const char* store;
};
constexpr Width kWidths[] = {
    {4, "ld.global.b32 %r0, [%at];", "st.global.b32 [%to], %r0;"},
    {8, "ld.global.v2.b32 {%r0, %r1}, [%at];", "st.global.v2.b32 [%to], {%r0, %r1};"},
    {16, "ld.global.v4.b32 {%r0, %r1, %r2, %r3}, [%at];",
     "st.global.v4.b32 [%to], {%r0, %r1, %r2, %r3};"},
};

void add_streams(List& list) {
  const std::string place =
      "  .reg .b64 %to;\n  cvt.u64.u32 %at, %global; mad.lo.u64 %at, %at, %c, %a;\n"
      "  mov.u32 %r0, %thread; mov.u32 %r1, %lane; mov.u32 %r2, %global; mov.u32 %r3, %block;\n"
      "  mov.u32 %r4, 0;\n";
  const std::string use[] = {"  xor.b32 %r4, %r4, %r0;", " xor.b32 %r4, %r4, %r1;",
                             " xor.b32 %r4, %r4, %r2; xor.b32 %r4, %r4, %r3;"};
  const std::string next = " add.u64 %at, %at, %b;\n";
  const std::string fold = "  xor.b32 %sum, %sum, %r4;\n";
  for (const Width& width : kWidths) {
    const std::string load = std::string("  ") + width.load, store = std::string(" ") + width.store;
    const std::string suffix = "_" + std::to_string(width.bytes);
    std::string used;
    for (int i = 0, bytes = 4; bytes <= width.bytes; ++i, bytes *= 2) used += use[i];
    list.add("read" + suffix, {"LDG"}, 4, {place, repeated(load + used + next, 4), fold});
    list.add("write" + suffix, {"STG"}, 4,
             {place, repeated("  mov.b64 %to, %at;" + store + next, 4), fold});
    list.add("copy" + suffix, {"LDG"}, 4,
             {place, repeated(load + "  add.u64 %to, %at, 4294967296;" + store + next, 4), fold});
  }
}

/// All threads go through the same bytes again and again, each time with another multiprocessor;
/// the way leads past L1. `gather` asks for a sector at random in each thread.
void add_sweeps(List& list) {
  const std::string place =
      "  .reg .b64 %off, %to;\n  cvt.u64.u32 %off, %global; mul.lo.u64 %off, %off, 16;\n"
      "  mov.u32 %r0, %thread; mov.u32 %r1, %lane; mov.u32 %r2, %global; mov.u32 %r3, %block;\n"
      "  mov.u32 %r4, 0;\n";
  const std::string at = "  add.u64 %at, %a, %off; add.u64 %to, %at, %b;\n";
  const std::string load = "  ld.global.cg.v4.b32 {%r0, %r1, %r2, %r3}, [%at];\n";
  const std::string use =
      "  xor.b32 %r4, %r4, %r0; xor.b32 %r4, %r4, %r1; xor.b32 %r4, %r4, %r2; "
      "xor.b32 %r4, %r4, %r3;\n";
  const std::string next =
      "  add.u64 %off, %off, %c; setp.ge.u64 %p0, %off, %b; @%p0 sub.u64 %off, %off, %b;\n";
  const std::string fold = "  xor.b32 %sum, %sum, %r4;\n";
  list.add("sweep_read", {"LDG"}, 4, {place, repeated(at + load + use + next, 4), fold});
  list.add(
      "sweep_write", {"STG"}, 4,
      {place, repeated(at + "  st.global.v4.b32 [%at], {%r0, %r1, %r2, %r3};\n" + next, 4), fold});
  list.add(
      "sweep_copy", {"LDG"}, 4,
      {place, repeated(at + load + "  st.global.v4.b32 [%to], {%r0, %r1, %r2, %r3};\n" + next, 4),
       fold});
  list.add("gather", {"LDG"}, 4,
           {"  mov.u32 %r4, 0; mad.lo.u32 %r0, %global, 2654435761, 12345; cvt.u32.u64 %rb, %b;\n",
            repeated("  mad.lo.u32 %r0, %r0, 1664525, 1013904223; shr.u32 %t, %r0, 6;\n"
                     "  and.b32 %t, %t, %rb; mad.wide.u32 %at, %t, 32, %a;\n"
                     "  ld.global.cg.b32 %r1, [%at]; xor.b32 %r4, %r4, %r1;\n",
                     4),
            fold});
}

}  // namespace

std::vector<Microbenchmark> memory_benchmarks(unsigned compute) {
  List list(compute);
  add_pointer_loads(list);
  add_random(list);
  add_shared(list);
  add_constant_walks(list);
  add_stores_and_atomics(list);
  add_streams(list);
  add_sweeps(list);
  return std::move(list.all);
}

}  // namespace fathom
