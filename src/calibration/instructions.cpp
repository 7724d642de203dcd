#include "calibration/instructions.h"

#include "calibration/timed_kernel.h"

namespace fathom {
namespace {

/// From the seed %a and the thread.
const char kOperands[] = R"(
  cvt.u32.u64 %ra, %a;
  mad.lo.u32 %ra, %thread, %ra, 12345;
  mad.lo.u32 %rb, %ra, %ra, 777;
  and.b32 %t, %ra, 1023;
  cvt.rn.f32.u32 %fa, %t;
  fma.rn.f32 %fa, %fa, 0f38D1B717, 0f3F666666;
  mul.rn.f32 %fb, %fa, 0f3DCCCCCD;
  cvt.f64.f32 %da, %fa;
  cvt.f64.f32 %db, %fb;
  and.b32 %t, %ra, 16711935;
  xor.b32 %ha, %t, 939538432;
  xor.b32 %hb, %t, 805320704;
)";

const char kChainSetup[] =
    "  add.u32 %r{c}, %ra, {c}; mul.wide.u32 %w{c}, %r{c}, %rb; add.f32 %f{c}, %fa, 0f3F800000; "
    "mov.f32 %g{c}, %fa; mov.f32 %k{c}, %fb; mov.f32 %l{c}, %fb; mov.f64 %d{c}, %da; "
    "mov.f64 %e{c}, %db; add.u32 %h{c}, %ha, {c};";

/// Folds everything that a chain may have computed into %sum.
const char kChainSum[] = R"(
  xor.b32 %sum, %sum, %r{c};
  xor.b32 %sum, %sum, %h{c};
  cvt.u32.u64 %t, %w{c};
  xor.b32 %sum, %sum, %t;
  add.f32 %f{c}, %f{c}, %g{c};
  add.f32 %f{c}, %f{c}, %k{c};
  add.f32 %f{c}, %f{c}, %l{c};
  mov.b32 %t, %f{c};
  xor.b32 %sum, %sum, %t;
  add.f64 %d{c}, %d{c}, %e{c};
  mov.b64 %w{c}, %d{c};
  cvt.u32.u64 %t, %w{c};
  xor.b32 %sum, %sum, %t;
)";

/// Each word of shared memory holds its own address, so that a load's result is the next address.
const char kSelfPointers[] =
    "mov.u32 %r{c}, words; mad.lo.u32 %r{c}, %thread, 4, %r{c}; st.shared.b32 [%r{c}], %r{c};";

std::vector<MeasuredInstruction> arithmetic() {
  return {
      {"integer",
       {"LOP3", "SHF"},
       "xor.b32 %r{c}, %r{c}, %ra; shf.l.wrap.b32 %r{c}, %r{c}, %rb, %ra;",
       2},
      {"integer_add",
       {"IADD3", "VIADD", "LOP3"},
       "add.s32 %r{c}, %r{c}, %ra; add.s32 %r{c}, %r{c}, %rb; xor.b32 %r{c}, %r{c}, %rb;",
       2},
      {"integer_minmax",
       {"VIMNMX", "IMNMX", "LOP3"},
       "min.s32 %r{c}, %r{c}, %ra; xor.b32 %r{c}, %r{c}, %rb;",
       2},
      {"integer_multiply", {"IMAD"}, "mad.lo.s32 %r{c}, %r{c}, %ra, %rb;", 1},
      {"integer_multiply_wide",
       {"IMAD.WIDE"},
       "mul.wide.u32 %w{c}, %r{c}, %ra; mov.b64 {%t, %r{c}}, %w{c}; xor.b32 %r{c}, %r{c}, %t;",
       1,
       70,
       "integer"},
      {"popcount", {"POPC"}, "popc.b32 %r{c}, %r{c};", 1},
      {"bit_reverse",
       {"BREV"},
       "brev.b32 %r{c}, %r{c}; xor.b32 %r{c}, %r{c}, %ra;",
       1,
       70,
       "integer"},
      {"find_leading", {"FLO"}, "bfind.u32 %r{c}, %r{c};", 1},
      {"dot_product_4", {"IDP"}, "dp4a.s32.s32 %r{c}, %ra, %rb, %r{c};", 1},
      {"fp32", {"FFMA"}, "fma.rn.f32 %f{c}, %f{c}, %fa, %fb;", 1},
      {"fp32_add", {"FADD"}, "add.rn.f32 %f{c}, %f{c}, %fa;", 1},
      {"fp32_multiply", {"FMUL"}, "mul.rn.f32 %f{c}, %f{c}, %fa;", 1},
      {"fp32_minmax", {"FMNMX"}, "min.f32 %f{c}, %f{c}, %fa; max.f32 %f{c}, %f{c}, %fb;", 2},
      {"fp16", {"HFMA2"}, "fma.rn.f16x2 %h{c}, %h{c}, %ha, %hb;", 1},
      {"fp64", {"DFMA"}, "fma.rn.f64 %d{c}, %d{c}, %da, %db;", 1},
      {"fp64_add", {"DADD"}, "add.rn.f64 %d{c}, %d{c}, %da;", 1},
      {"fp64_multiply", {"DMUL"}, "mul.rn.f64 %d{c}, %d{c}, %da;", 1},
      {"special", {"MUFU.EX2"}, "ex2.approx.ftz.f32 %f{c}, %f{c};", 1},
      {"special_reciprocal",
       {"MUFU.RCP"},
       "rcp.approx.ftz.f32 %f{c}, %f{c}; add.rn.ftz.f32 %f{c}, %f{c}, %fa;",
       1,
       70,
       "fp32_add"},
      {"special_root", {"MUFU.RSQ"}, "rsqrt.approx.ftz.f32 %f{c}, %f{c};", 1},
  };
}

