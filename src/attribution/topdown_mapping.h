#pragma once

#include "attribution/attribution.h"

namespace fathom {

/// Places an instruction's samples in the top-down tree. An exposed scoreboard stall's place
/// depends on what its producers are, so the function must have been blamed before. Source:
/// HPCToolkit manual, section 10.5; the correspondence of NVIDIA's reasons is listed in
/// docs/stall-reasons.md.
class TopDownMapper {
 public:
  explicit TopDownMapper(const AnalyzedFunction& function);

  /// `counts` may be any part of the instruction's samples. The result's sum is counts.total().
  TopDownCounts map(uint32_t instruction, const StallCounts& counts) const;

 private:
  const AnalyzedFunction& function_;
  std::vector<float>
      special_;  ///< by instruction: share of long scoreboard stalls that texture producers cause
  std::vector<float>
      shared_;  ///< by instruction: share of short scoreboard stalls that memory producers cause
};

}  // namespace fathom
