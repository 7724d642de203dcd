#include "app/recorded.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/text.h"
#include "binary/cpu_symbols.h"
#include "record/crc32c.h"

namespace fathom {
namespace {

using record::ChunkType;

/// Visits the whole chunks of a file.
void for_each_chunk(const std::string& path, const std::function<void(ChunkType, Bytes)>& visit) {
  const auto content = read_file(path);
  if (!content) return;
  ByteReader in(*content);
  for (;;) {
    const auto header = in.read<record::ChunkHeader>();
    if (in.failed() || header.magic != record::kChunkMagic || header.size > in.remaining()) return;
    const Bytes payload = in.take(header.size);
    if (header.crc32c == record::chunk_checksum(header, payload.data()))
      visit(static_cast<ChunkType>(header.type), payload);
  }
}

std::vector<std::string> process_folders(const std::string& directory) {
  std::vector<std::string> out;
  if (const auto names = list_directory(directory))
    for (const auto& name : *names)
      if (const auto path = directory + "/" + name; is_regular_file(path + "/process.fathom"))
        out.push_back(path);
  return out;
}

std::map<uint32_t, std::string> module_paths(const std::string& folder) {
  std::map<uint32_t, std::string> out;
  for_each_chunk(folder + "/process.fathom", [&](ChunkType type, Bytes payload) {
    if (type != ChunkType::load_module) return;
    ByteReader in(payload);
    while (!in.at_end() && !in.failed()) {
      const auto module = in.read<record::LoadModule>();
      const auto path = as_text(in.take(in.u32()));
      in.take(in.u32());  // the build id
      if (!in.failed()) out[module.id] = std::string(path);
    }
  });
  return out;
}

using Addresses = std::map<std::string, std::set<uint64_t>>;  ///< by module path

void gather_addresses(const std::string& folder, Addresses& out) {
  const auto modules = module_paths(folder);
  const auto names = list_directory(folder);
  if (!names) return;
  for (const auto& name : *names) {
    if (!starts_with(name, "thread-")) continue;
    for_each_chunk(folder + "/" + name, [&](ChunkType type, Bytes payload) {
      if (type != ChunkType::call_path_node) return;
      ByteReader in(payload);
      while (in.remaining() >= sizeof(record::CallPathNode)) {
        const auto node = in.read<record::CallPathNode>();
        if (const auto at = modules.find(node.module); at != modules.end())
          out[at->second].insert(node.address);
      }
    });
  }
}

}  // namespace

Recorded count_recorded(const std::string& directory) {
  Recorded out;
  for (const auto& folder : process_folders(directory)) {
    ++out.processes;
    for_each_chunk(folder + "/gpu.fathom", [&](ChunkType type, Bytes payload) {
      if (type == ChunkType::kernel) out.kernels += payload.size() / sizeof(record::Kernel);
      if (type == ChunkType::copy) out.copies += payload.size() / sizeof(record::Copy);
      if (type != ChunkType::pc_sample) return;
      ByteReader in(payload);
      while (in.remaining() >= sizeof(record::PcSample))
        out.samples += in.read<record::PcSample>().samples;
    });
    for_each_chunk(folder + "/process.fathom", [&](ChunkType type, Bytes) {
      if (type == ChunkType::message) ++out.messages;
    });
  }
  if (const auto names = list_directory(directory + "/gpubins"))
    for (const auto& name : *names) out.binaries += ends_with(name, ".cubin") ? 1 : 0;
  return out;
}

void write_symbols(const std::string& directory, record::ChunkWriter& out) {
  Addresses wanted;
  for (const auto& folder : process_folders(directory)) gather_addresses(folder, wanted);
  for (const auto& [path, addresses] : wanted) {
    const std::vector<uint64_t> list(addresses.begin(), addresses.end());
    const auto symbols = resolve_cpu_addresses(path, list);
    for (size_t i = 0; i < list.size(); ++i)
      for (uint32_t depth = 0; depth < symbols[i].size(); ++depth) {
        const auto& level = symbols[i][depth];
        out.add_text(ChunkType::symbol, record::Symbol{list[i], depth, level.line},
                     {path, level.function, level.file});
      }
  }
}

}  // namespace fathom
