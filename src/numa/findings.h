#pragma once
// Each function looks for one kind of issue in one process; numa.cpp calls them all.

#include "numa/gain.h"
#include "numa/numa.h"

namespace fathom {

/// A process as the searches see it.
struct NumaView {
  const NumaMeasurement& numa;
  const Names& names;
  const NumaOptions& options;
  const NumaFacts& facts;
  const ProgramLoad& load;
  const std::vector<Subject>& subjects;
};

/// How many threads work while others do: one that only sets up, and waits for the others, does
/// not.
uint64_t parallel_threads(const NumaMeasurement& numa);
/// Fills the scores of a subject, from the time and the threads of its program, of which `parallel`
/// work while others do.
void set_scores(const NumaFacts& program, uint64_t parallel, NumaObjectFacts& facts);
double parallel_share(const NumaMeasurement& numa);
/// `cpu_seconds`: of all threads together.
double migration_score(const NumaMeasurement& numa, double cpu_seconds);

void find_remote_access(const NumaView& view, std::vector<Finding>& findings);
void find_sharing(const NumaView& view, std::vector<Finding>& findings);
void find_migration(const NumaView& view, std::vector<Finding>& findings);
void find_imbalance(const NumaView& view, std::vector<Finding>& findings);

/// Completes a finding about a subject: where it is, who allocated it, where it is accessed most.
Finding finding_about(const NumaView& view, const Subject& subject);
void apply(const Gain& gain, Finding& finding);

}  // namespace fathom
