#include "prediction/warp_runner.h"

#include <algorithm>
#include <bit>

#include "prediction/access.h"

namespace fathom {
namespace {

/// What is loaded is used within so many steps, or it does not matter.
constexpr size_t kUsedWithin = 4096;
/// So many words tell what shared memory holds.
constexpr size_t kSharedWords = 256;
constexpr uint64_t kOffsetMask = (uint64_t{1} << kBufferShift) - 1;
/// Loops are skipped ahead by this many rounds, so that what alternates comes out right.
constexpr uint32_t kRounds = 4;
/// A loop that goes on for longer has lost what ends it.
constexpr uint64_t kEndless = uint64_t{1} << 32;

bool is_single(uint32_t lanes) {
  return std::popcount(lanes) == 1;
}

bool takes_floats(const Step& step) {
  return step.op != Op::int_to_float &&
         (step.op_class == OpClass::fp32 || step.op_class == OpClass::fp64 ||
          step.op_class == OpClass::special || step.op == Op::float_compare ||
          step.op == Op::float_to_int || step.op == Op::float_minimum);
}

}  // namespace

WarpRunner::WarpRunner(const Program& program, const Launch& launch, const WalkLimits& limits,
                       Decisions& decisions, Walk& walk)
    : program_(program),
      launch_(launch),
      limits_(limits),
      decisions_(decisions),
      walk_(walk),
      lanes_(program),
      header_of_(program.steps.size(), kNoBlock),
      address_of_(program.steps.size()),
      sharing_of_(program.steps.size(), 1),
      was_known_(program.steps.size(), false) {
  for (uint32_t i = 0; i < program.loops.loops.size(); ++i) {
    const uint32_t first = program.graph.blocks[program.loops.loops[i].header].first;
    if (header_of_[first] == kNoBlock) header_of_[first] = i;
  }
  find_exits();
  find_contents();
}

/// What is loaded and first used as a number with a fraction is one.
void WarpRunner::find_contents() {
  contents_of_.assign(program_.steps.size(), std::nullopt);
  for (uint32_t i = 0; i < program_.steps.size(); ++i) {
    const Step& load = program_.steps[i];
    if (load.op != Op::load || load.result == kNoSlot || load.bytes < 4) continue;
    const auto is_of_load = [&](int16_t slot) {
      return slot >= load.result && slot < load.result + load.result_slots;
    };
    const auto end = std::min<size_t>(program_.steps.size(), i + kUsedWithin);
    for (uint32_t at = i + 1; at < end; ++at) {
      const Step& user = program_.steps[at];
      const bool uses = std::any_of(user.sources.begin(), user.sources.end(),
                                    [&](const Source& each) { return is_of_load(each.slot); });
      if (uses && takes_floats(user))
        contents_of_[i] = BufferContents::floats(user.is_double ? 8 : 4);
      if (uses || is_of_load(user.result)) break;
    }
  }
}

bool WarpRunner::run(std::array<uint32_t, 3> block, uint32_t warp, uint64_t budget,
                     WarpTrace& out) {
  lanes_ = Lanes(program_);
  lanes_.block = block;
  lanes_.warp = warp;
  loops_.assign(program_.loops.loops.size(), {});
  local_.clear();
  shared_.clear();
  shared_next_ = 0;
  constants_.clear();
  constant_line_ = 0;
  trace_ = &out;
  quiet_ = false;
  executed_ = 0;
  warp_number_ = ((uint64_t{block[2]} * launch_.grid[1] + block[1]) * launch_.grid[0] + block[0]) *
                     launch_.warps_per_block() +
                 warp;
  const uint32_t threads = launch_.threads_per_block();
  const uint32_t left = threads - std::min(threads, warp * kLanes);
  groups_.assign(1, {0, left >= kLanes ? ~0u : (1u << left) - 1, {}, false});
  meeting_ = {};
  if (groups_[0].mask == 0) return true;
  bool done = false;
  while (!done && executed_ < budget) done = !step();
  walk_.executed += executed_;
  for (const auto& [at, own] : constants_) walk_.constants[at].add(own);
  return done;
}

/// Threads that are behind go first, so that they catch up where their ways meet. Where all wait
/// for others that took another way out, the first go on.
size_t WarpRunner::lowest() {
  size_t best = groups_.size();
  for (size_t i = 0; i < groups_.size(); ++i)
    if (!groups_[i].waits && (best == groups_.size() || groups_[i].at < groups_[best].at)) best = i;
  if (best < groups_.size()) return best;
  best = 0;
  for (size_t i = 1; i < groups_.size(); ++i)
    if (groups_[i].at < groups_[best].at) best = i;
  groups_[best].waits = false;
  ++groups_[best].at;
  return best;
}

/// Whether all threads that are to meet here have come; those that have are one group then.
bool WarpRunner::meet(size_t group, const Step& step) {
  const Group& own = groups_[group];
  uint32_t first = 0;
  while (!(own.mask >> first & 1)) ++first;
  uint32_t alive = 0, here = 0;
  for (const Group& each : groups_) {
    alive |= each.mask;
    const bool waits_here = each.waits && each.at == own.at && each.calls == own.calls;
    if (waits_here || &each == &own) here |= each.mask;
  }
  if (meeting_[step.amount][first] & alive & ~here) return false;
  const uint32_t at = own.at;
  for (size_t i = groups_.size(); i-- > 0;) {
    if (i == group || !groups_[i].waits || groups_[i].at != at ||
        groups_[i].calls != groups_[group].calls)
      continue;
    groups_[group].mask |= groups_[i].mask;
    groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
    if (i < group) --group;
  }
  groups_[group].at = at + 1;
  return true;
}

void WarpRunner::leave(size_t group, uint32_t mask) {
  groups_[group].mask &= ~mask;
  if (groups_[group].mask == 0) groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(group));
}

