#include "prediction/access.h"

#include <algorithm>
#include <bit>

namespace fathom {
namespace {

constexpr uint32_t kSector = 32;
/// L1 looks up so many lines at a time, each in its own part of the tags.
constexpr uint32_t kTagBanks = 4;

uint16_t most_on_one_address(const LaneValues& addresses, uint32_t mask) {
  std::array<uint64_t, kLanes> seen{};
  uint32_t count = 0;
  for (uint32_t i = 0; i < kLanes; ++i)
    if (mask >> i & 1) seen[count++] = addresses[i];
  std::sort(seen.begin(), seen.begin() + count);
  uint16_t most = 0, run = 0;
  for (uint32_t i = 0; i < count; ++i) {
    run = i > 0 && seen[i] == seen[i - 1] ? static_cast<uint16_t>(run + 1) : uint16_t{1};
    most = std::max(most, run);
  }
  return most;
}

/// Passes of the threads of one part.
uint16_t bank_passes(const LaneValues& addresses, uint32_t mask, uint32_t words) {
  std::array<std::array<uint64_t, kLanes>, 32> wanted;
  std::array<uint8_t, 32> count{};
  uint8_t most = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    for (uint32_t w = 0; w < words; ++w) {
      const uint64_t word = addresses[i] / 4 + w;
      auto& bank = wanted[word % 32];
      uint8_t& own = count[word % 32];
      if (std::find(bank.begin(), bank.begin() + own, word) != bank.begin() + own || own == kLanes)
        continue;
      bank[own++] = word;
      most = std::max(most, own);
    }
  }
  return most;
}

/// Passes through the banks: 8 bytes for each thread go in two parts and 16 in four, of which, in
/// shared memory, two that want the same or different banks go together.
uint16_t passes_of(const LaneValues& addresses, uint32_t mask, uint32_t words, bool shared) {
  const uint32_t parts = std::min<uint32_t>(words, 4), width = kLanes / parts;
  const uint32_t one = width == kLanes ? ~0u : (1u << width) - 1;
  uint32_t all = 0;
  for (uint32_t part = 0; part < parts; part += 2) {
    const uint32_t first = mask & one << part * width;
    const uint32_t second = part + 1 < parts ? mask & one << (part + 1) * width : 0;
    const uint32_t apart = (first ? bank_passes(addresses, first, words) : 0u) +
                           (second ? bank_passes(addresses, second, words) : 0u);
    if (shared && first && second && bank_passes(addresses, first | second, words) == 1)
      all += 1;
    else
      all += apart;
  }
  return static_cast<uint16_t>(all);
}

/// Passes through the tags.
uint16_t tag_passes(const Access& access, const std::vector<uint64_t>& sectors) {
  std::array<uint16_t, kTagBanks> count{};
  uint64_t line = ~uint64_t{0};
  for (size_t i = access.first_sector; i < sectors.size(); ++i) {
    if (sectors[i] / 4 == line) continue;
    line = sectors[i] / 4;
    ++count[line % kTagBanks];
  }
  return *std::max_element(count.begin(), count.end());
}

void finish(Access& access, std::vector<uint64_t>& sectors) {
  const auto first = sectors.begin() + access.first_sector;
  std::sort(first, sectors.end());
  sectors.erase(std::unique(first, sectors.end()), sectors.end());
  access.sectors = static_cast<uint16_t>(sectors.size() - access.first_sector);
  uint64_t line = ~uint64_t{0};
  for (size_t i = access.first_sector; i < sectors.size(); ++i) {
    access.lines = static_cast<uint16_t>(access.lines + (sectors[i] / 4 != line));
    line = sectors[i] / 4;
  }
}

}  // namespace

Access shared_access(const Step& step, const LaneValues& addresses, uint32_t mask) {
  Access access;
  access.lanes = static_cast<uint8_t>(std::popcount(mask));
  if (step.op == Op::atomic) {
    access.wavefronts = std::max<uint16_t>(1, most_on_one_address(addresses, mask));
    access.ideal = 1;
    return access;
  }
  const uint32_t words = std::max<uint32_t>(1, step.bytes / 4u);
  access.wavefronts = passes_of(addresses, mask, words, true);
  access.ideal =
      static_cast<uint16_t>((static_cast<uint32_t>(access.lanes) * words + kLanes - 1) / kLanes);
  return access;
}

Access global_access(const Step& step, const LaneValues& addresses, uint32_t mask,
                     std::vector<uint64_t>& sectors) {
  Access access;
  access.first_sector = static_cast<uint32_t>(sectors.size());
  access.lanes = static_cast<uint8_t>(std::popcount(mask));
  const uint32_t bytes = std::max<uint32_t>(1, step.bytes);
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    const uint64_t first = addresses[i] / kSector, last = (addresses[i] + bytes - 1) / kSector;
    for (uint64_t each = first; each <= last; ++each)
      if (sectors.size() == access.first_sector || sectors.back() != each) sectors.push_back(each);
  }
  finish(access, sectors);
  access.ideal =
      static_cast<uint16_t>(std::max<uint32_t>(1, (access.lanes * bytes + kSector - 1) / kSector));
  access.wavefronts = step.op == Op::atomic
                          ? most_on_one_address(addresses, mask)
                          : std::max(tag_passes(access, sectors),
                                     passes_of(addresses, mask, std::max(1u, bytes / 4), false));
  return access;
}

Access local_access(const Step& step, const LaneValues& addresses, uint32_t mask, uint64_t warp,
                    std::vector<uint64_t>& sectors) {
  Access access;
  access.first_sector = static_cast<uint32_t>(sectors.size());
  access.lanes = static_cast<uint8_t>(std::popcount(mask));
  const uint32_t words = std::max<uint32_t>(1, step.bytes / 4u);
  const uint64_t base = (kLocalBuffer << kBufferShift) / kSector + (warp << 18);
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    for (uint32_t w = 0; w < words; ++w)
      sectors.push_back(base + ((addresses[i] / 4 + w) & 0xffff) * 4 + i / 8);
  }
  finish(access, sectors);
  access.ideal = static_cast<uint16_t>(words * 4);
  access.wavefronts = access.lines;
  return access;
}

}  // namespace fathom
