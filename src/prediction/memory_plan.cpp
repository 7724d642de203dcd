#include "prediction/memory_plan.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

namespace fathom {
namespace {

constexpr double kSector = 32;

/// Of what L2 keeps of data that are walked through: how much it keeps of sectors at random. On an
/// H200, 43% of 67 MB and 21% of 134 MB (calibrate's "gather_by_footprint").
constexpr double kKeptAtRandom = 0.76;

/// Lines of 128 bytes whose sectors come one by one; the line that was not used for longest goes.
class SectorCache {
 public:
  explicit SectorCache(double bytes)
      : sets_(std::max<size_t>(1, static_cast<size_t>(bytes / 128 / kWays))),
        ways_(sets_ * kWays) {}

  /// Whether the sector was there; it is afterwards.
  bool touch(uint64_t sector) {
    const uint64_t line = sector / 4;
    const auto bit = static_cast<uint8_t>(1u << sector % 4);
    Way* first = &ways_[mix(line) % sets_ * kWays];
    Way* oldest = first;
    for (Way* way = first; way != first + kWays; ++way) {
      if (way->line == line) {
        const bool had = way->sectors & bit;
        way->sectors |= bit;
        way->used = ++clock_;
        return had;
      }
      if (way->used < oldest->used) oldest = way;
    }
    *oldest = {line, ++clock_, bit};
    return false;
  }

 private:
  static constexpr size_t kWays = 8;
  struct Way {
    uint64_t line = ~uint64_t{0}, used = 0;
    uint8_t sectors = 0;
  };
  static uint64_t mix(uint64_t x) {
    x *= 0x9e3779b97f4a7c15ull;
    return x >> 32;
  }
  size_t sets_;
  std::vector<Way> ways_;
  uint64_t clock_ = 0;
};

/// What shared memory leaves of the multiprocessor's memory to L1: it comes in a few sizes.
double l1_size(const MachineModel& machine, const LaunchShape& shape, uint32_t resident) {
  const double per_block = shape.static_shared_memory + shape.dynamic_shared_memory +
                           machine.occupancy.reserved_shared_memory_per_block;
  const double used =
      shape.static_shared_memory + shape.dynamic_shared_memory == 0 ? 0 : per_block * resident;
  double carved = machine.occupancy.shared_memory;
  for (double size : {0., 8., 16., 32., 64., 100., 132., 164., 196., 228.}) {
    if (size * 1024 < used) continue;
    carved = std::min(carved, size * 1024);
    break;
  }
  return std::max(8192.0, machine.prediction->memory.l1_bytes - carved);
}

class Planner {
 public:
  Planner(const Program& program, const Walk& walk, const Launch& launch,
          const MachineModel& machine, uint32_t resident, uint32_t active)
      : program_(program),
        walk_(walk),
        launch_(launch),
        machine_(machine),
        resident_(resident),
        active_(active) {}

  MemoryPlan make() {
    plan_.l2_sectors.assign(walk_.accesses.size(), 0);
    plan_.hot.assign(program_.steps.size(), false);
    for (uint32_t block = 0; block < walk_.blocks.size(); ++block) {
      const std::vector<const WarpTrace*> warps = warps_of(block);
      if (!warps.empty()) pass_through_l1(warps);
    }
    look_at_whole_block();
    count_l1();
    keep_scattered();
    if (total_sectors_ > 0) plan_.l1_hit_share = 1 - missed_sectors_ / total_sectors_;
    count_traffic();
    count_unique();
    share_out();
    find_hot_atomics();
    return std::move(plan_);
  }

 private:
  std::vector<const WarpTrace*> warps_of(uint32_t block) const {
    std::vector<const WarpTrace*> warps;
    for (const WarpTrace& each : walk_.warps)
      if (each.block == block) warps.push_back(&each);
    return warps;
  }
  bool in_memory(const Event& event) const {
    return event.access != kNoAccess && walk_.accesses[event.access].sectors > 0;
  }

  uint32_t running() const {
    const double blocks = std::ceil(static_cast<double>(launch_.blocks()) / active_);
    return static_cast<uint32_t>(std::clamp<double>(blocks, 1, resident_));
  }
  /// What L1 has for some warps of a block. With fewer warps than in reality it is smaller, too.
  SectorCache cache_for(size_t warps) const {
    const double share =
        static_cast<double>(warps) / std::max(1u, running() * launch_.warps_per_block());
    return SectorCache(l1_size(machine_, program_.shape, resident_) * std::min(1.0, share));
  }