bool WarpRunner::step() {
  if (groups_.empty()) return false;
  size_t current = 0;
  if (groups_.size() > 1) {
    current = lowest();
    for (size_t i = groups_.size(); i-- > 0;) {
      if (i == current || groups_[i].at != groups_[current].at || groups_[i].waits) continue;
      if (groups_[i].calls != groups_[current].calls) continue;
      groups_[current].mask |= groups_[i].mask;
      groups_.erase(groups_.begin() + static_cast<std::ptrdiff_t>(i));
      if (i < current) --current;
    }
  }
  const uint32_t at = groups_[current].at;
  if (at >= program_.steps.size()) return leave(current, ~0u), !groups_.empty();
  if (header_of_[at] != kNoBlock) {
    enter_header(at);
    if (groups_.empty() || groups_[std::min(current, groups_.size() - 1)].at != at)
      return !groups_.empty();
  }
  ++executed_;
  const Step& now = program_.steps[at];
  const uint32_t all = groups_[current].mask;
  uint32_t mask = lanes_.guard(now.guard, all);
  const bool touches_memory = now.op == Op::store || now.op == Op::atomic || now.op == Op::load;
  if (touches_memory && (lanes_.guard_unknown(now.guard) & all)) mask = assumed_guard(at, now, all);
  if (!quiet_)
    trace_->events.push_back({at, 1, kNoAccess, static_cast<uint16_t>(std::popcount(mask)), 0, 0});
  previous_ = at;
  switch (now.op) {
    case Op::branch:
    case Op::exit:
    case Op::call:
    case Op::return_:
      branch(current, now, all);
      return !groups_.empty();
    case Op::meet_later:
      for (uint32_t i = 0; i < kLanes; ++i)
        if (mask >> i & 1) meeting_[now.amount][i] = mask;
      break;
    case Op::meet:
      if (!meet(current, now)) groups_[current].waits = true;
      return true;
    case Op::load:
    case Op::store:
    case Op::atomic:
    case Op::asynchronous_copy:
      if (mask) memory(now, at, mask);
      break;
    case Op::compare:
    case Op::add:
      watch_offsets(now, at, mask);
      lanes_.unordered = from_different_buffers(now);
      [[fallthrough]];
    default:
      if (mask) lanes_.execute(now, launch_, mask);
  }
  if (!quiet_ && mask) {
    trace_->events.back().changed = lanes_.changed_bits(now, mask);
    trace_->events.back().spread = lanes_.spread_bits(now, mask);
  }
  groups_[current].at = at + 1;
  return true;
}

