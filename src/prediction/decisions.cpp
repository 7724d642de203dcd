#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "prediction/warp_runner.h"

namespace fathom {
namespace {

constexpr double kDefaultRounds = 8, kDefaultShare = 0.5;

std::string base_name(const std::string& path) {
  return path.substr(path.rfind('/') + 1);
}

}  // namespace

Decisions::Decisions(const Program& program, const Launch& launch)
    : program_(program), launch_(launch) {}

std::string Decisions::place(uint32_t step) const {
  const SourceLocation at = program_.at(step);
  if (at.line == 0) {
    const Instruction& instruction = program_.instructions[step];
    return program_.from_sass
               ? format("offset 0x%llx", static_cast<unsigned long long>(instruction.offset))
               : format("line %llu of the PTX",
                        static_cast<unsigned long long>(instruction.offset));
  }
  return format("%s:%u", base_name(at.file).c_str(), at.line);
}

const TripCount* Decisions::trip_at(uint32_t step) const {
  for (const TripCount& each : launch_.trips) {
    for (const SourceLocation& at : program_.locations[step])
      if (at.line == each.line) return &each;
  }
  return nullptr;
}

/// How many rounds of the source one round of the machine code stands for: as often as the load, or
/// failing that any instruction, of one line that comes most often.
double Decisions::unrolled(uint32_t loop) const {
  std::map<std::pair<std::string, uint32_t>, uint32_t> inside, least;
  const Loop& own = program_.loops.loops[loop];
  const auto count = [&](const Loop& body, auto& into) {
    for (uint32_t block : body.blocks)
      for (uint32_t i = program_.graph.blocks[block].first; i <= program_.graph.blocks[block].last;
           ++i)
        if (program_.steps[i].op == Op::load && program_.at(i).line != 0)
          ++into[{program_.instructions[i].opcode, program_.at(i).line}];
  };
  count(own, inside);
  double factor = 1;
  // A sibling of the same lines with fewer copies of each is what is left over of the unrolling.
  for (const Loop& other : program_.loops.loops) {
    if (&other == &own || other.parent != own.parent) continue;
    std::map<std::pair<std::string, uint32_t>, uint32_t> copies;
    count(other, copies);
    double ratio = 0;
    for (const auto& [key, times] : copies) {
      const auto found = inside.find(key);
      if (found != inside.end())
        ratio = std::max(ratio, static_cast<double>(found->second) / times);
    }
    factor = std::max(factor, ratio);
  }
  return factor;
}

const TripCount* Decisions::trip_of(uint32_t step, uint32_t loop) const {
  const Loop& body = program_.loops.loops[loop];
  const TripCount* given = trip_at(step);
  if (!given) given = trip_at(program_.graph.blocks[body.header].first);
  for (uint32_t latch : body.latches)
    if (!given) given = trip_at(program_.graph.blocks[latch].last);
  return given;
}

double Decisions::rounds(uint32_t step, uint32_t loop) {
  const TripCount* given = trip_of(step, loop);
  const double wanted = given ? given->count : kDefaultRounds;
  if (!given)
    texts_.insert(format("the loop at %s depends on data: %g rounds (--trips LINE=N changes it)",
                         place(step).c_str(), kDefaultRounds));
  return std::max(1.0, std::round(wanted / unrolled(loop)));
}

/// What the user said of the comparison that a step's guard, or its branch, goes by: where a branch
/// became guards, it stands on a line of its own.
const TripCount* Decisions::trip_of_guard(uint32_t step) const {
  const Step& guarded = program_.steps[step];
  const int16_t wanted =
      guarded.guard.index >= 0 ? guarded.guard.index : guarded.predicates[0].index;
  for (uint32_t at = step; wanted >= 0 && at-- > 0;) {
    const auto& results = program_.steps[at].result_predicates;
    if (results[0] == wanted || results[1] == wanted) return trip_at(at);
  }
  return nullptr;
}

double Decisions::share(uint32_t step) {
  const TripCount* given = trip_at(step);
  if (!given) given = trip_of_guard(step);
  if (given) return std::min(1.0, given->count);
  texts_.insert(
      format("the branch at %s depends on data: half of the threads enter it (--trips LINE=SHARE "
             "changes it)",
             place(step).c_str()));
  return kDefaultShare;
}

bool Decisions::is_rare(uint32_t step) const {
  const Block& block = program_.graph.blocks[program_.graph.block_of[step]];
  for (uint32_t i = block.first; i <= block.last; ++i)
    if (program_.steps[i].slow_path) return true;
  return false;
}

/// Rounds of a loop that several threads share go over as many elements each, the last one over
/// half of that on average.
void Decisions::add_offsets(uint64_t buffer, uint32_t step, uint32_t sharing) {
  if (offsets_.count(buffer)) return;
  const TripCount* given = trip_at(step);
  double length = std::max<double>(kDefaultRounds, sharing);
  if (given) length = sharing > 1 ? std::max(0.5, given->count - 0.5) * sharing : given->count;
  if (!given)
    texts_.insert(
        format("the loop at %s goes over rows whose lengths are data: %g elements each (--trips "
               "LINE=N changes it)",
               place(step).c_str(), length));
  offsets_[buffer] = length;
}

uint64_t Decisions::address_unknown(uint32_t step) {
  for (const NearbyData& each : launch_.nearby)
    for (const SourceLocation& at : program_.locations[step])
      if (at.line == each.line) return each.bytes;
  texts_.insert(
      format("the address of the %s at %s depends on data: spread at random over the whole buffer "
             "(--near LINE=BYTES tells otherwise)",
             program_.steps[step].op == Op::store ? "store" : "access", place(step).c_str()));
  return 0;
}

uint32_t Decisions::loop_left(uint32_t step) const {
  const Step& branch = program_.steps[step];
  if (branch.target == kNoBlock || step + 1 >= program_.steps.size()) return kNoBlock;
  const uint32_t target = program_.graph.block_of[branch.target],
                 next = program_.graph.block_of[step + 1];
  for (uint32_t loop = program_.loops.innermost[program_.graph.block_of[step]]; loop != kNoBlock;
       loop = program_.loops.loops[loop].parent) {
    if (program_.loops.contains(loop, target) != program_.loops.contains(loop, next)) return loop;
  }
  return kNoBlock;
}

}  // namespace fathom
