#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/profile.h"
#include "views/layout.h"

namespace fathom {

struct AdviceOptions {
  Style style;
  size_t top = 0;          ///< findings for each subject; 0: all
  std::string kernel;      ///< part of a subject's name; empty: all
  double min_speedup = 1;  ///< of the subject; above 1, findings without a number are left out too
};

/// The findings about one kernel, object or thread group.
struct AdviceGroup {
  std::string subject;
  const KernelSummary* kernel = nullptr;  ///< if the subject is one
  std::vector<const Finding*> findings;   ///< best first
  size_t left_out = 0;                    ///< by `top`
};
struct Advice {
  std::vector<AdviceGroup> groups;  ///< kernels by share of time, then other subjects
  size_t too_small = 0;             ///< left out by `min_speedup`
};
/// Chooses and groups. Errors: no subject matches (cannot_answer, with what there is).
Result<Advice> choose_advice(const Profile& profile, const AdviceOptions& options);

/// For people. Errors: those of choose_advice().
Result<std::string> advice_text(const Profile& profile, const AdviceOptions& options);
/// For programs, as in docs/schemas/advice.schema.json.
Result<std::string> advice_json(const Profile& profile, const AdviceOptions& options);
/// For editors and code review: SARIF 2.1.0 (OASIS standard).
Result<std::string> advice_sarif(const Profile& profile, const AdviceOptions& options);

}  // namespace fathom