// Branches.

void WarpRunner::branch(size_t group, const Step& step, uint32_t mask) {
  const uint32_t at = groups_[group].at;
  uint32_t taken = lanes_.guard(step.guard, mask);
  if (step.op == Op::branch) taken &= lanes_.predicate(step.predicates[0]);
  uint32_t unknown = lanes_.guard_unknown(step.guard) & mask;
  if (step.op == Op::branch) unknown |= lanes_.guard_unknown(step.predicates[0]) & mask;
  taken = decide(at, step, mask, taken, unknown);
  const uint32_t rest = mask & ~taken;
  groups_[group].at = at + 1;
  if (taken == 0) return;
  if (step.op == Op::exit) return leave(group, taken);
  Group other = groups_[group];
  other.mask = taken;
  if (step.op == Op::return_) {
    if (other.calls.empty()) return leave(group, taken);
    other.at = other.calls.back();
    other.calls.pop_back();
  } else if (step.op == Op::call) {
    if (step.target == kNoBlock || other.calls.size() > 64) return;  // what it calls is elsewhere
    other.calls.push_back(at + 1);
    other.at = step.target;
  } else if (step.target != kNoBlock) {
    other.at = step.target;
  } else if (!step.table_targets.empty()) {
    // Which entry is taken depends on a value that the table does not tell: one for each warp.
    other.at = step.table_targets[mix(warp_number_ + at) % step.table_targets.size()];
  } else {
    return leave(group, taken);
  }
  if (rest == 0) {
    groups_[group] = std::move(other);
  } else {
    groups_[group].mask = rest;
    groups_.push_back(std::move(other));
  }
}

uint32_t WarpRunner::decide(uint32_t at, const Step& step, uint32_t mask, uint32_t taken,
                            uint32_t unknown) {
  const bool conditional = step.guard.index >= 0 || step.predicates[0].index >= 0;
  if (!conditional || step.op == Op::call || step.op == Op::return_) return taken;
  const uint32_t loop = step.op == Op::branch
                            ? decisions_.loop_left(at)
                            : program_.loops.innermost[program_.graph.block_of[at]];
  if (unknown == 0) {
    was_known_[at] = true;
    if (loop != kNoBlock && step.op == Op::branch) loops_[loop].known_exit = true;
    return taken;
  }
  // What a loop that was skipped ahead made unknown is no matter of data.
  if (was_known_[at]) {
    spoiled_ |= loop != kNoBlock;
    return taken;
  }
  const auto with = [&](uint32_t lanes) { return (taken & ~unknown) | (lanes & unknown); };
  if (loop != kNoBlock) {
    if (step.op == Op::exit) return with(0);  // goes on until the loop's own end
    const LoopProgress& progress = loops_[loop];
    const Loop& body = program_.loops.loops[loop];
    const uint32_t block = program_.graph.block_of[std::min<uint32_t>(
        step.target, static_cast<uint32_t>(program_.steps.size() - 1))];
    const bool taking_stays = step.target != kNoBlock &&
                              std::binary_search(body.blocks.begin(), body.blocks.end(), block);
    // An exit at the bottom has seen one round more than the header counted.
    const bool at_bottom = std::find(body.latches.begin(), body.latches.end(),
                                     program_.graph.block_of[at]) != body.latches.end();
    const double done = progress.rounds + (at_bottom ? 1.0 : 0.0);
    const TripCount* given = decisions_.trip_of(at, loop);
    if (given && given->count < 1) {
      // Each thread leaves by itself, most of them at once.
      const uint32_t stay = toss(at, given->count / (1 + given->count));
      return with(taking_stays ? stay : ~stay);
    }
    const bool stays = (progress.known_exit && !given) || done < decisions_.rounds(at, loop);
    return with(stays == taking_stays ? ~0u : 0);
  }
  if (step.op == Op::branch && step.target != kNoBlock) {
    const bool target_rare = decisions_.is_rare(step.target),
               next_rare = at + 1 < program_.steps.size() && decisions_.is_rare(at + 1);
    if (target_rare != next_rare) return with(target_rare ? 0 : ~0u);
  }
  // The code behind the branch is what is skipped when it is taken.
  const double share = decisions_.share(at);
  const uint32_t seen = taken & unknown;
  const uint64_t salt = mix(warp_number_ * 977 + at * 131 + executed_);
  if (unknown == mask && !is_single(mask) && (seen == 0 || seen == mask))  // all threads agree
    return with(static_cast<double>(salt % 1000) < 1000 * share ? 0 : ~0u);
  return with(~toss(at, share));
}

