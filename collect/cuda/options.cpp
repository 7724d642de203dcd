#include "cuda/options.h"

#include <cstdlib>

namespace fathom::collect::cuda {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

Options read_options() {
  Options options;
  options.output = variable("FATHOM_OUTPUT");
  const std::string mode = variable("FATHOM_CUDA_PC");
  options.sampling = mode == "continuous" || mode == "serialized";
  if (mode == "serialized") options.mode = record::SamplingMode::serialized;
  const long period = std::strtol(variable("FATHOM_CUDA_PERIOD").c_str(), nullptr, 10);
  if (period >= 5 && period <= 31) options.period_log2 = static_cast<uint32_t>(period);
  options.debug = variable("FATHOM_DEBUG") == "1";
  return options;
}

}  // namespace fathom::collect::cuda
