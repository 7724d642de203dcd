#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <string_view>
#include <vector>

namespace fathom {

/// Names to consecutive numbers.
class PtxNames {
 public:
  static constexpr uint32_t kAbsent = 0xffffffffu;

  /// Where `name` is or would be; valid until the next one is added.
  struct Place {
    size_t slot = 0;
    uint32_t index = kAbsent;
  };
  Place find(std::string_view name) const {
    if (slots_.empty()) return {};
    const size_t mask = slots_.size() - 1;
    for (size_t slot = hash(name) & mask;; slot = (slot + 1) & mask) {
      const uint32_t index = slots_[slot];
      if (index == kAbsent || names_[index] == name) return {slot, index};
    }
  }
  uint32_t add(std::string_view name) {
    if (names_.size() * 2 >= slots_.size()) grow();
    const Place place = find(name);
    if (place.index != kAbsent) return place.index;
    slots_[place.slot] = static_cast<uint32_t>(names_.size());
    names_.push_back(name);
    return slots_[place.slot];
  }
  const std::vector<std::string_view>& names() const { return names_; }
  void clear() {
    names_.clear();
    slots_.clear();
  }

 private:
  static size_t hash(std::string_view name) { return std::hash<std::string_view>{}(name); }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, kAbsent);
    for (uint32_t i = 0; i < names_.size(); ++i) {
      const size_t mask = slots_.size() - 1;
      size_t slot = hash(names_[i]) & mask;
      while (slots_[slot] != kAbsent) slot = (slot + 1) & mask;
      slots_[slot] = i;
    }
  }

  std::vector<std::string_view> names_;
  std::vector<uint32_t> slots_;
};

}  // namespace fathom