/// The threads, at random, of which `share` do something.
uint32_t WarpRunner::toss(uint32_t at, double share) const {
  const uint64_t salt = mix(warp_number_ * 977 + at * 131 + executed_);
  uint32_t lanes = 0;
  for (uint32_t i = 0; i < kLanes; ++i)
    lanes |= static_cast<uint32_t>(static_cast<double>(mix(salt + i) % 1000) < 1000 * share) << i;
  return lanes;
}

/// What would be a branch around an access, had the compiler not put a guard before it.
uint32_t WarpRunner::assumed_guard(uint32_t at, const Step& step, uint32_t mask) {
  const uint32_t unknown = lanes_.guard_unknown(step.guard) & mask;
  const double share = decisions_.share(at);
  uint32_t enters = 0;
  for (uint32_t i = 0; i < kLanes; ++i) {
    const uint64_t dice = mix(warp_number_ * 977 + at * 131 + executed_ + i);
    enters |= static_cast<uint32_t>(static_cast<double>(dice % 1000) < 1000 * share) << i;
  }
  return (lanes_.guard(step.guard, mask) & ~unknown) | (enters & unknown);
}

// Loops.

void WarpRunner::enter_header(uint32_t at) {
  const uint32_t loop = header_of_[at];
  LoopProgress& progress = loops_[loop];
  const uint32_t before = program_.graph.block_of[std::min<uint32_t>(
      previous_, static_cast<uint32_t>(program_.steps.size() - 1))];
  const bool again = executed_ > 0 && program_.loops.contains(loop, before);
  if (!again) {
    progress.entry_events = trace_->events.size();
    progress.rounds = 0;
    progress.known_exit = false;
    progress.states = 0;
    progress.next_try = 8;
    return;
  }
  ++progress.rounds;
  if (executed_ < limits_.steps_before_skipping || progress.rounds % kRounds != 0 ||
      progress.rounds < progress.next_try)
    return;
  if (groups_.size() > 1) {
    progress.states = 0;
    return;
  }
  if (progress.states == 0) {
    progress.first = lanes_.state();
  } else if (progress.states == 1) {
    progress.second = lanes_.state();
    progress.second_events = quiet_ ? 0 : trace_->events.size();
  } else {
    progress.states = 0;
    try_to_skip(loop);
    progress.first = progress.second = {};
    progress.next_try =
        progress.endless ? ~0u : progress.rounds + std::max(16u, progress.rounds / 2);
    return;
  }
  ++progress.states;
}