  /// Warps take turns, one access each, as they would if they ran alike.
  template <typename Visit>
  void take_turns(const std::vector<const WarpTrace*>& warps, Visit visit) const {
    std::vector<size_t> at(warps.size(), 0);
    for (bool any = true; any;) {
      any = false;
      for (size_t w = 0; w < warps.size(); ++w) {
        const std::vector<Event>& events = warps[w]->events;
        while (at[w] < events.size() && !in_memory(events[at[w]])) ++at[w];
        if (at[w] == events.size()) continue;
        any = true;
        visit(events[at[w]++]);
      }
    }
  }

  void pass_through_l1(const std::vector<const WarpTrace*>& warps) {
    SectorCache cache = cache_for(warps.size());
    take_turns(warps, [&](const Event& event) {
      plan_.l2_sectors[event.access] = missed_by(event, cache);
    });
  }

  bool loads(const Event& event) const {
    const Step& step = program_.steps[event.step];
    return (step.op == Op::load || step.op == Op::asynchronous_copy) && !step.bypasses_l1;
  }
  /// Sectors that L1 does not have; `visit` is told each of them.
  template <typename Visit>
  float missed_by(const Event& event, SectorCache& cache, Visit visit) const {
    const Access& access = walk_.accesses[event.access];
    const bool cached = loads(event);
    float missed = 0;
    for (uint32_t i = 0; i < access.sectors; ++i) {
      const uint64_t sector = walk_.sectors[access.first_sector + i];
      if (cached && cache.touch(sector)) continue;
      ++missed;
      visit(sector);
    }
    return missed;
  }
  float missed_by(const Event& event, SectorCache& cache) const {
    return missed_by(event, cache, [](uint64_t) {});
  }

  struct Misses {
    double sectors = 0, missed = 0;
    double rate() const { return sectors > 0 ? missed / sectors : 0; }
    void add(double all, double of_them) { sectors += all, missed += of_them; }
  };
  using MissesByStep = std::unordered_map<uint32_t, Misses>;
  void add_misses(const Event& event, double missed, MissesByStep& all) const {
    if (loads(event))
      all[event.step].add(walk_.accesses[event.access].sectors * event.weight,
                          missed * event.weight);
  }
  static std::vector<const WarpTrace*> all_of(const std::vector<WarpTrace>& traces) {
    std::vector<const WarpTrace*> warps;
    for (const WarpTrace& each : traces) warps.push_back(&each);
    return warps;
  }
  MissesByStep misses_of(const std::vector<const WarpTrace*>& warps, SectorCache& cache) const {
    MissesByStep misses;
    take_turns(warps,
               [&](const Event& event) { add_misses(event, missed_by(event, cache), misses); });
    return misses;
  }
  static double rate_of(const MissesByStep& misses, uint32_t step) {
    const auto found = misses.find(step);
    return found == misses.end() ? 0 : found->second.rate();
  }

  /// What a block asks of L2 once more, and what it asked for in between.
  struct Repeats {
    double all = 0;                                    ///< sectors that it asks for
    std::vector<std::pair<double, double>> distances;  ///< in sectors, and how many of them
  };
  MissesByStep misses_and_repeats(const std::vector<const WarpTrace*>& warps) {
    SectorCache cache = cache_for(warps.size());
    std::unordered_map<uint64_t, double> last;
    double asked = 0;
    MissesByStep misses;
    take_turns(warps, [&](const Event& event) {
      Repeats& repeats = repeats_[MemoryPlan::use_of(walk_, walk_.accesses[event.access],
                                                     program_.steps[event.step].op)];
      const auto note = [&](uint64_t sector) {
        asked += event.weight;
        repeats.all += event.weight;
        const auto [before, is_new] = last.emplace(sector, asked);
        if (is_new) return;
        repeats.distances.emplace_back(asked - before->second, event.weight);
        before->second = asked;
      };
      add_misses(event, missed_by(event, cache, note), misses);
    });
    return misses;
  }