std::vector<MeasuredInstruction> other_instructions() {
  return {
      {"conversion",
       {"F2I"},
       "cvt.rn.f32.s32 %f{c}, %r{c}; cvt.rzi.s32.f32 %r{c}, %f{c};",
       1,
       70,
       "integer"},
      {"conversion_64", {"F2F"}, "cvt.f64.f32 %d{c}, %f{c}; cvt.rn.f32.f64 %f{c}, %d{c};", 2},
      {"predicate",
       {"ISETP.GE", "ISETP.LT", "ISETP.GT", "SEL"},
       "setp.lt.s32 %p{c}, %r{c}, %ra; selp.b32 %r{c}, %ra, %rb, %p{c};",
       2},
      {"shuffle", {"SHFL"}, "shfl.sync.bfly.b32 %r{c}, %r{c}, 1, 31, -1;", 1},
      {"vote",
       {"VOTE"},
       "setp.lt.s32 %p{c}, %r{c}, %ra; vote.sync.ballot.b32 %r{c}, %p{c}, -1;",
       1,
       70,
       "predicate"},
      {"reduce_warp", {"REDUX"}, "redux.sync.add.s32 %r{c}, %r{c}, -1;", 1, 80},
      {"permute_bytes", {"PRMT"}, "prmt.b32 %r{c}, %r{c}, %ra, %rb;", 1},
      {"tensor_16816_f16",
       {"HMMA.16816"},
       "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f{c}, %g{c}, %k{c}, %l{c}}, "
       "{%ra, %rb, %ra, %rb}, {%ra, %rb}, {%f{c}, %g{c}, %k{c}, %l{c}};",
       1,
       80},
      {"tensor_1688_f16",
       {"HMMA.1688"},
       "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%f{c}, %g{c}, %k{c}, %l{c}}, "
       "{%ra, %rb}, {%ra}, {%f{c}, %g{c}, %k{c}, %l{c}};",
       1,
       80},
      {"tensor_884_f64",
       {"DMMA"},
       "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%d{c}, %e{c}}, {%da}, {%db}, "
       "{%d{c}, %e{c}};",
       1,
       80},
      {"load_shared", {"LDS"}, "ld.shared.b32 %r{c}, [%r{c}];", 1, 70, "", kSelfPointers},
  };
}

}  // namespace

const std::vector<MeasuredInstruction>& measured_instructions() {
  static const std::vector<MeasuredInstruction> all = [] {
    std::vector<MeasuredInstruction> list = arithmetic();
    for (MeasuredInstruction& one : other_instructions()) list.push_back(std::move(one));
    return list;
  }();
  return all;
}

Microbenchmark arithmetic_benchmark(const MeasuredInstruction& instruction, unsigned compute,
                                    int chains, int bodies) {
  TimedKernel kernel;
  kernel.setup = kOperands;
  for (int c = 0; c < chains; ++c)
    kernel.setup += for_chain(kChainSetup + instruction.setup, c) + "\n";
  for (int i = 0; i < bodies; ++i) kernel.body += for_chain(instruction.body, i % chains) + "\n";
  for (int c = 0; c < chains; ++c) kernel.fold += for_chain(kChainSum, c);
  return {instruction.name, timed_kernel(kernel, compute), instruction.opcodes,
          bodies * instruction.measured};
}

}  // namespace fathom