bool WarpRunner::run_rounds(uint32_t loop, uint32_t rounds, uint64_t limit) {
  const uint32_t header = program_.graph.blocks[program_.loops.loops[loop].header].first;
  const uint32_t mask = groups_[0].mask;
  const uint64_t end = executed_ + limit;
  for (uint32_t i = 0; i < rounds; ++i) {
    // The header itself first, without its count.
    const uint32_t saved = header_of_[header];
    header_of_[header] = kNoBlock;
    bool going = step();
    while (going && executed_ < end && (groups_.size() != 1 || groups_[0].at != header)) {
      // Left the loop?
      if (groups_.size() == 1) {
        const uint32_t at = groups_[0].at;
        if (at >= program_.steps.size()) break;
        if (groups_[0].calls.empty() && !program_.loops.contains(loop, program_.graph.block_of[at]))
          break;
      }
      going = step();
    }
    header_of_[header] = saved;
    if (groups_.size() != 1 || groups_[0].at != header || groups_[0].mask != mask || spoiled_)
      return false;
    ++loops_[loop].rounds;
  }
  return true;
}

/// For each branch out of a loop, the comparison before it that decides, in the text's order; of 64
/// bits both.
void WarpRunner::find_exits() {
  exits_.assign(program_.loops.loops.size(), {});
  for (uint32_t i = 0; i < program_.steps.size(); ++i) {
    const Step& branch = program_.steps[i];
    if (branch.op != Op::branch) continue;
    const uint32_t loop = decisions_.loop_left(i);
    if (loop == kNoBlock) continue;
    std::set<int16_t> wanted{branch.guard.index, branch.predicates[0].index};
    wanted.erase(-1);
    for (uint32_t at = i; at-- > 0 && !wanted.empty();) {
      const Step& step = program_.steps[at];
      const size_t found =
          wanted.erase(step.result_predicates[0]) + wanted.erase(step.result_predicates[1]);
      if (found == 0 || !program_.loops.contains(loop, program_.graph.block_of[at])) continue;
      if (step.op == Op::compare) exits_[loop].push_back(at);
      for (const PredicateSource& each : step.predicates)
        if (each.index >= 0) wanted.insert(each.index);
    }
  }
}

uint64_t WarpRunner::growths_left(uint32_t loop, const Lanes::Growth& growth) const {
  uint64_t least = ~uint64_t{0};
  for (uint32_t each : exits_[loop])
    least = std::min(least, lanes_.growths_until(program_.steps[each], growth, groups_[0].mask));
  return least;
}

/// Goes on with a loop as long as its registers grow evenly, in steps that double; the rounds that
/// were written down stand for those that were skipped.
void WarpRunner::try_to_skip(uint32_t loop) {
  const bool was_quiet = quiet_;
  const size_t from = loops_[loop].second_events, to = trace_->events.size();
  const Lanes::Growth growth = lanes_.growth(loops_[loop].first, loops_[loop].second);
  const uint64_t round_cost = was_quiet ? 20000 : std::max<uint64_t>(64, 4 * (to - from));
  struct Moment {
    Lanes::State lanes;
    std::vector<Group> groups;
    std::unordered_map<uint32_t, LocalValue> local;
    uint32_t rounds = 0;
    std::map<uint32_t, ConstantUse> constants;
  };
  const auto now = [&] {
    return Moment{lanes_.state(), groups_, local_, loops_[loop].rounds, constants_};
  };
  const auto go_back = [&](const Moment& to_there) {
    lanes_.restore(to_there.lanes);
    groups_ = to_there.groups;
    local_ = to_there.local;
    loops_[loop].rounds = to_there.rounds;
    constants_ = to_there.constants;
  };
  quiet_ = true;
  const Moment before = now();
  uint64_t skipped = 0;
  for (uint64_t times = 16; times > 0 && skipped < kEndless;) {
    // Two growths are left over, since a comparison may be some rounds ahead of what is seen here.
    const uint64_t left = growths_left(loop, growth);
    times = std::min(times, left > 2 ? left - 2 : 0);
    if (times == 0) break;
    const Moment saved = now();
    lanes_.extrapolate(growth, times);
    loops_[loop].rounds += static_cast<uint32_t>(times) * kRounds;
    spoiled_ = false;
    if (run_rounds(loop, kRounds, round_cost)) {
      skipped += times + 1;
      times = std::min<uint64_t>(times * 4, uint64_t{1} << 28);
    } else {
      go_back(saved);
      times /= 4;
    }
  }
  if (skipped >= kEndless) {
    go_back(before);
    skipped = 0;
    loops_[loop].endless = true;
  }
  quiet_ = was_quiet;
  if (quiet_) return;
  const auto factor =
      static_cast<float>(1 + static_cast<double>(skipped * kRounds) / std::max(1u, before.rounds));
  for (size_t i = loops_[loop].entry_events; i < to; ++i) trace_->events[i].weight *= factor;
}

