#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace fathom {

struct SourceLocation {
  std::string file;   ///< empty: unknown
  uint32_t line = 0;  ///< 0: unknown
  auto operator<=>(const SourceLocation&) const = default;
};

/// A further place of a finding.
struct RelatedLocation {
  std::string role;  ///< "waits here", "value comes from", "loop", "inlined at", "allocation"
  SourceLocation at;
  std::string what;  ///< e.g. the function or the instruction: "LDG.E R4, [R2.64]"
};

/// A named number that a finding rests on.
struct Evidence {
  std::string name;  ///< "matched samples"
  double value = 0;
  std::string unit;  ///< "samples", "fraction", "cycles", "blocks"...
};

struct SpeedupRange {
  double low = 1, mid = 1, high = 1;  ///< of the subject (kernel); 1.25 = 1.25 times as fast
};

/// One piece of advice, whichever engine found it (docs/design.md, section 4).
struct Finding {
  std::string kind;     ///< "strength-reduction", "loop-unrolling", ...
  std::string fix;      ///< a variant of the change, may be empty
  std::string subject;  ///< kernel (demangled), object or thread group
  SourceLocation location;
  std::vector<RelatedLocation> related;
  std::vector<Evidence> evidence;
  std::optional<SpeedupRange> speedup;  ///< of the subject
  std::optional<SpeedupRange>
      program_speedup;                   ///< of the whole run, by the subject's share of time
  std::string title;                     ///< one line: what is wrong, in plain words
  std::string text;                      ///< the explanation and the suggestion, in plain words
  std::vector<std::string> suggestions;  ///< concrete changes, most promising first
  std::vector<std::string> assumptions;  ///< what the estimate takes for granted
};

}  // namespace fathom
