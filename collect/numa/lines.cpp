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

void take_hold(WordCounts* words) {
  if (words != nullptr) ++words->uses;
}
void let_go(WordCounts* words) {
  if (words != nullptr) --words->uses;
}

void give_back(SharedLine& line, LineEntry* entry) {
  let_go(entry->words);
  entry->next = line.spare;
  line.spare = entry;
}

LineMember* member_of(SharedLine& line, uint32_t thread, Slab& slab) {
  if (LineMember* member = find_member(line, thread)) return member;
  auto* member = slab.make<LineMember>();
  if (member == nullptr) return nullptr;
  *member = {line.members, {thread, false, nullptr, 0, 0, 0, 0, 0}, nullptr};
  line.members = member;
  return member;
}

void add_to(LineEntry& entry, const LineEntry& more) {
  entry.reads += more.reads;
  entry.writes += more.writes;
  if (more.words == nullptr || more.words == entry.words) return;
  if (entry.words != nullptr) return merge(*entry.words, *more.words);
  entry.words = more.words;
  take_hold(entry.words);
}

/// Threads that wait for long leave phases open; beyond this the oldest are summed up anyway.
constexpr uint32_t kMaxOpen = 1024;

/// How often a thread comes to a line. Most reads by a thread that also writes there are the first
/// halves of updates, whose second halves follow at once: nobody comes in between.
uint64_t visits(uint64_t reads, uint64_t writes) {
  return std::max(reads, writes);
}

/// What happened to a line in one phase, as one of its threads sees it.
struct Phase {
  uint64_t reads = 0, writes = 0;  ///< the thread's
  WordCounts* words = nullptr;
  uint64_t others = 0;   ///< others' writes
  uint32_t written = 0;  ///< words, as far as they are known
};

/// The words that an entry's thread writes: in this phase, or else in the others.
uint32_t written_by(const LineEntry& entry) {
  if (entry.writes == 0) return 0;
  if (entry.words != nullptr) return words_of(*entry.words).written;
  const bool is_known = entry.member != nullptr && entry.member->words != nullptr;
  return is_known ? entry.member->words->written : 0;
}

void see(Phase& phase, const LineEntry& entry, uint32_t thread) {
  if (entry.thread == thread) {
    phase.reads += entry.reads;
    phase.writes += entry.writes;
    if (entry.words != nullptr) phase.words = entry.words;
  } else {
    phase.others += entry.writes;
    phase.written |= written_by(entry);
  }
}

/// The copy is lost `times` while its thread uses these words, or those that it usually does if
/// they are not known; null: nor are these.
void lose(Copy& copy, double times, const WordCounts* words, const Words* usual, uint32_t written) {
  copy.invalidations += times;
  (words != nullptr || usual != nullptr ? copy.words_met : copy.words_missed) += times;
  if (written == 0 || (words == nullptr && usual == nullptr)) return;
  copy.known += times;
  copy.by_same += times * (words != nullptr ? words_of(*words) : *usual).part_in(written);
}

/// How often a copy is lost in a phase: after accesses in it, or since it held the line before.
struct Loss {
  double of_new, of_held;
};

/// What a thread's copy suffers in a phase; changes whether it holds one.
Loss live_through(Copy& copy, const Phase& phase, const Words* usual) {
  const uint64_t accesses = visits(phase.reads, phase.writes);
  const double of_new = expected_invalidations(accesses, phase.others, false);
  const Loss loss{of_new, expected_invalidations(accesses, phase.others, copy.holds) - of_new};
  if (usual != nullptr && !usual->any()) usual = nullptr;
  const Words* first = usual != nullptr && usual->is_second_choice ? nullptr : usual;
  if (loss.of_new > 0) lose(copy, loss.of_new, phase.words, first, phase.written);
  if (loss.of_held > 0) lose(copy, loss.of_held, copy.held, usual, phase.written);
  copy.holds = accesses > 0 || (copy.holds && phase.others == 0);
  if (accesses > 0 || !copy.holds) copy.held = phase.words;
  return loss;
}

/// `in_loss`: in the phase in which they were counted somebody lost a copy. If not they are what
/// the thread usually does only while there is nothing better.
void add_words(Words& sum, const WordCounts& counts, bool in_loss) {
  if (!in_loss && sum.any() && !sum.is_second_choice) return;
  if (in_loss && sum.is_second_choice) sum = {};
  sum.is_second_choice = !in_loss;
  sum.add(counts);
}
void add_words(Words* sum, WordCounts* counts, bool in_loss) {
  if (sum == nullptr || counts == nullptr || counts->is_added) return;
  counts->is_added = true;
  add_words(*sum, *counts, in_loss);
}

/// How often the member lost its copy.
double live_through(LineMember& member, const Phase& phase) {
  WordCounts* before = member.copy.held;
  const Loss loss = live_through(member.copy, phase, member.words);
  if (loss.of_held > 0) add_words(member.words, before, false);
  take_hold(member.copy.held);
  let_go(before);
  return loss.of_new + loss.of_held;
}

/// What a phase with losses tells of the thread that an entry is of.
void learn_from(const LineEntry& entry, double lost) {
  if (lost == 0) return;
  LineMember& member = *entry.member;
  if (entry.writes > 0)
    (written_by(entry) != 0 ? member.copy.words_met : member.copy.words_missed) += lost;
  add_words(member.words, entry.words, true);
}