// Memory.

void WarpRunner::memory(const Step& step, uint32_t at, uint32_t mask) {
  LaneValues addresses;
  const uint32_t unknown = lanes_.addresses(step, addresses) & mask;
  const uint64_t nearby =
      unknown && step.space != MemorySpace::shared ? decisions_.address_unknown(at) : 0;
  if (nearby > 0) {
    keep_nearby(addresses, unknown, step.bytes, nearby);
  } else if (unknown) {
    keep_inside(addresses, unknown);
  }
  if (!quiet_)
    trace_->events.back().access =
        record_access(step, addresses, unknown != 0 && nearby == 0, mask);
  uint32_t first = 0;
  while (!(mask >> first & 1)) ++first;
  address_of_[at] = addresses[first];
  if (step.space == MemorySpace::constant) note_constant(step, at, addresses, unknown, mask);
  if (step.op == Op::load) {
    uint32_t distinct = 0;
    uint64_t last = ~uint64_t{0};
    for (uint32_t i = 0; i < kLanes; ++i) {
      if (!(mask >> i & 1)) continue;
      distinct += addresses[i] != last;
      last = addresses[i];
    }
    sharing_of_[at] = static_cast<uint32_t>(std::popcount(mask)) / distinct;
  }
  if (step.op == Op::store && step.space == MemorySpace::local) store_local(step, addresses, mask);
  if (step.op == Op::store && step.space == MemorySpace::shared) store_shared(step, mask);
  if (step.op == Op::load || step.op == Op::atomic) load_values(step, at, addresses, unknown, mask);
}

/// Where loops are skipped ahead, too: what they touch on the way lies between their ends.
void WarpRunner::note_constant(const Step& step, uint32_t at, const LaneValues& addresses,
                               uint32_t unknown, uint32_t mask) {
  ConstantUse now;
  ConstantRange range;
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(mask >> i & 1)) continue;
    now.uniform &= range.empty() || addresses[i] == range.first;
    range.add({addresses[i], addresses[i] + step.bytes});
  }
  now.place = place_of_constants(step.bank, range.first);
  now.unknown = unknown != 0;
  if (!now.unknown) now.blocks[trace_->block] = range;  // else it is made up
  const uint64_t line = now.unknown ? 0 : range.first / kConstantLine + 1;
  if (!quiet_) now.loads = 1, now.new_lines = now.unknown || line != constant_line_ ? 1 : 0;
  constant_line_ = line;
  constants_[at].add(now);
}

/// What data say stays within its buffer, where the size of that is known.
void WarpRunner::keep_inside(LaneValues& addresses, uint32_t unknown) const {
  if (launch_.buffers.empty()) return;
  for (uint32_t i = 0; i < kLanes; ++i) {
    const auto found = launch_.buffers.find(addresses[i] >> kBufferShift);
    if (!(unknown >> i & 1) || found == launch_.buffers.end()) continue;
    addresses[i] = (addresses[i] & ~kOffsetMask) + (addresses[i] & kOffsetMask) % found->second;
  }
}

