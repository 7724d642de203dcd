#pragma once

#include <map>
#include <tuple>

#include "measurement/measurement.h"
#include "model/profile.h"

namespace fathom {

/// Grows Profile::contexts: the same child is made only once.
class ContextTree {
 public:
  explicit ContextTree(std::vector<Context>& contexts);
  static constexpr uint32_t kRoot = 0;

  uint32_t child(Context context);  ///< context.parent names the parent

 private:
  using Key = std::tuple<uint32_t, ContextKind, std::string, std::string, SourceLocation, uint64_t,
                         uint32_t>;
  std::vector<Context>& contexts_;
  std::map<Key, uint32_t> index_;
};

/// The contexts of a process's CPU call paths. A frame whose address is known to mean inlined calls
/// becomes several.
class CpuContexts {
 public:
  CpuContexts(const Measurement& measurement, const Process& process, uint32_t process_context,
              ContextTree& tree)
      : measurement_(measurement),
        process_(process),
        process_context_(process_context),
        tree_(tree) {}

  /// The innermost context of a call path; the process itself for kNoId.
  uint32_t of(uint32_t call_path);
  /// By an operation's correlation id; `known` says whether its call was recorded.
  uint32_t of_call(uint32_t correlation, bool& known);

 private:
  uint32_t add_frame(uint32_t parent, const CpuFrame& frame);

  const Measurement& measurement_;
  const Process& process_;
  uint32_t process_context_;
  ContextTree& tree_;
  std::map<uint32_t, uint32_t> by_call_path_;
};

/// "lib.so" of "/usr/lib/lib.so"
std::string file_name(const std::string& path);

}  // namespace fathom
