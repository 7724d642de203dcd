#include "calibration/warp_times.h"

#include <algorithm>
#include <map>

namespace fathom {
namespace {

constexpr size_t kMostWarps = 1 << 16;

}  // namespace

std::vector<double> cycles_by_multiprocessor(const std::vector<WarpTime>& warps) {
  std::map<uint64_t, WarpTime> spans;
  for (const WarpTime& warp : warps) {
    if (warp.end <= warp.begin) continue;
    WarpTime& span = spans.try_emplace(warp.multiprocessor, warp).first->second;
    span.begin = std::min(span.begin, warp.begin);
    span.end = std::max(span.end, warp.end);
  }
  std::vector<double> cycles;
  for (const auto& [multiprocessor, span] : spans)
    cycles.push_back(static_cast<double>(span.end - span.begin));
  return cycles;
}

Result<RoundTimer> RoundTimer::make(CudaDriver& driver) {
  Result<DeviceBuffer> out = DeviceBuffer::make(driver, kMostWarps * sizeof(WarpTime));
  if (!out) return out.error();
  return RoundTimer(driver, std::move(out.value()));
}

Result<double> RoundTimer::cycles(void* function, GridShape shape,
                                  const std::vector<uint64_t>& further, uint64_t rounds) {
  const size_t warps = static_cast<size_t>(shape.blocks) * ((shape.threads + 31) / 32);
  FATHOM_INVARIANT(warps <= kMostWarps);
  std::vector<uint64_t> arguments = {out_.address(), rounds};
  arguments.insert(arguments.end(), further.begin(), further.end());
  arguments.resize(5);
  std::vector<WarpTime> times(warps);
  Result<Done> done = driver_.launch(function, shape, arguments);
  if (done.ok()) done = driver_.wait();
  if (done.ok()) done = driver_.read(times.data(), out_.address(), warps * sizeof(WarpTime));
  if (!done) return done.error();
  return figure_of(cycles_by_multiprocessor(times)).value;
}

Result<Figure> RoundTimer::cycles_per_round(void* function, GridShape shape,
                                            const std::vector<uint64_t>& further, uint64_t rounds,
                                            int repeats) {
  const uint64_t few = std::max<uint64_t>(rounds / 4, 1), many = few + rounds;
  std::vector<double> samples;
  // The first of them fills the instruction caches.
  for (int i = 0; i <= repeats; ++i) {
    Result<double> less = cycles(function, shape, further, few);
    if (!less) return less.error();
    Result<double> more = cycles(function, shape, further, many);
    if (!more) return more.error();
    if (i > 0) samples.push_back((more.value() - less.value()) / static_cast<double>(rounds));
  }
  return figure_of(samples);
}

}  // namespace fathom