/// What data say lies near a warp's own part of the buffer, which all warps share out among them.
void WarpRunner::keep_nearby(LaneValues& addresses, uint32_t unknown, uint32_t bytes,
                             uint64_t nearby) const {
  constexpr uint64_t kLine = 128;  // so that the place within an element stays as it is
  const uint64_t warps = launch_.blocks() * launch_.warps_per_block();
  const uint64_t width = std::max<uint64_t>(1, (nearby + kLine - 1) / kLine) * kLine;
  for (uint32_t i = 0; i < kLanes; ++i) {
    if (!(unknown >> i & 1)) continue;
    const auto found = launch_.buffers.find(addresses[i] >> kBufferShift);
    const uint64_t size = found != launch_.buffers.end() ? found->second : warps * kLanes * bytes;
    const auto own = static_cast<uint64_t>(
        static_cast<double>(size) * static_cast<double>(warp_number_) / static_cast<double>(warps));
    const uint64_t offset = own / kLine * kLine + (addresses[i] & kOffsetMask) % width;
    addresses[i] = (addresses[i] & ~kOffsetMask) + offset % std::max<uint64_t>(size, width);
  }
}

uint32_t WarpRunner::record_access(const Step& step, const LaneValues& addresses, bool unknown,
                                   uint32_t mask) {
  if (step.space == MemorySpace::constant || step.space == MemorySpace::none) return kNoAccess;
  Access access = step.space == MemorySpace::shared ? shared_access(step, addresses, mask)
                  : step.space == MemorySpace::local
                      ? local_access(step, addresses, mask, warp_number_, walk_.sectors)
                      : global_access(step, addresses, mask, walk_.sectors);
  // Threads that add to one place let one of them do it: the assembler sees to that.
  const bool together =
      !program_.from_sass && step.op == Op::atomic && access.wavefronts == access.lanes;
  if (together) access.lanes = 1;
  access.unknown = unknown;
  walk_.accesses.push_back(access);
  return static_cast<uint32_t>(walk_.accesses.size() - 1);
}

/// A made-up word: as the caller says of the buffer, as was stored in shared memory, as the code
/// takes it, or else a whole number below `range`, whose upper half of 64 bits is 0, as in a size.
uint32_t WarpRunner::loaded_word(const Step& step, uint32_t at, uint64_t address, uint32_t slot,
                                 uint64_t range) const {
  const uint64_t place = address + 4 * slot;
  // A division by what the compiler knows is a mask; this is the most frequent case.
  if (step.space == MemorySpace::shared && !shared_.empty())
    return shared_[shared_.size() == kSharedWords ? mix(place) % kSharedWords
                                                  : mix(place) % shared_.size()];
  const bool is_global = step.space == MemorySpace::global || step.space == MemorySpace::generic;
  const auto told =
      is_global ? launch_.contents.find(address >> kBufferShift) : launch_.contents.end();
  const bool is_told = told != launch_.contents.end();
  if (!is_told && !contents_of_[at])
    return static_cast<uint32_t>(slot % 2 ? 0 : mix(address + slot) % range);
  const uint32_t word = word_of(is_told ? told->second : *contents_of_[at], place / 4 * 4);
  return step.bytes >= 4 ? word : word >> 8 * (place % 4) & ((1u << 8 * step.bytes) - 1);
}

void WarpRunner::load_values(const Step& step, uint32_t at, const LaneValues& addresses,
                             uint32_t unknown, uint32_t mask) {
  if (step.result == kNoSlot) return;
  uint64_t range = launch_.blocks() * launch_.threads_per_block();
  for (const auto& [buffer, bytes] : launch_.buffers) range = std::max(range, bytes / 4);
  range = std::clamp<uint64_t>(range, 1024, 1u << 28);
  const auto rising = decisions_.offsets().find(address_of_[at] >> kBufferShift);
  for (uint32_t slot = 0; slot < step.result_slots; ++slot) {
    LaneValues values;
    uint32_t lanes_unknown = ~0u;
    const auto known = step.space == MemorySpace::local
                           ? local_.find(static_cast<uint32_t>(addresses[0]) + 4 * slot)
                           : local_.end();
    if (known != local_.end()) {
      for (uint32_t i = 0; i < kLanes; ++i) values[i] = known->second.values[i];
      lanes_unknown = known->second.unknown;
    } else if (rising != decisions_.offsets().end() && step.space == MemorySpace::global &&
               unknown != mask) {
      const uint32_t size = std::max<uint32_t>(4, step.bytes);
      for (uint32_t i = 0; i < kLanes; ++i) {
        const auto value = static_cast<uint64_t>(
            static_cast<double>((addresses[i] & kOffsetMask) / size) * rising->second);
        values[i] = slot == 0 ? value & 0xffffffff : value >> 32;
      }
      lanes_unknown = 0;
    } else {
      for (uint32_t i = 0; i < kLanes; ++i)
        values[i] = loaded_word(step, at, addresses[i], slot, range);
    }
    lanes_.write(static_cast<int16_t>(step.result + static_cast<int16_t>(slot)), false, values,
                 lanes_unknown, mask);
  }
  lanes_.set_origin(step.result, step.result_slots, at + 1);
}

