#include "cuda/api_calls.h"

namespace fathom::collect::cuda {
namespace {

using record::ApiKind;

struct Prefix {
  std::string_view text;
  uint8_t watch;
};
constexpr uint8_t code(ApiKind kind) {
  return static_cast<uint8_t>(kind);
}

// The first match counts.
constexpr Prefix kPrefixes[] = {
    {"cuLaunchHostFunc", 0},
    {"cuLaunch", code(ApiKind::kernel_launch)},
    {"cuGraphLaunch", code(ApiKind::graph_launch)},
    {"cuMemcpy", code(ApiKind::copy)},
    {"cuMemset", code(ApiKind::memory_set)},
    {"cuMemAlloc", code(ApiKind::allocate)},
    {"cuMemHostAlloc", code(ApiKind::allocate)},
    {"cuMemHostRegister", code(ApiKind::allocate)},
    {"cuMemCreate", code(ApiKind::allocate)},
    {"cuArrayCreate", code(ApiKind::allocate)},
    {"cuArray3DCreate", code(ApiKind::allocate)},
    {"cuMipmappedArrayCreate", code(ApiKind::allocate)},
    {"cuMemFree", code(ApiKind::release)},
    {"cuMemHostUnregister", code(ApiKind::release)},
    {"cuMemRelease", code(ApiKind::release)},
    {"cuArrayDestroy", code(ApiKind::release)},
    {"cuMipmappedArrayDestroy", code(ApiKind::release)},
    {"cuEventSynchronize", kWaits + 1},
    {"cuStreamWaitEvent", kWaits + 2},
    {"cuStreamSynchronize", kWaits + 3},
    {"cuCtxSynchronize", kWaits + 4},
    {"cuModuleLoad", kLoadsCode},
    {"cuModuleUnload", kLoadsCode},
    {"cuLibraryLoad", kLoadsCode},
    {"cuLibraryUnload", kLoadsCode},
};

}  // namespace

uint8_t watch_for(std::string_view function) {
  for (const auto& prefix : kPrefixes)
    if (function.substr(0, prefix.text.size()) == prefix.text) return prefix.watch;
  return 0;
}

}  // namespace fathom::collect::cuda
