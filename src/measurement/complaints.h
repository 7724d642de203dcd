#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measurement/chunks.h"
#include "model/profile.h"

namespace fathom {

/// Collects what is wrong with one file, and says each thing once: a file with a million bad
/// records yields one warning that counts them and names the first.
class Complaints {
 public:
  explicit Complaints(std::string file) : file_(std::move(file)) {}

  /// `what` is a literal: equal ones are told by their address.
  void add(const char* what, uint64_t offset, WarningSeverity severity = WarningSeverity::warning,
           const char* hint = "");
  void add(const Damage& damage);
  /// Appends the warnings, in the order in which each first came up.
  void report(std::vector<Warning>& warnings) const;

 private:
  struct Complaint {
    const char* what;
    const char* hint;
    WarningSeverity severity;
    uint64_t first;
    uint64_t count = 0;
    uint64_t bytes = 0;
  };
  Complaint& find(const char* what, uint64_t offset, WarningSeverity severity, const char* hint);

  std::string file_;
  std::vector<Complaint> complaints_;
};

}  // namespace fathom
