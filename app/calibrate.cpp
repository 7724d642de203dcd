#include "app/calibrate.h"

#include <cctype>
#include <ctime>

#include "app/terminal.h"
#include "base/files.h"
#include "base/text.h"
#include "calibration/calibration.h"

namespace fathom {
namespace {

/// "NVIDIA H200" -> "nvidia_h200.json", as the machine models of the program are called.
std::string file_name(const std::string& device) {
  std::string name;
  for (unsigned char c : device) name += std::isalnum(c) ? static_cast<char>(std::tolower(c)) : '_';
  return name + ".json";
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  char text[16] = "";
  std::strftime(text, sizeof(text), "%Y-%m-%d", std::gmtime(&now));
  return text;
}

}  // namespace

int run_calibrate(const CalibrateArguments& arguments) {
  Result<CudaDriver> driver = CudaDriver::open(arguments.device);
  if (!driver) return fail(driver.error());
  Progress progress;
  Result<Figures> figures = calibrate(
      driver.value(), [&](const std::string& what) { progress.show("measuring " + what); });
  if (!figures) return fail(figures.error());
  const MachineModel& base = *machine_for(driver->name(), driver->compute()).model;
  const std::string json =
      machine_json(base, driver->name(),
                   static_cast<uint32_t>(driver->attribute(DeviceAttribute::multiprocessors)),
                   static_cast<uint64_t>(driver->attribute(DeviceAttribute::l2_bytes)),
                   figures.value(), today());
  const std::string file = arguments.output.empty() ? file_name(driver->name()) : arguments.output;
  if (Result<Done> done = write_file(file, json); !done) return fail(done.error());
  if (Result<MachineModel> read = parse_machine(json, file); !read) return fail(read.error());
  const int printed = print(calibration_summary(driver->name(), figures.value()) +
                            "The machine model is in " + file + ".\n");
  return printed != 0 ? printed : figures->failures.empty() ? 0 : 1;
}

}  // namespace fathom