  /// Warps find what their neighbours asked for, and blocks what those beside and before them did.
  /// Sample warps lie too far apart for that: of each load, they miss as many times fewer sectors
  /// as a block does of which all warps were looked at.
  void look_at_whole_block() {
    if (walk_.whole.empty()) return;
    MissesByStep apart;
    for (const WarpTrace* warp : warps_of(0))
      for (const Event& event : warp->events)
        if (in_memory(event)) add_misses(event, plan_.l2_sectors[event.access], apart);
    std::vector<const WarpTrace*> warps = all_of(walk_.whole);
    const std::vector<const WarpTrace*> others = all_of(walk_.beside);
    const MissesByStep alone = misses_and_repeats(warps);
    MissesByStep together = alone, next = alone;
    if (!others.empty()) {
      SectorCache used = cache_for(warps.size());
      misses_of(others, used);
      next = misses_of(warps, used);
      warps.insert(warps.end(), others.begin(), others.end());
      SectorCache both = cache_for(warps.size());
      together = misses_of(warps, both);
    }
    const double blocks = std::max(1.0, static_cast<double>(launch_.blocks()) / active_);
    std::unordered_map<uint32_t, float> factors;
    for (const auto& [step, misses] : apart) {
      if (misses.missed == 0 || !alone.count(step)) continue;
      const double first = rate_of(alone, step);
      // What two ask for at once is missed by one of them.
      const double shared = std::clamp(2 * (first - rate_of(together, step)), 0.0, first);
      const double rate = std::min(first - shared * (1 - 1.0 / running()),
                                   first + (rate_of(next, step) - first) * (1 - 1 / blocks));
      factors[step] = static_cast<float>(std::clamp(rate / misses.rate(), 0.0, 1.0));
    }
    for (const WarpTrace& warp : walk_.warps)
      for (const Event& event : warp.events)
        if (in_memory(event) && factors.count(event.step))
          plan_.l2_sectors[event.access] *= factors[event.step];
  }

  void count_l1() {
    for (const WarpTrace& warp : walk_.warps) {
      for (const Event& event : warp.events) {
        if (!in_memory(event) || !loads(event)) continue;
        total_sectors_ += walk_.accesses[event.access].sectors * event.weight;
        missed_sectors_ += plan_.l2_sectors[event.access] * event.weight;
      }
    }
  }

  struct Extent {
    uint64_t least = ~uint64_t{0}, most = 0;
    void add(uint64_t sector) {
      least = std::min(least, sector);
      most = std::max(most, sector);
    }
  };
  struct Scattered {
    Extent extent;
    double sectors = 0;  ///< asked for by one multiprocessor
  };

  /// Data that lie at random in a small buffer are found in L1 again by later blocks, which the
  /// samples do not show.
  void keep_scattered() {
    std::map<uint64_t, Scattered> buffers;
    const double scale = warp_scale() / active_;
    for_scattered([&](const Event& event, const Access& access) {
      Scattered& buffer = buffers[walk_.sectors[access.first_sector] >> (kBufferShift - 5)];
      buffer.sectors += access.sectors * event.weight * scale;
      for (uint32_t i = 0; i < access.sectors; ++i)
        buffer.extent.add(walk_.sectors[access.first_sector + i]);
    });
    const double l1 = l1_size(machine_, program_.shape, resident_);
    for_scattered([&](const Event& event, const Access& access) {
      const Scattered& buffer = buffers[walk_.sectors[access.first_sector] >> (kBufferShift - 5)];
      const double places = static_cast<double>(buffer.extent.most - buffer.extent.least + 1);
      const double seen = places * (1 - std::exp(-buffer.sectors / places));
      const double steady = std::max(0.0, 1 - l1 / (places * kSector));
      const double share = std::clamp(std::max(steady, seen / buffer.sectors), 0.0, 1.0);
      float& missed = plan_.l2_sectors[event.access];
      const float fewer = std::min(missed, static_cast<float>(access.sectors * share));
      missed_sectors_ -= (missed - fewer) * event.weight;
      missed = fewer;
    });
  }
  template <typename Visit>
  void for_scattered(Visit visit) const {
    for (const WarpTrace& warp : walk_.warps)
      for (const Event& event : warp.events) {
        const Step& step = program_.steps[event.step];
        if (!in_memory(event) || step.op != Op::load || step.bypasses_l1) continue;
        const Access& access = walk_.accesses[event.access];
        if (access.unknown) visit(event, access);
      }
  }

  /// Launches per sample warp.
  double warp_scale() const {
    return static_cast<double>(launch_.blocks()) * launch_.warps_per_block() /
           std::max<size_t>(1, walk_.warps.size());
  }

