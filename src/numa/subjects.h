#pragma once
// What findings are about, with everything that was measured of it.

#include <cstdint>
#include <string>
#include <vector>

#include "model/numa_facts.h"
#include "numa/names.h"

namespace fathom {

/// A variable, a thread's stack, or all memory that one call path allocated. Each access to a
/// NumaObject counts for one subject.
struct Subject {
  NumaObjectFacts facts;
  const DataVariable* variable = nullptr;
  uint64_t base = 0;  ///< run-time address of the variable, or of the largest allocation
  std::vector<uint32_t> objects;         ///< indices in NumaMeasurement::objects, ascending
  std::vector<const NumaPage*> pages;    ///< by address
  std::vector<const NumaLine*> lines;    ///< most invalidations first
  std::vector<RelatedLocation> callers;  ///< of the allocation, innermost first

  double accesses() const { return double(facts.reads) + double(facts.writes); }
  double invalidations() const { return facts.false_invalidations + facts.true_invalidations; }
  /// To the lines alone.
  double accesses_to_lines() const;
};

/// The subjects of a process: those with most remote accesses and invalidations first.
std::vector<Subject> gather_subjects(const NumaMeasurement& numa, const Names& names);

/// The variable that covers an address of the file, or null. `variables`: by address.
const DataVariable* variable_at(const std::vector<DataVariable>& variables, uint64_t address);

}  // namespace fathom
