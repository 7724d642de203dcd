#pragma once
// Follows registers backward from addresses to the thread's index, over the lanes of a warp.

#include <array>
#include <map>
#include <string_view>
#include <vector>

#include "attribution/attribution.h"
#include "attribution/lane_value.h"
#include "attribution/operand_text.h"
#include "flow/slices.h"

namespace fathom {

class LaneInterpreter {
 public:
  LaneInterpreter(const AnalyzedFunction& function, const std::array<uint32_t, 3>& block);

  /// Evaluates all that the operands of these instructions come from.
  void follow(const std::vector<uint32_t>& instructions);
  /// What a memory operand of one of them adds up to; of 64-bit addresses the lower half, which
  /// differs from lane to lane as the whole does.
  LaneValue address(uint32_t instruction, const Operand& memory) const;

 private:
  struct Node {
    std::vector<Operand> operands;
    std::vector<Dependency> sources;  ///< through registers that hold numbers
    std::map<Register, LaneValue> results;
  };

  void gather(std::vector<uint32_t> work);
  bool evaluate(uint32_t instruction, Node& node);

  LaneValue result_of(uint32_t instruction, const Node& node, Register defined) const;
  LaneValue operation(uint32_t instruction, const Node& node, Register defined) const;
  LaneValue value_of(const Node& node, const Operand& operand, uint32_t word = 0) const;
  LaneValue of_register(const Node& node, Register reg) const;
  LaneValue constant(uint32_t bank, int64_t offset) const;
  LaneValue special(std::string_view name) const;
  LaneValue thread_index(int dimension) const;

  LaneValue of_multiply(const Instruction& code, const std::vector<LaneValue>& in,
                        bool upper) const;
  LaneValue of_load(uint32_t instruction, const Node& node, uint32_t word) const;
  LaneValue of_half_constant(const Node& node) const;

  const AnalyzedFunction& function_;
  std::array<uint32_t, 3> block_;
  Slicer slicer_;
  std::map<uint32_t, Node> nodes_;
};

}  // namespace fathom