/// What shared memory holds looks like what was stored there.
void WarpRunner::store_shared(const Step& step, uint32_t mask) {
  LaneValues values;
  for (uint32_t slot = 0; slot < std::max(1u, step.bytes / 4u); ++slot) {
    lanes_.stored_word(step, slot, values);
    for (uint32_t i = 0; i < kLanes; ++i) {
      if (!(mask >> i & 1)) continue;
      if (shared_.size() < kSharedWords) shared_.push_back(0);
      shared_[shared_next_++ % shared_.size()] = static_cast<uint32_t>(values[i]);
    }
  }
}

void WarpRunner::store_local(const Step& step, const LaneValues& addresses, uint32_t mask) {
  // Spilled values are found again; arrays with an index by thread are not followed.
  if (local_.size() > 4096) return;
  for (uint32_t i = 1; i < kLanes; ++i)
    if (addresses[i] != addresses[0]) return;
  const uint32_t slots = std::max<uint32_t>(1, step.bytes / 4u);
  for (uint32_t slot = 0; slot < slots; ++slot) {
    LaneValues values;
    const uint32_t unknown = lanes_.stored_word(step, slot, values);
    LocalValue& kept = local_[static_cast<uint32_t>(addresses[0]) + 4 * slot];
    for (uint32_t i = 0; i < kLanes; ++i)
      if (mask >> i & 1) kept.values[i] = static_cast<uint32_t>(values[i]);
    kept.unknown = (kept.unknown & ~mask) | (unknown & mask);
  }
}

/// Keys of one buffer that are looked up in another are as good as random. What is compared within
/// a buffer often is sorted, so that neighbours go the same way.
bool WarpRunner::from_different_buffers(const Step& step) const {
  const uint32_t a = lanes_.origin(step.sources[0]), b = lanes_.origin(step.sources[1]);
  return a != 0 && b != 0 &&
         address_of_[a - 1] >> kBufferShift != address_of_[b - 1] >> kBufferShift;
}

/// Two loaded values of one buffer that are compared, or subtracted, are where rows begin and end.
void WarpRunner::watch_offsets(const Step& step, uint32_t at, uint32_t mask) {
  if (mask == 0) return;
  const uint32_t a = lanes_.origin(step.sources[0]);
  for (size_t other : {1, 2}) {
    const uint32_t b = lanes_.origin(step.sources[other]);
    if (a == 0 || b == 0 || a == b) continue;
    const Step &first = program_.steps[a - 1], &second = program_.steps[b - 1];
    const bool difference =
        step.op == Op::compare || step.sources[0].negated != step.sources[other].negated;
    if (!difference || first.op != Op::load || second.op != Op::load) continue;
    if (first.space != MemorySpace::global || second.space != MemorySpace::global) continue;
    const uint64_t x = address_of_[a - 1], y = address_of_[b - 1];
    if ((x > y ? x - y : y - x) == first.bytes)
      decisions_.add_offsets(x >> kBufferShift, at, sharing_of_[a - 1]);
  }
}

}  // namespace fathom
