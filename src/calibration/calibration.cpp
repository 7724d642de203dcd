#include "calibration/calibration.h"

#include "calibration/arithmetic.h"
#include "calibration/bench_run.h"

namespace fathom {
namespace {

struct Part {
  const char* what;
  Result<Done> (*measure)(BenchRun&);
};
constexpr Part kParts[] = {
    {"latencies of the caches", measure_latencies},
    {"device memory under load", measure_loaded_latency},
    {"shared memory", measure_shared_memory},
    {"rates of the caches", measure_caches},
    {"walks through constants", measure_constants},
    {"atomics", measure_atomics},
    {"barriers and stores", measure_barriers_and_stores},
    {"bandwidth", measure_bandwidth},
    {"busy device memory", measure_busy_memory},
    {"L2 by footprint", measure_sweeps},
    {"launches", measure_launches},
    {"blocks", measure_blocks},
    {"power", measure_power},
};

void note(Figures& figures, const std::string& what, const Result<Done>& done) {
  if (!done.ok()) figures.failures.push_back(what + ": " + done.error().message());
}

}  // namespace

Result<Figures> calibrate(CudaDriver& driver,
                          const std::function<void(const std::string&)>& progress) {
  Result<BenchRun> made = BenchRun::make(driver);
  if (!made) return made.error();
  BenchRun& run = made.value();
  progress("the clock");
  // Everything that counts seconds needs it.
  if (Result<Done> done = measure_clock(run); !done) return done.error();
  for (const MeasuredInstruction& instruction : measured_instructions()) {
    progress(instruction.name);
    note(run.figures(), instruction.name,
         measure_instruction(driver, run.timer(), instruction, run.figures()));
  }
  for (const Part& part : kParts) {
    progress(part.what);
    note(run.figures(), part.what, part.measure(run));
  }
  return std::move(run.figures());
}

}  // namespace fathom
