// The text of nvdisasm, for a cubin with one function over a small section.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "binary/decoder.h"
#include "binary/sass_semantics.h"
#include "binary/sass_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  std::string_view all(reinterpret_cast<const char*>(data), size);
  SassText text{std::string(all)};
  for (std::string_view name : text.section_names()) {
    const SassSection* section = text.section(name);
    FATHOM_INVARIANT(section != nullptr);
    for (const SassLine& line : section->lines) read_sass(line.text);
  }
  read_sass(all);
  return 0;
}
