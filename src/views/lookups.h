#pragma once
// What several views look up in a profile: values, places, scopes and sums over source lines.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/profile.h"

namespace fathom {

/// The values of a profile's contexts, by metric name.
class MetricLookup {
 public:
  explicit MetricLookup(const Profile& profile) : profile_(profile) {}
  uint32_t find(std::string_view name) const;  ///< kNoId if the profile has no such metric
  double exclusive(uint32_t context, uint32_t metric) const;
  double inclusive(uint32_t context, uint32_t metric) const;
  /// At the root, that is for the whole program.
  double total(std::string_view name) const;

 private:
  const MetricValue* value(uint32_t context, uint32_t metric) const;
  const Profile& profile_;
};

/// Whether the run was about a GPU: anything but the memory accesses of a CPU program alone.
bool is_about_gpu(const Profile& profile);

/// Relative to the run's working directory where the file is in it.
std::string show_path(const Profile& profile, const std::string& file);

/// Short names of source files: without folders where no other file of the profile has that name.
class Places {
 public:
  explicit Places(const Profile& profile);
  /// "kernels.cu:18", "kernels.cu" or an empty string.
  std::string show(const SourceLocation& at) const;
  /// The same with the path of show_path().
  std::string show_full(const SourceLocation& at) const;

 private:
  const Profile& profile_;
  std::map<std::string, std::string, std::less<>> short_names_;
};

/// A function's name without parameters, if that leaves a name: lambdas and operators keep theirs.
std::string show_function(const std::string& demangled);

/// The line's text without its indentation, or an empty string.
std::string source_text(const Profile& profile, const SourceLocation& at);
const SourceText* find_source(const Profile& profile, const std::string& file);

/// What a report is about: everything, or some kernels, a loop or a line.
struct Scope {
  std::string title;                          ///< "the whole program", "transpose<double>"
  bool whole = true;                          ///< no part was asked for
  std::vector<const KernelSummary*> kernels;  ///< longest first
  std::vector<uint32_t> instructions;         ///< indices in Profile::instructions
  TopDownCounts topdown;                      ///< in samples
  uint64_t samples = 0;                       ///< on the instructions
};
/// `kernel`: part of a demangled name; `loop`, `line`: FILE:LINE; empty: not asked for.
/// Errors: nothing matches (cannot_answer, with what there is), or no FILE:LINE (usage).
Result<Scope> find_scope(const Profile& profile, const std::string& kernel, const std::string& loop,
                         const std::string& line);
/// Kernels whose demangled name contains `part`.
std::vector<const KernelSummary*> find_kernels(const Profile& profile, const std::string& part);
/// The error for a name that no kernel has.
Error no_such_kernel(const Profile& profile, const std::string& name);

/// A source line that causes waiting on another.
struct LineCause {
  SourceLocation at;  ///< unknown: outside the analysed functions
  StallClass kind = StallClass::other;
  double stalls = 0;
};
/// The samples of one source line.
struct HotLine {
  SourceLocation at;
  uint32_t function = kNoId;  ///< the one with most of its samples
  std::string inlined;        ///< the innermost inlined function that it belongs to, if any
  StallCounts samples;
  std::vector<LineCause> causes;  ///< most stalls first
};
/// Lines with samples, most first.
std::vector<HotLine> hot_lines(const Profile& profile, const std::vector<uint32_t>& instructions);

/// The reason of most waiting: by exposed samples, then by all. Nothing if nothing waits.
std::optional<StallReason> main_stall(const StallCounts& counts);

}  // namespace fathom
