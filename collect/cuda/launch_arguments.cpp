#include "cuda/launch_arguments.h"

#include <algorithm>
#include <cstring>

#include "cuda/hash.h"

namespace fathom::collect::cuda {
namespace {

// What CUPTI hands over of a call, as in its generated_cuda_meta.h, which needs types of the
// driver's own build.
struct PlainCall {  // cuLaunchKernel; cuLaunchCooperativeKernel has the same without `extra`
  CUfunction function;
  unsigned grid[3], block[3], shared;
  CUstream stream;
  void* const* values;
  void* const* extra;
};
struct ExtensibleCall {  // cuLaunchKernelEx
  const void* config;
  CUfunction function;
  void* const* values;
  void* const* extra;
};

/// A function whose layout is not known: so is remembered, too.
constexpr uint32_t kUnknown = NodeMap::kAbsent - 1;

/// All arguments in one buffer, as "extra" says where: a list of keys and values.
struct Packed {
  const uint8_t* bytes = nullptr;
  size_t size = 0;
};
Packed packed(void* const* extra) {
  Packed out;
  constexpr int kMostKeys = 8;
  for (int i = 0; extra != nullptr && i < kMostKeys; ++i, extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_END) break;
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
      out.bytes = static_cast<const uint8_t*>(extra[1]);
    else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1] != nullptr)
      out.size = *static_cast<const size_t*>(extra[1]);
    else
      return {};
  }
  return out.bytes == nullptr ? Packed{} : out;
}

}  // namespace

LaunchCall launch_call(std::string_view function) {
  constexpr std::string_view kOwnStream =
      "_ptsz";  // the same with a default stream for each thread
  if (function.size() > kOwnStream.size() &&
      function.substr(function.size() - kOwnStream.size()) == kOwnStream)
    function.remove_suffix(kOwnStream.size());
  if (function == "cuLaunchKernel") return LaunchCall::plain;
  if (function == "cuLaunchCooperativeKernel") return LaunchCall::cooperative;
  if (function == "cuLaunchKernelEx") return LaunchCall::extensible;
  return LaunchCall::other;
}

void LaunchArguments::binary_loaded(const void* cubin, size_t size) {
  Locked locked(lock_);
  layouts_.learn(cubin, size);
  by_function_.clear();  // a layout may be known now, or in doubt
}

void LaunchArguments::binary_unloaded() {
  Locked locked(lock_);
  by_function_.clear();
}

LaunchArguments::Handed LaunchArguments::handed(LaunchCall call, const void* parameters) {
  if (parameters == nullptr) return {};
  switch (call) {
    case LaunchCall::plain: {
      const auto& in = *static_cast<const PlainCall*>(parameters);
      return {in.function, in.values, in.extra};
    }
    case LaunchCall::cooperative: {
      const auto& in = *static_cast<const PlainCall*>(parameters);
      return {in.function, in.values, nullptr};
    }
    case LaunchCall::extensible: {
      const auto& in = *static_cast<const ExtensibleCall*>(parameters);
      return {in.function, in.values, in.extra};
    }
    case LaunchCall::other:
      break;
  }
  return {};
}

uint32_t LaunchArguments::layout_of(CUfunction function, const char* kernel) {
  const uint64_t key = mixed(0, reinterpret_cast<uintptr_t>(function));
  const uint32_t known = by_function_.find(key);
  if (known != NodeMap::kAbsent) return known;
  const uint32_t found = layouts_.find(kernel);
  const uint32_t layout = found == ParameterLayouts::kAbsent ? kUnknown : found;
  by_function_.insert(key, layout);
  return layout;
}

size_t LaunchArguments::gather(const ParameterLayout& layout, const Handed& handed, Words& words) {
  const Packed all = handed.values == nullptr ? packed(handed.extra) : Packed{};
  size_t count = 0;
  for (size_t position = 0; position < layout.parameters.size(); ++position) {
    const auto& parameter = layout.parameters[position];
    const uint8_t* from = nullptr;
    if (handed.values != nullptr)
      from = static_cast<const uint8_t*>(handed.values[position]);
    else if (all.size >= size_t{parameter.offset} + parameter.size)
      from = all.bytes + parameter.offset;
    if (from == nullptr) continue;
    for (uint32_t at = 0; at < parameter.size && count < kMostWords; at += 8) {
      Word& word = words[count++];
      word.value = 0;
      word.position = static_cast<uint16_t>(position);
      word.offset = static_cast<uint16_t>(parameter.offset + at);
      word.bytes = static_cast<uint8_t>(std::min<uint32_t>(8, parameter.size - at));
      std::memcpy(&word.value, from + at, word.bytes);
    }
  }
  return count;
}

/// The number of a set, written when it is first seen; kNone where there are too many already.
uint32_t LaunchArguments::set_of(uint32_t layout, const char* kernel, const Words& words,
                                 size_t count) {
  uint64_t hash = mixed(1, layout);
  for (size_t i = 0; i < count; ++i) hash = mixed(hash, words[i].value);
  const uint32_t known = sets_.find(hash);
  if (known != NodeMap::kAbsent) return known;
  if (sets_of_layout_.size() <= layout) sets_of_layout_.resize(layout + size_t{1});
  if (next_set_ == kMostSets || sets_of_layout_[layout] == kMostSetsOfKernel) return record::kNone;
  ++sets_of_layout_[layout];
  const uint32_t set = next_set_++;
  sets_.insert(hash, set);
  Locked locked(file_.lock());
  const uint32_t name = file_.name(kernel);
  for (size_t i = 0; i < count; ++i)
    file_.out().add(record::ChunkType::kernel_argument,
                    record::KernelArgument{words[i].value, set, name, words[i].position,
                                           words[i].offset, words[i].bytes, 0});
  return set;
}

bool LaunchArguments::launched(LaunchCall call, const void* parameters, const char* kernel,
                               uint32_t correlation, ThreadChannel& channel) {
  const Handed given = handed(call, parameters);
  if (kernel == nullptr || given.function == nullptr ||
      (given.values == nullptr && given.extra == nullptr))
    return true;
  uint32_t set = record::kNone;
  {
    Locked locked(lock_);
    const uint32_t layout = layout_of(given.function, kernel);
    if (layout == kUnknown) return false;
    Words words;
    const size_t count = gather(layouts_.at(layout), given, words);
    if (count != 0) set = set_of(layout, kernel, words, count);
  }
  if (set != record::kNone) channel.record_arguments({correlation, set});
  return true;
}

}  // namespace fathom::collect::cuda
