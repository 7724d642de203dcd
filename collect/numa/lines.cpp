#include "numa/lines.h"

#include <algorithm>

namespace fathom::numa {
namespace {

LineEntry* take_entry(SharedLine& line, Slab& slab) {
  LineEntry* entry = line.spare;
  if (entry == nullptr) return slab.make<LineEntry>();
  line.spare = entry->next;
  return entry;
}

void give_back(SharedLine& line, LineEntry* entry) {
  entry->next = line.spare;
  line.spare = entry;
}

LineMember* member_of(SharedLine& line, uint32_t thread, Slab& slab) {
  for (auto* member = line.members; member != nullptr; member = member->next)
    if (member->thread == thread) return member;
  auto* member = slab.make<LineMember>();
  if (member == nullptr) return nullptr;
  *member = {line.members, thread, false, 0};
  line.members = member;
  return member;
}

/// Threads that wait for long leave phases open; beyond this the oldest are summed up anyway.
constexpr uint32_t kMaxOpen = 1024;

/// How often a thread comes to a line. Most reads by a thread that also writes there are the first
/// halves of updates, whose second halves follow at once: nobody comes in between.
uint64_t visits(uint64_t reads, uint64_t writes) {
  return std::max(reads, writes);
}

/// What a thread's copy suffers in one phase; changes whether it holds one.
struct Copy {
  uint32_t thread;
  bool holds;
  double invalidations;
};

template <class ForEachEntry>
void live_through(Copy& copy, uint32_t phase, ForEachEntry for_each_entry) {
  uint64_t reads = 0, writes = 0, others = 0;
  for_each_entry([&](const LineEntry& entry) {
    if (entry.phase != phase) return;
    if (entry.thread == copy.thread)
      reads += entry.reads, writes += entry.writes;
    else
      others += entry.writes;
  });
  const uint64_t accesses = visits(reads, writes);
  copy.invalidations += expected_invalidations(accesses, others, copy.holds);
  copy.holds = accesses > 0 || (copy.holds && others == 0);
}

void sum_up_phase(SharedLine& line, uint32_t phase) {
  for (auto* member = line.members; member != nullptr; member = member->next) {
    Copy copy{member->thread, member->holds, member->invalidations};
    live_through(copy, phase, [&](auto visit) {
      for (const auto* entry = line.entries; entry != nullptr; entry = entry->next) visit(*entry);
    });
    member->holds = copy.holds;
    member->invalidations = copy.invalidations;
  }
  for (LineEntry** at = &line.entries; *at != nullptr;) {
    LineEntry* entry = *at;
    if (entry->phase != phase) {
      at = &entry->next;
      continue;
    }
    *at = entry->next;
    --line.open;
    give_back(line, entry);
  }
}

uint32_t oldest_phase(const SharedLine& line) {
  uint32_t oldest = kNobody;
  for (const auto* entry = line.entries; entry != nullptr; entry = entry->next)
    if (entry->phase < oldest) oldest = entry->phase;
  return oldest;
}

}  // namespace

double expected_invalidations(uint64_t accesses, uint64_t writes, bool holds) {
  if (writes == 0) return 0;
  const auto a = static_cast<double>(accesses), w = static_cast<double>(writes);
  return (a * w + (holds ? w : 0)) / (a + w);
}

void sum_up(SharedLine& line, uint32_t before) {
  for (;;) {
    const uint32_t oldest = oldest_phase(line);
    if (oldest == kNobody || (oldest >= before && line.open <= kMaxOpen)) return;
    sum_up_phase(line, oldest);
  }
}

bool add_holder(SharedLine& line, uint32_t thread, Slab& slab) {
  LineMember* member = member_of(line, thread, slab);
  if (member == nullptr) return false;
  member->holds = true;
  return true;
}

bool is_held_by_others(const SharedLine& line, uint32_t thread) {
  for (const auto* member = line.members; member != nullptr; member = member->next)
    if (member->holds && member->thread != thread) return true;
  return false;
}

bool add_to_line(SharedLine& line, uint32_t thread, uint32_t phase, uint64_t reads, uint64_t writes,
                 uint32_t before, Slab& slab) {
  sum_up(line, before);
  return add_entry(line, thread, phase, reads, writes, slab);
}

bool add_entry(SharedLine& line, uint32_t thread, uint32_t phase, uint64_t reads, uint64_t writes,
               Slab& slab) {
  line.reads += reads;
  line.writes += writes;
  if (member_of(line, thread, slab) == nullptr) return false;
  for (auto* entry = line.entries; entry != nullptr; entry = entry->next)
    if (entry->thread == thread && entry->phase == phase) {
      entry->reads += reads;
      entry->writes += writes;
      return true;
    }
  auto* entry = take_entry(line, slab);
  if (entry == nullptr) return false;
  *entry = {line.entries, thread, phase, reads, writes};
  line.entries = entry;
  ++line.open;
  return true;
}

std::vector<LineForecast> forecast(const SharedLine& line, const std::vector<LineEntry>& more) {
  std::vector<LineEntry> entries = more;
  for (const auto* entry = line.entries; entry != nullptr; entry = entry->next)
    entries.push_back(*entry);
  std::vector<uint32_t> phases;
  for (const auto& entry : entries) phases.push_back(entry.phase);
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());

  std::vector<Copy> copies;
  for (const auto* member = line.members; member != nullptr; member = member->next)
    copies.push_back({member->thread, member->holds, member->invalidations});
  for (const auto& entry : more)
    if (std::none_of(copies.begin(), copies.end(),
                     [&](const Copy& copy) { return copy.thread == entry.thread; }))
      copies.push_back({entry.thread, false, 0});

  std::vector<LineForecast> out;
  for (Copy& copy : copies) {
    for (const uint32_t phase : phases)
      live_through(copy, phase, [&](auto visit) {
        for (const auto& entry : entries) visit(entry);
      });
    out.push_back({copy.thread, copy.invalidations});
  }
  return out;
}

}  // namespace fathom::numa
