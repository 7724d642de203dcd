#include "app/command_line.h"
#include "app/compile.h"

int main(int argc, char** argv) {
  if (const auto code = fathom::run_as_compiler(argc, argv)) return *code;
  return fathom::run_command_line(argc, argv);
}
