// Words of machine code, of the architecture that the first byte chooses.

#include <cstdint>
#include <cstring>
#include <map>
#include <memory>

#include "binary/native_decoder.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fathom;
  static constexpr unsigned kArchitectures[] = {70, 75, 80, 86, 89, 90, 100, 103, 120};
  if (size == 0) return 0;
  const unsigned compute = kArchitectures[data[0] % std::size(kArchitectures)];
  static std::map<unsigned, std::unique_ptr<NativeDecoder>> decoders;
  std::unique_ptr<NativeDecoder>& made = decoders[compute];
  if (!made) {
    const SassTable* table = native_table(compute);
    FATHOM_INVARIANT(table != nullptr);
    made = std::make_unique<NativeDecoder>(*table);
  }
  NativeDecoder& decoder = *made;
  for (size_t at = 1; at + 16 <= size; at += 16) {
    SassWord word;
    std::memcpy(&word.low, data + at, 8);
    std::memcpy(&word.high, data + at + 8, 8);
    Instruction out;
    const SassShape& shape = decoder.shape(word);
    decoder.fill(shape, word, out);
    out.text = decoder.text(shape, word, "0x0");
    FATHOM_INVARIANT(out.known || (out.defs.empty() && out.uses.empty()));
    FATHOM_INVARIANT(!out.opcode.empty() && !out.text.empty());
  }
  return 0;
}