  void count_traffic() {
    const double scale = warp_scale();
    for (const WarpTrace& warp : walk_.warps) {
      for (const Event& event : warp.events) {
        if (!in_memory(event)) continue;
        const Access& access = walk_.accesses[event.access];
        const Op op = program_.steps[event.step].op;
        const double bytes =
            plan_.l2_sectors[event.access] * kSector * event.weight * warp.share * scale;
        plan_.uses[MemoryPlan::use_of(walk_, access, op)].l2_bytes += bytes;
        plan_.l2_bytes += bytes;
      }
    }
  }

  using Sectors = std::unordered_map<uint64_t, float>;  ///< with what each stands for
  struct Touched {
    std::map<uint64_t, Sectors> by_buffer;
    std::map<uint64_t, double> total;
    std::map<uint64_t, Sectors> alone;  ///< whose neighbours no later round asks for
  };

  Touched touched_by(uint32_t block) {
    Touched touched;
    std::map<uint64_t, double> last;
    const std::vector<const WarpTrace*> warps =
        block == 0 && !walk_.whole.empty() ? all_of(walk_.whole) : warps_of(block);
    for (const WarpTrace* warp : warps) {
      last.clear();
      for (const Event& event : warp->events) {
        if (!in_memory(event)) continue;
        const Access& access = walk_.accesses[event.access];
        const uint64_t buffer = MemoryPlan::use_of(walk_, access, program_.steps[event.step].op);
        Sectors& sectors = touched.by_buffer[buffer];
        for (uint32_t i = 0; i < access.sectors; ++i) {
          const uint64_t sector = walk_.sectors[access.first_sector + i];
          if (access.unknown) random_[buffer].insert(sector);
          if (access.unknown || !in_loop(event.step))
            touched.alone[buffer].emplace(sector, event.weight);
          if (!sectors.emplace(sector, event.weight).second) continue;
          touched.total[buffer] += event.weight;
          last[buffer] += event.weight;
        }
      }
    }
    // Warps that were not looked at bring as much that is new as the last one that was.
    const double more = warps.empty() ? 0
                                      : static_cast<double>(launch_.warps_per_block()) -
                                            static_cast<double>(warps.size());
    for (auto& [buffer, total] : touched.total) total += std::max(0.0, more) * last[buffer];
    return touched;
  }

  bool in_loop(uint32_t step) const {
    return program_.loops.innermost[program_.graph.block_of[step]] != kNoBlock;
  }
  /// Two where each sector's neighbour is left out, one where all come in pairs. Of loops with
  /// known addresses a few rounds are looked at, and the next one may ask for the neighbour.
  static double granule_cost(const Touched& touched, uint64_t buffer) {
    const auto found = touched.alone.find(buffer);
    if (found == touched.alone.end()) return 1;
    double single = 0;
    for (const auto& [sector, weight] : found->second)
      if (!touched.by_buffer.at(buffer).count(sector ^ 1)) single += weight;
    return 1 + std::min(1.0, single / std::max(1.0, touched.total.at(buffer)));
  }

  /// L2 keeps a place for a whole line: what is strewn takes up to four times its size.
  static double line_cost(const Sectors& sectors) {
    std::unordered_set<uint64_t> lines;
    for (const auto& [sector, weight] : sectors) lines.insert(sector / 4);
    return sectors.empty()
               ? 1
               : 4.0 * static_cast<double>(lines.size()) / static_cast<double>(sectors.size());
  }

  /// Bytes over which made-up addresses of a buffer are spread. Where the samples all lie in a few
  /// places, as rows of one table do, the whole buffer counts.
  double reach(uint64_t use, const std::unordered_set<uint64_t>& sectors) const {
    Extent extent;
    for (uint64_t each : sectors) extent.add(each);
    const uint64_t length = extent.most - extent.least + 1;
    std::unordered_set<uint64_t> parts;
    for (uint64_t each : sectors) parts.insert((each - extent.least) * kParts / length);
    // Those of few samples do not reach the ends.
    const double seen = 1.1 * static_cast<double>(length) * kSector;
    const auto size = launch_.buffers.find(use / 2);
    if (parts.size() * 2 >= kParts || size == launch_.buffers.end()) return seen;
    return std::max(seen, static_cast<double>(size->second));
  }
  static constexpr uint64_t kParts = 16;

  static double fresh_share(const Sectors& before, const Sectors& now) {
    double fresh = 0, all = 0;
    for (const auto& [sector, weight] : now) {
      all += weight;
      if (!before.count(sector)) fresh += weight;
    }
    return all > 0 ? fresh / all : 0;
  }

