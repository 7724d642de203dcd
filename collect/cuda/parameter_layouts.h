#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/node_map.h"

namespace fathom::collect::cuda {

/// Where a kernel's parameters lie in the block that they are passed in, in bytes.
struct ParameterLayout {
  struct Parameter {
    uint16_t offset = 0, size = 0;
  };
  std::vector<Parameter> parameters;  ///< by position
  bool ambiguous = false;             ///< two binaries have kernels of this name that differ
};

/// Layouts of the kernels of all loaded GPU binaries, by name. Not thread-safe.
class ParameterLayouts {
 public:
  static constexpr uint32_t kAbsent = NodeMap::kAbsent;
  /// CUDA passes at most 32,764 bytes.
  static constexpr uint32_t kMostBytes = 32764;

  /// Reads an ELF cubin's .nv.info sections (EIATTR_KPARAM_INFO); whatever is not understood is
  /// left out.
  void learn(const void* cubin, size_t size);
  /// The index of a kernel whose parameters are known without doubt, or kAbsent.
  uint32_t find(std::string_view kernel) const;
  const ParameterLayout& at(uint32_t index) const { return layouts_[index]; }

 private:
  void add(std::string_view kernel, ParameterLayout layout);

  NodeMap by_name_;
  std::vector<ParameterLayout> layouts_;
};

}  // namespace fathom::collect::cuda
