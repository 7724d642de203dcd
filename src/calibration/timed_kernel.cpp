#include "calibration/timed_kernel.h"

#include "base/text.h"

namespace fathom {
namespace {

const char kPrologue[] = R"(
.visible .entry bench(.param .u64 p_out, .param .u64 p_rounds, .param .u64 p_a, .param .u64 p_b,
                      .param .u64 p_c) .maxntid 1024, 1, 1 {
  .reg .b64 %out, %rounds, %a, %b, %c, %at, %begin, %end, %multiprocessor, %w<8>;
  .reg .b32 %ra, %rb, %ha, %hb, %round, %thread, %lane, %global, %t, %sum, %r<8>, %h<8>;
  .reg .b32 %warp, %warps, %block;
  .reg .f32 %fa, %fb, %f<8>, %g<8>, %k<8>, %l<8>;
  .reg .f64 %da, %db, %d<8>, %e<8>;
  .reg .pred %more, %one, %p<8>;
  .shared .align 16 .b32 words[1024];
  ld.param.u64 %out, [p_out];
  ld.param.u64 %rounds, [p_rounds];
  ld.param.u64 %a, [p_a];
  ld.param.u64 %b, [p_b];
  ld.param.u64 %c, [p_c];
  cvt.u32.u64 %round, %rounds;
  mov.u32 %thread, %tid.x;
  and.b32 %lane, %thread, 31;
  mov.u32 %block, %ctaid.x;
  mov.u32 %t, %ntid.x;
  mad.lo.u32 %global, %block, %t, %thread;
)";

const char kLoopBegin[] = R"(
  bar.sync 0;
  mov.u64 %begin, %clock64;
LOOP:
  .pragma "nounroll";
)";

const char kLoopEnd[] = R"(
  sub.u32 %round, %round, 1;
  setp.ne.u32 %more, %round, 0;
  @%more bra LOOP;
  mov.u64 %end, %clock64;
  mov.u32 %sum, 0;
)";

/// The sum is stored where it has one value in 2^32; each warp's times always.
const char kEpilogue[] = R"(
  setp.eq.u32 %one, %sum, 195894762;
  @%one st.global.u32 [%out], %sum;
  mov.u32 %warps, %ntid.x;
  shr.u32 %warps, %warps, 5;
  shr.u32 %warp, %thread, 5;
  mad.lo.u32 %warp, %block, %warps, %warp;
  mad.wide.u32 %at, %warp, 24, %out;
  mov.u32 %t, %smid;
  cvt.u64.u32 %multiprocessor, %t;
  setp.eq.u32 %one, %lane, 0;
  @%one st.global.u64 [%at], %begin;
  @%one st.global.u64 [%at+8], %end;
  @%one st.global.u64 [%at+16], %multiprocessor;
  ret;
}
)";

}  // namespace

std::string for_chain(const std::string& text, int chain) {
  std::string out;
  const std::string number = std::to_string(chain);
  for (size_t at = 0;;) {
    const size_t next = text.find("{c}", at);
    if (next == std::string::npos) return out + text.substr(at);
    out += text.substr(at, next - at) + number;
    at = next + 3;
  }
}

std::string timed_kernel(const TimedKernel& kernel, unsigned compute) {
  return format(".version 7.0\n.target sm_%u\n.address_size 64\n", compute >= 80 ? 80 : 70) +
         ".const .align 64 .b32 constants[8192];\n" + kPrologue + kernel.setup + kLoopBegin +
         kernel.body + kLoopEnd + kernel.fold + kEpilogue;
}

}  // namespace fathom
