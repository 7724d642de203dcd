// One record file: its chunks, and its records as each kind of file. Random bytes hardly ever hold
// a right checksum, so the records are also decoded from chunks that are made around the input.

#include <algorithm>
#include <string>

#include "measurement/chunks.h"
#include "measurement/disassembly_store.h"
#include "measurement/process_reader.h"
#include "measurement/run_reader.h"

namespace {

using fathom::Bytes;

void read_as_each_kind_of_file(Bytes bytes) {
  std::vector<fathom::Warning> warnings;
  fathom::ProcessReader reader("host-1-2");
  reader.add_file("process.fathom", bytes);
  reader.add_file("gpu.fathom", bytes);
  fathom::Process process = reader.finish(warnings);
  for (const auto& [correlation, site] : process.calls)
    FATHOM_INVARIANT(site.call_path == fathom::kNoId || site.call_path < process.call_paths.size());
  for (uint32_t i = 0; i < process.call_paths.size(); ++i) {
    const fathom::CpuFrame& frame = process.call_paths[i];
    FATHOM_INVARIANT(frame.parent == fathom::kNoId || frame.parent < i);
    FATHOM_INVARIANT(frame.module == fathom::kNoId || frame.module < process.modules.size());
  }
  for (const fathom::PcSampleRecord& sample : process.samples) {
    FATHOM_INVARIANT(sample.function < process.names.size());
    FATHOM_INVARIANT(process.stall_reasons.count(sample.stall_reason) == 1);
  }
  fathom::Measurement measurement;
  fathom::read_run("run.fathom", bytes, measurement);
  fathom::read_disassembly("a.fathom", std::string(64, '0'), bytes, warnings);
}

/// The input as chunks with right headers: each begins with one byte for the type and two for the
/// size.
std::string with_checksums(Bytes input) {
  std::string file;
  fathom::ByteReader reader(input);
  while (reader.remaining() >= 3) {
    auto type = fathom::record::ChunkType(reader.u8() % 32);
    size_t size = std::min<size_t>(reader.u16(), reader.remaining());
    file += fathom::encode_chunk(type, fathom::as_text(reader.take(size)));
  }
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  read_as_each_kind_of_file({data, size});
  std::string file = with_checksums({data, size});
  read_as_each_kind_of_file({reinterpret_cast<const uint8_t*>(file.data()), file.size()});
  return 0;
}