void sum_up_phase(SharedLine& line, uint32_t number) {
  double lost = 0;
  for (auto* member = line.members; member != nullptr; member = member->next) {
    Phase phase;
    for (const auto* entry = line.entries; entry != nullptr; entry = entry->next)
      if (entry->phase == number) see(phase, *entry, member->copy.thread);
    lost += live_through(*member, phase);
  }
  for (LineEntry** at = &line.entries; *at != nullptr;) {
    LineEntry* entry = *at;
    if (entry->phase != number) {
      at = &entry->next;
      continue;
    }
    learn_from(*entry, lost);
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

LineMember* find_member(const SharedLine& line, uint32_t thread) {
  auto* member = line.members;
  while (member != nullptr && member->copy.thread != thread) member = member->next;
  return member;
}

bool add_holder(SharedLine& line, uint32_t thread, Slab& slab) {
  LineMember* member = member_of(line, thread, slab);
  if (member == nullptr) return false;
  member->copy.holds = true;
  return true;
}

bool is_held_by_others(const SharedLine& line, uint32_t thread) {
  for (const auto* member = line.members; member != nullptr; member = member->next)
    if (member->copy.holds && member->copy.thread != thread) return true;
  return false;
}

LineMember* add_entry(SharedLine& line, const LineEntry& what, Slab& slab) {
  line.reads += what.reads;
  line.writes += what.writes;
  LineMember* member = member_of(line, what.thread, slab);
  if (member == nullptr) return nullptr;
  if (what.words != nullptr && member->words == nullptr) member->words = slab.make<Words>();
  for (auto* entry = line.entries; entry != nullptr; entry = entry->next)
    if (entry->thread == what.thread && entry->phase == what.phase) {
      add_to(*entry, what);
      return member;
    }
  auto* entry = take_entry(line, slab);
  if (entry == nullptr) return nullptr;
  *entry = what;
  entry->member = member;
  entry->next = line.entries;
  take_hold(entry->words);
  line.entries = entry;
  ++line.open;
  return member;
}

namespace {

/// A member in a forecast, which changes nothing.
struct Double {
  Copy copy;
  Words words{};
  std::vector<const WordCounts*> added;

  void add(const WordCounts* counts, bool in_loss) {
    if (counts == nullptr || counts->is_added ||
        std::find(added.begin(), added.end(), counts) != added.end())
      return;
    added.push_back(counts);
    add_words(words, *counts, in_loss);
  }
  /// As of a LineMember.
  bool live_through_phase(const Phase& phase) {
    const WordCounts* before = copy.held;
    const Loss loss = live_through(copy, phase, &words);
    if (loss.of_held > 0) add(before, false);
    return loss.of_new + loss.of_held > 0;
  }
};

void live_through_phase(std::vector<Double>& doubles, const std::vector<LineEntry>& entries,
                        uint32_t number) {
  bool lost = false;
  for (Double& one : doubles) {
    Phase phase;
    for (const auto& entry : entries)
      if (entry.phase == number) see(phase, entry, one.copy.thread);
    lost = one.live_through_phase(phase) || lost;
  }
  if (!lost) return;
  for (const auto& entry : entries)
    for (Double& one : doubles)
      if (entry.phase == number && one.copy.thread == entry.thread) one.add(entry.words, true);
}

std::vector<Double> doubles_of(const SharedLine& line, const std::vector<LineEntry>& entries) {
  std::vector<Double> out;
  for (const auto* member = line.members; member != nullptr; member = member->next)
    out.push_back({member->copy, member->words == nullptr ? Words{} : *member->words, {}});
  for (const auto& entry : entries)
    if (std::none_of(out.begin(), out.end(),
                     [&](const Double& one) { return one.copy.thread == entry.thread; }))
      out.push_back({{entry.thread, false, nullptr, 0, 0, 0, 0, 0}, {}, {}});
  std::sort(out.begin(), out.end(),
            [](const Double& a, const Double& b) { return a.copy.thread < b.copy.thread; });
  return out;
}

/// Where it is not known which words a thread used when it lost its copy, these are like those that
/// it used when it is, or like the other threads' if it never is.
std::vector<LineForecast> told_apart(const std::vector<Double>& doubles) {
  double known = 0, by_same = 0;
  for (const Double& one : doubles) known += one.copy.known, by_same += one.copy.by_same;
  const double usual = known > 0 ? by_same / known : 0;
  std::vector<LineForecast> out;
  for (const auto& [copy, words, added] : doubles) {
    const double part = copy.known > 0 ? copy.by_same / copy.known : usual;
    out.push_back({copy.thread, copy.invalidations, part * copy.invalidations, words});
  }
  return out;
}

}  // namespace

std::vector<LineForecast> forecast(const SharedLine& line, const std::vector<LineEntry>& more) {
  std::vector<LineEntry> entries = more;
  for (auto& entry : entries) entry.member = find_member(line, entry.thread);
  for (const auto* entry = line.entries; entry != nullptr; entry = entry->next)
    entries.push_back(*entry);
  std::vector<uint32_t> phases;
  for (const auto& entry : entries) phases.push_back(entry.phase);
  std::sort(phases.begin(), phases.end());
  phases.erase(std::unique(phases.begin(), phases.end()), phases.end());

  std::vector<Double> doubles = doubles_of(line, entries);
  for (const uint32_t number : phases) live_through_phase(doubles, entries, number);
  return told_apart(doubles);
}

}  // namespace fathom::numa
