#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace fathom::collect {

/// From a 64-bit hash to a 32-bit id, by open addressing. The hash stands for the key: two
/// different keys among a million share one with a probability of 3e-8. Allocation failure means
/// that nothing is remembered.
class NodeMap {
 public:
  static constexpr uint32_t kAbsent = 0xffffffffu;

  NodeMap() = default;
  ~NodeMap() { std::free(slots_); }
  NodeMap(const NodeMap&) = delete;
  NodeMap& operator=(const NodeMap&) = delete;

  uint32_t find(uint64_t hash) const {
    if (slots_ == nullptr) return kAbsent;
    if (hash == 0) hash = 1;
    for (size_t at = hash & mask_;; at = (at + 1) & mask_) {
      if (slots_[at].hash == hash) return slots_[at].id;
      if (slots_[at].hash == 0) return kAbsent;
    }
  }
  /// `hash` must be absent.
  void insert(uint64_t hash, uint32_t id) {
    if (hash == 0) hash = 1;
    if (slots_ == nullptr || size_ * 2 > mask_) grow();
    if (slots_ == nullptr || size_ == mask_) return;
    place(slots_, mask_, hash, id);
    ++size_;
  }
  void clear() {
    std::free(slots_);
    slots_ = nullptr;
    mask_ = size_ = 0;
  }

 private:
  struct Slot {
    uint64_t hash;
    uint32_t id;
  };
  static void place(Slot* slots, size_t mask, uint64_t hash, uint32_t id) {
    size_t at = hash & mask;
    while (slots[at].hash != 0) at = (at + 1) & mask;
    slots[at] = {hash, id};
  }
  void grow() {
    const size_t count = slots_ == nullptr ? 1024 : (mask_ + 1) * 2;
    auto* slots = static_cast<Slot*>(std::calloc(count, sizeof(Slot)));
    if (slots == nullptr) return;
    for (size_t at = 0; slots_ != nullptr && at <= mask_; ++at)
      if (slots_[at].hash != 0) place(slots, count - 1, slots_[at].hash, slots_[at].id);
    std::free(slots_);
    slots_ = slots;
    mask_ = count - 1;
  }

  Slot* slots_ = nullptr;
  size_t mask_ = 0, size_ = 0;
};

}  // namespace fathom::collect
