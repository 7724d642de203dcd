#pragma once
// The sections of the text report, each with its heading.

#include <string>

#include "views/lookups.h"
#include "views/report.h"

namespace fathom {

std::string run_section(const Profile& profile, const Style& style);
std::string warnings_section(const Profile& profile, const Style& style);
std::string operations_section(const Profile& profile, const Style& style);
/// A table of the kernels.
std::string kernels_section(const Profile& profile, const ReportOptions& options);
/// What is known of one kernel.
std::string kernel_section(const Profile& profile, const KernelSummary& kernel, const Style& style);
/// Threads and objects, of programs whose memory accesses were recorded.
std::string numa_section(const Profile& profile, const ReportOptions& options);
std::string contexts_section(const Profile& profile, const ReportOptions& options);
std::string topdown_section(const Profile& profile, const Scope& scope, const Style& style);
std::string lines_section(const Profile& profile, const Scope& scope, const ReportOptions& options);
std::string instructions_section(const Profile& profile, const Scope& scope,
                                 const ReportOptions& options);

}  // namespace fathom
