#include "numa/options.h"

#include <cstdlib>

namespace fathom::numa {
namespace {

void read_number(const char* name, unsigned long max, uint32_t& out) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text < '0' || *text > '9') return;
  char* end = nullptr;
  const unsigned long value = std::strtoul(text, &end, 10);
  if (*end == 0 && value <= max) out = static_cast<uint32_t>(value);
}

}  // namespace

Options read_options() {
  Options out;
  const char* enabled = std::getenv("FATHOM_NUMA");
  const char* output = std::getenv("FATHOM_OUTPUT");
  out.enabled = enabled != nullptr && std::string(enabled) == "1" && output != nullptr;
  if (!out.enabled) return out;
  out.output = output;
  read_number("FATHOM_NUMA_SAMPLING", 16, out.sampling);
  read_number("FATHOM_NUMA_PAGE_THRESHOLD", 0xffffffff, out.page_threshold);
  read_number("FATHOM_NUMA_LINE_THRESHOLD", 0xffffffff, out.line_threshold);
  return out;
}

Options& options() {
  static auto* const options = new Options;
  return *options;
}

}  // namespace fathom::numa
