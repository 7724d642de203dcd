#include "app/command_line.h"

// Slow to compile: included here only.
#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "app/advise.h"
#include "app/analyze.h"
#include "app/calibrate.h"
#include "app/doctor.h"
#include "app/events.h"
#include "app/inspect.h"
#include "app/inspect_code.h"
#include "app/predict.h"
#include "app/record.h"
#include "app/report.h"
#include "base/text.h"

namespace fathom {
namespace {

void add_color_option(CLI::App& command, std::string& color) {
  command.add_option("--color", color, "auto (on a terminal), always or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->type_name("WHEN");
}

void add_source_option(CLI::App& command, AnalysisOptions& options) {
  command.add_option("--source", options.source_roots, "A folder with sources, for a directory")
      ->allow_extra_args(false)
      ->type_name("DIR");
}

void add_numa_options(CLI::App& command, AnalysisOptions& options) {
  command
      .add_option_function<std::string>(
          "--topology",
          [&options](const std::string& text) {
            Result<Topology> topology = parse_topology(text);
            if (!topology) throw CLI::ValidationError(topology.error().message());
            options.numa.topology = *topology;
            options.numa_changed = true;
          },
          format("The NUMA machine to estimate gains for: NODESxPROCESSORS:LOCAL,ONE_HOP,..., with "
                 "relative latencies, e.g. 8x16:1.0,2.1,3.1; or machine: this one (default: %s)",
                 Topology{}.text().c_str()))
      ->type_name("TOPOLOGY");
  command
      .add_option_function<std::vector<std::string>>(
          "--numa-threshold",
          [&options](const std::vector<std::string>& texts) {
            for (const std::string& text : texts)
              if (auto done = set_threshold(text, options.numa.thresholds); !done)
                throw CLI::ValidationError(done.error().message());
            options.numa_changed = true;
          },
          "The score from which on a kind of NUMA issue is reported, e.g. remote-access=1500; may "
          "be repeated")
      ->allow_extra_args(false)
      ->type_name("KIND=N");
}

void add_record(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("record", "Runs a program and measures it into a directory for analyze");
  auto arguments = std::make_shared<RecordArguments>();
  command
      ->add_option("-e,--event", arguments->events,
                   format("What to measure, e.g. gpu=cuda, gpu=cuda,pc@14 (one sample each 2^14 "
                          "cycles) or numa (default: gpu=cuda; without @K, 2^%u cycles)",
                          kDefaultCudaPeriodLog2))
      ->allow_extra_args(false);
  command->add_option("-o,--output", arguments->directory,
                      "The measurement directory (default: fathom-APP-measurement)");
  command->add_flag("-t,--trace", arguments->trace, "Keep a trace; -tt: a finer one");
  command->add_flag("-L,--list", arguments->list, "List the events and whether they work here");
  command->add_option("program", arguments->program, "The program and its arguments, after --");
  command->positionals_at_end();
  command->callback([arguments, &exit_code] { exit_code = run_record(*arguments); });
}

void add_analyze(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<AnalyzeArguments>();
  auto* command =
      app.add_subcommand("analyze", "Makes one profile database of a measurement directory");
  command->add_option("directory", arguments->directory, "What `fathom record` wrote")
      ->required()
      ->type_name("DIR");
  command->add_option("-o,--output", arguments->output, "The database (default: DIR.fdb)")
      ->type_name("FILE");
  command
      ->add_option("--source", arguments->analysis.source_roots,
                   "A folder to look for sources in, besides their recorded paths; may be repeated")
      ->allow_extra_args(false)
      ->type_name("DIR");
  command->add_flag("--keep-disassembly", arguments->analysis.keep_disassembly,
                    "Keep nvdisasm's text in DIR, for machines without nvdisasm");
  command
      ->add_option("--decoder", arguments->analysis.decoder,
                   "What reads machine code: native or nvdisasm (default: native)")
      ->transform(CLI::CheckedTransformer(std::map<std::string, DecoderKind>{
          {"native", DecoderKind::native}, {"nvdisasm", DecoderKind::nvdisasm}}))
      ->type_name("NAME");
  add_numa_options(*command, arguments->analysis);
  command->footer("Example: fathom analyze run --source ~/project && fathom report run.fdb");
  command->callback([arguments, &exit_code] { exit_code = run_analyze(*arguments); });
}

void add_selection(CLI::App& command, ReportOptions& report) {
  command.add_option("--kernel", report.kernel, "Only kernels with NAME in their name")
      ->type_name("NAME");
  command.add_option("--loop", report.loop, "Only the loop at, or around, a line")
      ->type_name("FILE:LINE");
  command.add_option("--line", report.line, "Only a source line and what is inlined there")
      ->type_name("FILE:LINE");
  command.add_flag("--instructions", report.instructions, "List the hottest machine instructions");
}

void add_report(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<ReportArguments>();
  auto* command = app.add_subcommand(
      "report", "Shows where the time goes: kernels, contexts, lines and why they wait");
  command->add_option("file", arguments->file, "A profile database, or a measurement directory")
      ->required()
      ->type_name("FILE");
  add_selection(*command, arguments->report);
  command->add_option("--top", arguments->report.top, "Entries in a list; 0: all (default: 10)")
      ->type_name("N");
  command
      ->add_option("--threshold", arguments->threshold_percent,
                   "Leave out what has less PERCENT (default: 1)")
      ->check(CLI::Range(0.0, 100.0))
      ->type_name("PERCENT");
  command
      ->add_option("--max-depth", arguments->report.max_depth,
                   "Levels of the context tree; 0: all (default)")
      ->type_name("N");
  add_source_option(*command, arguments->analysis);
  command->add_option("--format", arguments->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  add_color_option(*command, arguments->color);
  add_numa_options(*command, arguments->analysis);
  command->footer("Example: fathom report run.fdb --kernel transpose --instructions");
  command->callback([arguments, &exit_code] { exit_code = run_report(*arguments); });
}

void add_advise(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<AdviseArguments>();
  auto* command =
      app.add_subcommand("advise", "Says what to change, why, and how much faster it would get");
  command->add_option("file", arguments->file, "A profile database, or a measurement directory")
      ->required()
      ->type_name("FILE");
  command
      ->add_option("--top", arguments->top, "Findings for each kernel; 0: all (default: 5 as text)")
      ->type_name("N");
  command->add_option("--kernel", arguments->advice.kernel, "Only kernels with NAME in their name")
      ->type_name("NAME");
  command
      ->add_option("--min-speedup", arguments->advice.min_speedup,
                   "Leave out what brings less, e.g. 1.05")
      ->check(CLI::Range(1.0, 1000.0))
      ->type_name("X");
  add_source_option(*command, arguments->analysis);
  command->add_option("--format", arguments->format, "text, json or sarif")
      ->check(CLI::IsMember({"text", "json", "sarif"}))
      ->type_name("FORMAT");
  add_color_option(*command, arguments->color);
  add_numa_options(*command, arguments->analysis);
  command->footer(
      "Example: fathom advise run.fdb --kernel transpose --format sarif > advice.sarif");
  command->callback([arguments, &exit_code] { exit_code = run_advise(*arguments); });
}

void add_launch_options(CLI::App& command, PredictArguments& arguments) {
  command.add_option("--grid", arguments.grid, "Blocks: x, x,y or x,y,z")->type_name("X,Y,Z");
  command.add_option("--block", arguments.block, "Threads of a block: x, x,y or x,y,z")
      ->type_name("X,Y,Z");
  command.add_option("--shared", arguments.shared, "Dynamic shared memory of a block")
      ->type_name("BYTES");
  command
      .add_option("--arg", arguments.arguments,
                  "A scalar argument, by name or by position from 0: n=4096, 2=4096;\na=@64M: "
                  "how large a pointer's buffer is;\na=@64M:f32, a=@4M:u8:0..3: and what it "
                  "holds")
      ->allow_extra_args(false)
      ->type_name("NAME=VALUE");
  command
      .add_option("--trips", arguments.trips,
                  "Rounds of the loop on a line that depends on data; below 1: the share of "
                  "threads that enter a branch")
      ->allow_extra_args(false)
      ->type_name("LINE=N");
  command
      .add_option("--near", arguments.near,
                  "The stretch of memory in which a warp's addresses lie that data say to the "
                  "access on a line (default: the whole buffer)")
      ->allow_extra_args(false)
      ->type_name("LINE=BYTES");
}

void add_predict(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<PredictArguments>();
  auto* command = app.add_subcommand(
      "predict",
      "Says how long a kernel takes and at what power, without running it; of a recording, beside "
      "what was measured");
  command
      ->add_option("file", arguments->file,
                   "PTX, a cubin, a fat binary, CUDA source, or a measurement directory")
      ->required()
      ->type_name("FILE");
  command->add_option("--kernel", arguments->kernel, "Only kernels with NAME in their name")
      ->type_name("NAME");
  command
      ->add_option("--device", arguments->device,
                   "H200 (default; of a recording: its own), H100, A100, V100, or a\nmachine model "
                   "that calibrate "
                   "wrote (.json)")
      ->type_name("NAME");
  add_launch_options(*command, *arguments);
  command->add_option("--model", arguments->model, "sim (default), delay, list or roofline")
      ->check(CLI::IsMember({"sim", "delay", "list", "roofline"}))
      ->type_name("MODEL");
  command
      ->add_option("--sweep", arguments->sweep,
                   "Ranks block sizes with the same number of threads: block=64..1024")
      ->type_name("RANGE");
  command->add_option("--ptxas", arguments->ptxas, "The assembler to use; none: predict from PTX")
      ->type_name("PATH");
  command
      ->add_option("--top", arguments->top,
                   "Of a recording: the launch shapes that take longest; 0: all (default: 50)")
      ->type_name("N");
  command->add_option("--format", arguments->format, "text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->type_name("FORMAT");
  add_color_option(*command, arguments->color);
  command->footer(
      "Examples: fathom predict k.ptx --kernel saxpy --device H200 --grid 4096 --block 256 --arg "
      "n=1048576\n          fathom predict measurement-directory --kernel saxpy");
  command->callback([arguments, command, &exit_code] {
    for (const char* option : {"--grid", "--block", "--shared", "--sweep", "--ptxas"})
      if (command->count(option) > 0) arguments->launch_options.emplace_back(option);
    exit_code = run_predict(*arguments);
  });
}

void add_views(CLI::App& command, InspectArguments& arguments) {
  auto* views = command.add_option_group("What to show");
  views->add_flag("--list", arguments.list, "Only the images, as they stand in the file");
  views->add_flag("--summary", arguments.summary, "One line for each image, and totals");
  views->add_flag("--disassemble", arguments.disassemble,
                  "SASS beside source lines: stall cycles, yield, barriers set and waited for");
  views->add_flag("--cfg", arguments.cfg, "Basic blocks and loops as a graph in the DOT language");
  views
      ->add_option("--extract", arguments.extract,
                   "Writes the images into a folder, unpacked: image_0012.sm_90a.cubin")
      ->type_name("FOLDER");
  views->require_option(0, 1);
}

void add_inspect(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<InspectArguments>();
  auto* command = app.add_subcommand(
      "inspect", "Shows the GPU code in a file: functions, registers, loops, instructions");
  command
      ->add_option("file", arguments->file,
                   "A program, library, object file, archive, fat binary or cubin")
      ->required()
      ->type_name("FILE");
  add_views(*command, *arguments);
  command->add_option("--arch", arguments->arch, "Only images for an architecture, e.g. sm_90a")
      ->type_name("ARCH");
  command
      ->add_option("--function", arguments->function,
                   "Only functions with NAME in their name, mangled or not")
      ->type_name("NAME");
  command->add_flag("--json", arguments->json, "The same for programs");
  std::vector<std::string> names;
  for (const Decoder& decoder : decoders()) names.push_back(decoder.name);
  arguments->decoder = names.front();
  command->add_option("--decoder", arguments->decoder, join(names, " or "))
      ->check(CLI::IsMember(names))
      ->type_name("NAME");
  add_color_option(*command, arguments->color);
  command->footer(
      "Example: fathom inspect libcublas.so --arch sm_90 --function gemv --disassemble");
  command->callback([arguments, &exit_code] { exit_code = run_inspect(*arguments); });
}

void add_calibrate(CLI::App& app, int& exit_code) {
  auto arguments = std::make_shared<CalibrateArguments>();
  auto* command = app.add_subcommand(
      "calibrate", "Measures a GPU's instructions, memory, launches and power: a machine model");
  command->add_option("--device", arguments->device, "Which GPU, as CUDA counts them (default: 0)")
      ->check(CLI::Range(0, 1024))
      ->type_name("N");
  command
      ->add_option("-o,--output", arguments->output,
                   "The machine model (default: the GPU's name, e.g. nvidia_h200.json)")
      ->type_name("FILE");
  command->footer("Example: fathom calibrate -o h200.json");
  command->callback([arguments, &exit_code] { exit_code = run_calibrate(*arguments); });
}

/// In the help only: run_as_compiler() takes them before anything is parsed.
void add_compilers(CLI::App& app) {
  app.add_subcommand(
      "cc", "Compiles C so that `record -e numa` sees its memory accesses: CC=\"fathom cc\"");
  app.add_subcommand("c++", "The same for C++: CXX=\"fathom c++\"");
  app.add_subcommand("fc", "The same for Fortran: FC=\"fathom fc\"");
}

void add_doctor(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "doctor", "Tells what works on this machine, what the rest costs, and what to do about it");
  command->callback([&exit_code] { exit_code = run_doctor(); });
}

void describe_program(CLI::App& app) {
  app.description(
      "Fathom finds out where a program on CPUs and GPUs loses its time, and what to change.");
  app.set_version_flag("--version", "fathom " FATHOM_VERSION, "Print the version");
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  fathom record -e gpu=cuda,pc -o run -- ./app args   measure a program\n"
      "  fathom analyze run                                  make the profile run.fdb of it\n"
      "  fathom report run.fdb                               where the time goes\n"
      "  fathom advise run.fdb                               what to change, and what it would "
      "bring\n"
      "  fathom predict k.ptx --grid 4096 --block 256        how long a kernel would take\n"
      "  fathom inspect libfoo.so --disassemble              the GPU code in a file\n"
      "  fathom doctor                                       what works on this machine\n\n"
      "`fathom COMMAND --help` tells more. report and advise take a measurement directory too.\n"
      "Exit codes: 0 done, 1 cannot answer, 2 wrong usage, 3 bad input.");
}

/// CLI11's message in one line, in our way: "fathom: ...; see fathom report --help".
std::string usage_line(const CLI::App& app, const CLI::ParseError& error, const char* first) {
  std::string what = error.what();
  std::replace(what.begin(), what.end(), '\n', ' ');
  what = trim(what);
  while (ends_with(what, ".")) what.pop_back();
  if (*first != '-' && app.get_subcommands().empty())
    what = *first ? "there is no command \"" + std::string(first) + "\"" : "a command is missing";
  std::string command = app.get_name();
  for (const CLI::App* at = &app; !at->get_subcommands().empty();) {
    at = at->get_subcommands().back();
    command += " " + at->get_name();
  }
  return "fathom: " + printable(what) + "; see " + command + " --help";
}

}  // namespace

int run_command_line(int argc, char** argv) {
  CLI::App app("", "fathom");
  describe_program(app);
  int exit_code = 0;
  for (const auto add :
       {add_record, add_analyze, add_report, add_advise, add_predict, add_inspect, add_calibrate})
    add(app, exit_code);
  add_compilers(app);
  add_doctor(app, exit_code);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    std::fprintf(stderr, "%s\n", usage_line(app, error, argc > 1 ? argv[1] : "").c_str());
    return static_cast<int>(ErrorKind::usage);
  }
  return exit_code;
}

}  // namespace fathom
