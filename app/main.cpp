#include <CLI/CLI.hpp>

#include "app/advise.h"
#include "app/analyze.h"
#include "app/calibrate.h"
#include "app/command_line.h"
#include "app/compile.h"
#include "app/doctor.h"
#include "app/inspect.h"
#include "app/predict.h"
#include "app/record.h"
#include "app/report.h"

int main(int argc, char** argv) {
  if (const auto code = fathom::run_as_compiler(argc, argv)) return *code;
  CLI::App app("", "fathom");
  fathom::describe_program(app);
  int exit_code = 0;
  fathom::add_record(app, exit_code);
  fathom::add_analyze(app, exit_code);
  fathom::add_report(app, exit_code);
  fathom::add_advise(app, exit_code);
  fathom::add_predict(app, exit_code);
  fathom::add_inspect(app, exit_code);
  fathom::add_calibrate(app, exit_code);
  fathom::add_compilers(app);
  fathom::add_doctor(app, exit_code);
  return fathom::run_command_line(app, argc, argv, exit_code);
}
