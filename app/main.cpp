#include <CLI/CLI.hpp>

#include "app/doctor.h"
#include "app/record.h"

int main(int argc, char** argv) {
  CLI::App app("Fathom finds out where a program on CPUs and GPUs loses its time", "fathom");
  app.require_subcommand(1);
  int exit_code = 0;
  fathom::add_record(app, exit_code);
  fathom::add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  return exit_code;
}
