#pragma once
// One warp that runs: groups of threads that have parted, loops and what they depend on.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "prediction/lanes.h"
#include "prediction/walk.h"

namespace fathom {

/// What data decides, and how it was assumed to decide; kept over all warps of a walk.
class Decisions {
 public:
  Decisions(const Program& program, const Launch& launch);

  /// What the user said of a loop whose exit is decided at `step`, or null.
  const TripCount* trip_of(uint32_t step, uint32_t loop) const;
  /// Rounds of a data-dependent loop whose exit is decided at `step`.
  double rounds(uint32_t step, uint32_t loop);
  /// The share of threads for which the code behind a branch at `step` is run.
  double share(uint32_t step);
  /// Whether a branch's way leads to code for rare operands only.
  bool is_rare(uint32_t step) const;
  /// Values of a buffer that rise evenly: begins and ends of rows.
  /// `sharing` threads each go over one row together.
  void add_offsets(uint64_t buffer, uint32_t step, uint32_t sharing);
  const std::map<uint64_t, double>& offsets() const { return offsets_; }
  /// Notes that data say where `step` reads or writes; within how many bytes, 0: nobody said.
  uint64_t address_unknown(uint32_t step);
  std::vector<std::string> texts() const { return {texts_.begin(), texts_.end()}; }

  /// The innermost loop that exactly one way of a branch leaves; kNoBlock if none.
  uint32_t loop_left(uint32_t step) const;

 private:
  const TripCount* trip_at(uint32_t step) const;
  const TripCount* trip_of_guard(uint32_t step) const;
  std::string place(uint32_t step) const;
  double unrolled(uint32_t loop) const;

  const Program& program_;
  const Launch& launch_;
  std::map<uint64_t, double> offsets_;
  std::set<std::string> texts_;
};

class WarpRunner {
 public:
  WarpRunner(const Program& program, const Launch& launch, const WalkLimits& limits,
             Decisions& decisions, Walk& walk);

  /// Runs the warp to its end, or for `budget` steps. False if it was cut short.
  bool run(std::array<uint32_t, 3> block, uint32_t warp, uint64_t budget, WarpTrace& out);

 private:
  struct Group {
    uint32_t at = 0, mask = 0;
    std::vector<uint32_t> calls;
    bool waits = false;  ///< for the others at the place where they meet
  };
  struct LoopProgress {
    uint32_t rounds = 0;
    bool known_exit = false, endless = false;
    int states = 0;
    Lanes::State first, second;
    size_t entry_events = 0;  ///< of the trace when the loop was entered
    size_t second_events = 0;
    uint32_t next_try = 8;
  };

  bool step();
  size_t lowest();
  bool meet(size_t group, const Step& step);
  void enter_header(uint32_t step);
  void try_to_skip(uint32_t loop);
  void find_exits();
  void find_contents();
  uint64_t growths_left(uint32_t loop, const Lanes::Growth& growth) const;
  void keep_inside(LaneValues& addresses, uint32_t unknown) const;
  void keep_nearby(LaneValues& addresses, uint32_t unknown, uint32_t bytes, uint64_t nearby) const;
  uint32_t assumed_guard(uint32_t at, const Step& step, uint32_t mask);
  bool run_rounds(uint32_t loop, uint32_t rounds, uint64_t limit);
  void branch(size_t group, const Step& step, uint32_t mask);
  uint32_t toss(uint32_t at, double share) const;
  uint32_t decide(uint32_t at, const Step& step, uint32_t mask, uint32_t taken, uint32_t unknown);
  void leave(size_t group, uint32_t mask);
  void memory(const Step& step, uint32_t at, uint32_t mask);
  uint32_t loaded_word(const Step& step, uint32_t at, uint64_t address, uint32_t slot,
                       uint64_t range) const;
  void load_values(const Step& step, uint32_t at, const LaneValues& addresses, uint32_t unknown,
                   uint32_t mask);
  void store_shared(const Step& step, uint32_t mask);
  void store_local(const Step& step, const LaneValues& addresses, uint32_t mask);
  void note_constant(const Step& step, uint32_t at, const LaneValues& addresses, uint32_t unknown,
                     uint32_t mask);
  uint32_t record_access(const Step& step, const LaneValues& addresses, bool unknown,
                         uint32_t mask);
  bool from_different_buffers(const Step& step) const;
  void watch_offsets(const Step& step, uint32_t at, uint32_t mask);

  const Program& program_;
  const Launch& launch_;
  const WalkLimits& limits_;
  Decisions& decisions_;
  Walk& walk_;
  Lanes lanes_;
  std::vector<Group> groups_;
  std::array<std::array<uint32_t, kLanes>, 16> meeting_{};  ///< by barrier and thread: who meets
  std::vector<LoopProgress> loops_;
  std::vector<std::vector<uint32_t>> exits_;  ///< by loop: comparisons that end it
  std::vector<uint32_t> header_of_;           ///< by step: loop whose header starts there
  std::vector<uint64_t> address_of_;  ///< by step: what a load read last, in its first thread
  std::vector<std::optional<BufferContents>> contents_of_;  ///< by step: what a load seems to read
  std::vector<uint32_t>
      sharing_of_;  ///< by step: threads that a load's addresses were the same for
  WarpTrace* trace_ = nullptr;
  std::vector<bool> was_known_;  ///< by step: a branch that was once decided without data
  bool spoiled_ = false;         ///< such a branch is not any more, since a loop was skipped ahead
  bool quiet_ = false;
  uint32_t previous_ = 0;
  uint64_t executed_ = 0;
  uint64_t warp_number_ = 0;
  struct LocalValue {
    std::array<uint32_t, kLanes> values;
    uint32_t unknown;
  };
  std::unordered_map<uint32_t, LocalValue> local_;
  std::vector<uint32_t> shared_;  ///< words that the warp stored last into shared memory
  size_t shared_next_ = 0;
  std::map<uint32_t, ConstantUse> constants_;  ///< of this warp
  uint64_t constant_line_ = 0;                 ///< that it read last, and one
};

}  // namespace fathom
