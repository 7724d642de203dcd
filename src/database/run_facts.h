#pragma once

#include "model/profile.h"

namespace fathom {

/// Calls f(name, member) for each fact of a run, in the order of the table `facts`.
template <class Run, class Function>
void visit_facts(Run& run, Function f) {
  f("fathom_version", run.fathom_version);
  f("command", run.command);
  f("working_directory", run.working_directory);
  f("events", run.events);
  f("host", run.host);
  f("exit_code", run.exit_code);
  f("finished", run.finished);
  f("wall_seconds", run.wall_seconds);
  f("processes", run.processes);
  f("sampling_period_log2", run.sampling_period_log2);
  f("sampling_serialized", run.sampling_serialized);
  f("samples_total", run.samples_total);
  f("samples_dropped", run.samples_dropped);
  f("samples_non_user", run.samples_non_user);
  f("samples_attributed", run.samples_attributed);
  f("samples_unattributed", run.samples_unattributed);
}

}  // namespace fathom
