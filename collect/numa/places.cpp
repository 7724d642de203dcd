#include "numa/places.h"

namespace fathom::numa {

Places::Entry* Places::find(uint32_t object, uintptr_t place, uint32_t is_write) {
  uint64_t hash = (place ^ (uint64_t(object) << 40) ^ is_write) * 0x9e3779b97f4a7c15u;
  for (size_t at = hash >> 20 & (capacity_ - 1);; at = (at + 1) & (capacity_ - 1)) {
    Entry& entry = entries_[at];
    if (entry.place == 0 ||
        (entry.place == place && entry.object == object && entry.is_write == is_write))
      return &entry;
  }
}

void Places::add(uint32_t object, uintptr_t place, bool is_write, uint64_t samples) {
  Held held(lock_);
  add_locked(object, place, is_write, samples);
}

void Places::add_locked(uint32_t object, uintptr_t place, bool is_write, uint64_t samples) {
  if (place == 0) return;
  if (size_ * 2 >= capacity_) grow();
  if (size_ + 1 >= capacity_) return;  // memory is short: a sample less
  Entry* entry = find(object, place, is_write);
  if (entry->place == 0) {
    *entry = {place, object, is_write, 0};
    ++size_;
  }
  entry->samples += samples;
}

void Places::take(Places& other) {
  Held held(lock_);
  Held held_other(other.lock_);
  for (size_t i = 0; i < other.capacity_; ++i) {
    Entry& entry = other.entries_[i];
    if (entry.place != 0) add_locked(entry.object, entry.place, entry.is_write, entry.samples);
    entry = {};
  }
  other.size_ = 0;
}

void Places::grow() {
  const size_t before = capacity_, after = before == 0 ? 128 : before * 2;
  auto* entries = static_cast<Entry*>(map_memory(after * sizeof(Entry)));
  if (entries == nullptr) return;
  Entry* old = entries_;
  entries_ = entries;
  capacity_ = after;
  for (size_t i = 0; i < before; ++i)
    if (old[i].place != 0) *find(old[i].object, old[i].place, old[i].is_write) = old[i];
  if (old != nullptr) unmap_memory(old, before * sizeof(Entry));
}

}  // namespace fathom::numa