  /// How many blocks of each dimension run at once.
  std::array<double, 3> wave() const {
    double left = std::min<double>(static_cast<double>(launch_.blocks()),
                                   static_cast<double>(resident_) * active_);
    std::array<double, 3> counts{};
    for (size_t d = 0; d < 3; ++d) {
      counts[d] = std::clamp(left, 1.0, static_cast<double>(launch_.grid[d]));
      left /= counts[d];
    }
    return counts;
  }

  void count_unique() {
    const Touched middle = touched_by(0);
    std::array<std::optional<Touched>, 3> next;
    for (uint32_t block = 1; block < walk_.blocks.size() && block < 4; ++block) {
      for (size_t d = 0; d < 3; ++d) {
        std::array<uint32_t, 3> place = walk_.blocks[0];
        ++place[d];
        if (walk_.blocks[block] == place) next[d] = touched_by(block);
      }
    }
    const std::array<double, 3> at_once = wave();
    for (const auto& [buffer, total] : middle.total) {
      BufferUse& use = plan_.uses[buffer];
      use.unique_bytes = use.wave_bytes = total * kSector;
      own_bytes_ += total * kSector;
      use.granule_cost = granule_cost(middle, buffer);
      for (size_t d = 0; d < 3; ++d) {
        if (!next[d]) continue;
        const auto found = next[d]->by_buffer.find(buffer);
        const double fresh = found == next[d]->by_buffer.end()
                                 ? share_of_blocks(buffer)
                                 : fresh_share(middle.by_buffer.at(buffer), found->second);
        use.unique_bytes *= 1 + (launch_.grid[d] - 1) * fresh;
        use.wave_bytes *= 1 + (at_once[d] - 1) * fresh;
      }
      const auto size = launch_.buffers.find(buffer / 2);
      if (size != launch_.buffers.end())
        use.unique_bytes = std::min(use.unique_bytes, static_cast<double>(size->second));
      const auto random = random_.find(buffer);
      if (random != random_.end()) {
        const double most = reach(buffer, random->second),
                     lines = std::max(1.0, line_cost(middle.by_buffer.at(buffer)));
        use.unique_bytes = std::min(use.unique_bytes, most);
        use.wave_bytes = std::min(use.wave_bytes, most);
        use.place_bytes = std::min(use.unique_bytes * lines, most);
        use.wave_place_bytes = std::min(use.wave_bytes * lines, most);
      }
      use.wave_bytes = std::min(use.wave_bytes, use.unique_bytes);
      use.place_bytes = std::max(use.place_bytes, use.unique_bytes);
      use.wave_place_bytes = std::max(use.wave_place_bytes, use.wave_bytes);
    }
    count_unseen(at_once[0] * at_once[1] * at_once[2]);
    // What is read and written takes its place once.
    std::map<uint64_t, BufferUse> places;
    for (const auto& [key, use] : plan_.uses) {
      BufferUse& place = places[key / 2];
      place.unique_bytes = std::max(place.unique_bytes, use.unique_bytes);
      place.place_bytes = std::max(place.place_bytes, use.place_bytes);
      place.wave_place_bytes = std::max(place.wave_place_bytes, use.wave_place_bytes);
    }
    for (const auto& [buffer, place] : places) {
      plan_.footprint_bytes += place.unique_bytes;
      place_bytes_ += place.place_bytes;
      wave_place_bytes_ += place.wave_place_bytes;
    }
  }

  /// Of the sample blocks, those that touch a buffer.
  double share_of_blocks(uint64_t use) const {
    std::unordered_set<uint32_t> blocks;
    for (const WarpTrace& warp : walk_.warps)
      for (const Event& event : warp.events)
        if (in_memory(event) && MemoryPlan::use_of(walk_, walk_.accesses[event.access],
                                                   program_.steps[event.step].op) == use)
          blocks.insert(warp.block);
    return static_cast<double>(blocks.size()) / static_cast<double>(walk_.blocks.size());
  }

  /// What the middle block leaves alone, and others use: each a part of its own.
  void count_unseen(double blocks_at_once) {
    for (auto& [key, use] : plan_.uses) {
      if (use.unique_bytes > 0 || use.l2_bytes <= 0) continue;
      const auto size = launch_.buffers.find(key / 2);
      use.unique_bytes = use.l2_bytes;
      if (size != launch_.buffers.end())
        use.unique_bytes = std::min(use.unique_bytes, static_cast<double>(size->second));
      use.wave_bytes = use.unique_bytes * blocks_at_once / static_cast<double>(launch_.blocks());
      use.place_bytes = use.unique_bytes;
      use.wave_place_bytes = use.wave_bytes;
    }
  }

