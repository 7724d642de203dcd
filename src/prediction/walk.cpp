#include "prediction/walk.h"

#include <algorithm>
#include <optional>

#include "prediction/warp_runner.h"

namespace fathom {
namespace {

using Place = std::array<uint32_t, 3>;

Place place_of(uint64_t block, const Launch& launch) {
  const uint64_t x = launch.grid[0], y = launch.grid[1];
  return {static_cast<uint32_t>(block % x), static_cast<uint32_t>(block / x % y),
          static_cast<uint32_t>(block / x / y)};
}

/// The middle block, its neighbours, then others spread over the grid.
std::vector<Place> choose_blocks(const Launch& launch, size_t wanted) {
  std::vector<Place> chosen;
  const auto add = [&](Place place) {
    if (std::find(chosen.begin(), chosen.end(), place) == chosen.end()) chosen.push_back(place);
  };
  Place middle{(launch.grid[0] - 1) / 2, (launch.grid[1] - 1) / 2, (launch.grid[2] - 1) / 2};
  add(middle);
  for (size_t d = 0; d < 3; ++d) {
    Place next = middle;
    if (++next[d] < launch.grid[d]) add(next);
  }
  const uint64_t blocks = launch.blocks();
  for (uint64_t i = 0; chosen.size() < wanted && i < wanted; ++i)
    add(place_of((2 * i + 1) * blocks / (2 * wanted), launch));
  add(place_of(0, launch));
  return chosen;
}

/// The block that the multiprocessor of `place` is given next, or was given before.
std::optional<Place> block_beside(Place place, const Launch& launch, uint64_t multiprocessors) {
  const uint64_t own = (uint64_t{place[2]} * launch.grid[1] + place[1]) * launch.grid[0] + place[0];
  if (multiprocessors == 0) return std::nullopt;
  if (own + multiprocessors < launch.blocks()) return place_of(own + multiprocessors, launch);
  if (own >= multiprocessors) return place_of(own - multiprocessors, launch);
  return std::nullopt;
}

/// Warps of a block, the same ones in each block: the first, which often does more than the others
/// and stands for itself alone, and the rest spread evenly.
std::vector<uint32_t> choose_warps(uint32_t warps, uint32_t wanted) {
  std::vector<uint32_t> chosen{0};
  const uint32_t count = std::min(warps, std::max(1u, wanted));
  if (count == 2) chosen.push_back(warps / 2);
  for (uint32_t i = 0; count > 2 && i + 1 < count; ++i)
    chosen.push_back(1 + static_cast<uint32_t>(uint64_t{i} * (warps - 1) / (count - 1)));
  return chosen;
}

float share_of(const std::vector<uint32_t>& chosen, size_t which, uint32_t warps) {
  const uint32_t next = which + 1 < chosen.size() ? chosen[which + 1] : warps;
  return static_cast<float>(next - chosen[which]) * static_cast<float>(chosen.size()) /
         static_cast<float>(warps);
}

}  // namespace

double WarpTrace::executed() const {
  double sum = 0;
  for (const Event& each : events) sum += each.weight;
  return sum;
}

void ConstantRange::add(const ConstantRange& other) {
  if (other.empty()) return;
  if (empty()) *this = other;
  first = std::min(first, other.first);
  end = std::max(end, other.end);
}

void ConstantUse::add(const ConstantUse& other) {
  place = other.place;
  for (const auto& [block, range] : other.blocks) blocks[block].add(range);
  loads += other.loads;
  new_lines += other.new_lines;
  unknown |= other.unknown;
  uniform &= other.uniform;
}

ConstantRange ConstantUse::range() const {
  ConstantRange all;
  for (const auto& [block, range] : blocks) all.add(range);
  return all;
}

Walk walk(const Program& program, const Launch& launch, const WalkLimits& limits) {
  Decisions decisions(program, launch);
  const uint32_t warps = launch.warps_per_block();
  const std::vector<Place> scouted = choose_blocks(launch, 1);

  // What is found out about offsets on the way changes values that were made up before: once more.
  uint64_t cost = 0;
  for (size_t round = 0; round < 4; ++round) {
    Walk scout;
    WarpRunner runner(program, launch, limits, decisions, scout);
    WarpTrace trace;
    const size_t known = decisions.offsets().size();
    runner.run(scouted[0], 0, limits.steps / 4, trace);
    cost = std::max<uint64_t>(1, scout.executed);
    if (decisions.offsets().size() == known) break;
  }

  Walk result;
  const auto affordable =
      static_cast<uint32_t>(std::clamp<uint64_t>(limits.steps / cost, 4, limits.warps));
  const size_t blocks = std::clamp<size_t>(affordable / std::max(1u, std::min(warps, 8u)), 4, 8);
  const std::vector<uint32_t> chosen =
      choose_warps(warps, std::max(1u, affordable / static_cast<uint32_t>(blocks)));
  result.blocks = choose_blocks(launch, blocks);
  WarpRunner runner(program, launch, limits, decisions, result);
  const uint64_t each =
      std::min(limits.steps / 4,
               std::max<uint64_t>(2 * cost, limits.steps / (result.blocks.size() * chosen.size())));
  const auto run = [&](Place place, uint32_t warp, WarpTrace& trace) {
    trace.warp = warp;
    if (!runner.run(place, warp, each, trace)) result.cut_short = true;
  };
  for (uint32_t block = 0; block < result.blocks.size(); ++block) {
    for (size_t i = 0; i < chosen.size(); ++i) {
      WarpTrace trace;
      trace.block = block;
      trace.share = share_of(chosen, i, warps);
      run(result.blocks[block], chosen[i], trace);
      result.warps.push_back(std::move(trace));
    }
  }
  if (cost * warps <= limits.steps / 2) {
    const auto constants = result.constants;  // of the sample warps alone
    const bool all = chosen.size() == warps;
    const auto next = block_beside(result.blocks[0], launch, limits.multiprocessors);
    for (uint32_t warp = 0; warp < warps; ++warp) {
      if (all)
        result.whole.push_back(result.warps[warp]);
      else
        run(result.blocks[0], warp, result.whole.emplace_back());
      if (next) run(*next, warp, result.beside.emplace_back());
    }
    result.constants = constants;
  }
  result.assumed = decisions.texts();
  if (result.cut_short)
    result.assumed.push_back("the walk over the sample warps was stopped after " +
                             std::to_string(each) + " instructions of a warp");
  return result;
}

}  // namespace fathom
