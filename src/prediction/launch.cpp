#include "prediction/launch.h"

#include <algorithm>

namespace fathom {

namespace {

/// Of the pointer that is parameter `position`, or `inside` bytes into a structure.
uint64_t buffer_number(uint64_t position, uint64_t inside) {
  return (position + 1 + inside / 8 * 16) % 150 + 1;
}

}  // namespace

std::map<uint64_t, uint64_t> ParameterBlock::buffers() const {
  std::map<uint64_t, uint64_t> buffers;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].buffer_bytes > 0) buffers[buffer_number(i, 0)] = parameters_[i].buffer_bytes;
  return buffers;
}

std::map<uint64_t, BufferContents> ParameterBlock::contents() const {
  std::map<uint64_t, BufferContents> contents;
  for (size_t i = 0; i < parameters_.size(); ++i)
    if (parameters_[i].contents) contents[buffer_number(i, 0)] = *parameters_[i].contents;
  return contents;
}

ParameterBlock::ParameterBlock(std::vector<Parameter> parameters, uint64_t threads)
    : parameters_(std::move(parameters)), threads_(threads) {}

namespace {

void note(std::vector<size_t>& positions, size_t position) {
  if (std::find(positions.begin(), positions.end(), position) == positions.end())
    positions.push_back(position);
}

}  // namespace

uint64_t ParameterBlock::buffer_of(size_t position) {
  return buffer_number(position, 0);
}

uint64_t ParameterBlock::read(uint32_t offset, uint32_t bytes) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& each = parameters_[i];
    if (offset < each.offset || offset >= each.offset + each.size) continue;
    const uint32_t inside = offset - each.offset;
    const uint64_t mask = bytes >= 8 ? ~uint64_t{0} : (uint64_t{1} << 8 * bytes) - 1;
    if (each.value && inside < 8) {
      // Two neighbours may be read at once.
      uint64_t value = *each.value >> 8 * inside;
      const uint32_t had = each.size - inside;
      if (had < bytes && had < 8) value |= read(offset + had, bytes - had) << 8 * had;
      return value & mask;
    }
    // A structure's members of 8 bytes are pointers of their own.
    const uint64_t address = buffer_number(i, inside) << kBufferShift;
    if (each.size == 8 && each.buffer_bytes == 0) note(pointers_, i);
    if (each.size >= 8 && bytes == 8) return address;
    if (each.size == 8) return address >> 8 * inside & mask;
    if (!each.is_float) note(guessed_, i);
    uint64_t value = threads_ & 0x7fffffff;
    if (each.size < bytes) value |= read(offset + each.size, bytes - each.size) << 8 * each.size;
    return value & mask;
  }
  return threads_ & 0x7fffffff;
}

}  // namespace fathom