  /// What is asked for again at random is found where it happens to be kept: a part of the buffer,
  /// however little of it a wave asks for. What else goes through L2 between two such accesses to a
  /// line is little.
  double missing_at_random(const BufferUse& use, double kept) const {
    return std::clamp(1 - kKeptAtRandom * kept / std::max(use.place_bytes, 1.0), 0.0, 1.0);
  }

  /// Sectors that come from memory once more, as L2 lost them: all blocks that run at once ask for
  /// theirs in between.
  template <typename Missing>
  double repeats_missing(const Repeats& own, Missing missing) const {
    const double at_once = wave_place_bytes_ / std::max(1.0, own_bytes_);
    double sum = 0;
    for (const auto& [distance, weight] : own.distances)
      sum += weight * missing(distance * kSector * at_once);
    return sum;
  }

  void share_out() {
    const MemoryFigures& memory = machine_.prediction->memory;
    // Of a device that nobody measured: from nine tenths of its L2 to twice that.
    const bool known = memory.l2_lost_bytes > memory.l2_kept_bytes && memory.l2_kept_bytes > 0;
    const double kept = known ? memory.l2_kept_bytes : 0.9 * memory.l2_bytes,
                 lost = known ? memory.l2_lost_bytes : 1.9 * memory.l2_bytes;
    const auto missing = [&](double bytes) {
      return std::clamp(0.1 + 0.8 * (bytes - kept) / (lost - kept), 0.0, 1.0);
    };
    const double cold = missing(place_bytes_), between_waves = missing(wave_place_bytes_);
    const double waves = std::max(
        1.0, static_cast<double>(launch_.blocks()) / (static_cast<double>(resident_) * active_));
    for (auto& [buffer, use] : plan_.uses) {
      const double again = std::max(0.0, use.wave_bytes * waves - use.unique_bytes);
      const double all = use.l2_bytes;
      const double repeats = std::max(0.0, all - use.unique_bytes - again);
      double later = between_waves * again;
      const auto own = repeats_.find(buffer);
      if (own == repeats_.end() || own->second.all == 0)
        later += between_waves * repeats * 0.5;
      else
        later += repeats_missing(own->second, missing) * all / own->second.all;
      if (random_.count(buffer) > 0)
        later = std::max(later, missing_at_random(use, kept) * (again + repeats));
      const double from_memory = cold * use.unique_bytes + later;
      const double share = all > 0 ? std::min(1.0, from_memory / all) : 0;
      use.dram_share = share;
      plan_.dram_bytes += share * all;
    }
  }

  void find_hot_atomics() {
    std::unordered_map<uint32_t, std::pair<uint32_t, std::unordered_set<uint64_t>>> seen;
    for (const WarpTrace& warp : walk_.warps) {
      for (const Event& event : warp.events) {
        if (program_.steps[event.step].op != Op::atomic || !in_memory(event)) continue;
        auto& [count, sectors] = seen[event.step];
        const Access& access = walk_.accesses[event.access];
        ++count;
        for (uint32_t i = 0; i < access.sectors; ++i)
          sectors.insert(walk_.sectors[access.first_sector + i]);
      }
    }
    for (const auto& [step, use] : seen) plan_.hot[step] = use.second.size() == 1;
  }

  const Program& program_;
  const Walk& walk_;
  const Launch& launch_;
  const MachineModel& machine_;
  uint32_t resident_, active_;
  MemoryPlan plan_;
  std::map<uint64_t, std::unordered_set<uint64_t>> random_;  ///< sectors at made-up addresses
  std::map<uint64_t, Repeats> repeats_;                      ///< of the first block, by use
  double own_bytes_ = 0;                                     ///< that the first block touches
  double total_sectors_ = 0, missed_sectors_ = 0, place_bytes_ = 0, wave_place_bytes_ = 0;
};

}  // namespace

MemoryPlan plan_memory(const Program& program, const Walk& walk, const Launch& launch,
                       const MachineModel& machine, uint32_t resident_blocks, uint32_t active) {
  MemoryPlan plan = Planner(program, walk, launch, machine, resident_blocks, active).make();
  plan.constants = plan_constants(program, walk, launch, machine, resident_blocks, active);
  return plan;
}

}  // namespace fathom
