#include "measurement/complaints.h"

#include <algorithm>

#include "base/text.h"

namespace fathom {

Complaints::Complaint& Complaints::find(const char* what, uint64_t offset, WarningSeverity severity,
                                        const char* hint) {
  for (Complaint& complaint : complaints_)
    if (complaint.what == what) return complaint;
  return complaints_.emplace_back(Complaint{what, hint, severity, offset});
}

void Complaints::add(const char* what, uint64_t offset, WarningSeverity severity,
                     const char* hint) {
  Complaint& complaint = find(what, offset, severity, hint);
  ++complaint.count;
  complaint.first = std::min(complaint.first, offset);
}

void Complaints::add(const Damage& damage) {
  Complaint& complaint = find(damage.what, damage.offset, WarningSeverity::warning,
                              "the rest of the measurement is used");
  ++complaint.count;
  complaint.bytes += damage.size;
}

void Complaints::report(std::vector<Warning>& warnings) const {
  for (const Complaint& complaint : complaints_) {
    std::string what = complaint.what;
    if (complaint.count > 1) what += format(", %s times", human_count(complaint.count).c_str());
    if (complaint.bytes)
      what += format(" (%s bytes left out)", human_count(complaint.bytes).c_str());
    std::string where =
        format("%s, %sbyte %llu", file_.c_str(), complaint.count > 1 ? "first at " : "",
               static_cast<unsigned long long>(complaint.first));
    warnings.push_back({complaint.severity, what, where, complaint.hint});
  }
}

}  // namespace fathom
