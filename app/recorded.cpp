#include "app/recorded.h"

#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/files.h"
#include "base/text.h"
#include "binary/cpu_symbols.h"
#include "binary/data_symbols.h"
#include "record/crc32c.h"

namespace fathom {
namespace {

using record::ChunkType;

constexpr char kNumaFile[] = "numa.fathom";

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

struct Module {
  std::string path;
  record::LoadModule at;
};

std::map<uint32_t, Module> modules_of(const std::string& folder) {
  std::map<uint32_t, Module> out;
  for_each_chunk(folder + "/process.fathom", [&](ChunkType type, Bytes payload) {
    if (type != ChunkType::load_module) return;
    ByteReader in(payload);
    while (!in.at_end() && !in.failed()) {
      const auto module = in.read<record::LoadModule>();
      const auto path = as_text(in.take(in.u32()));
      in.take(in.u32());  // the build id
      if (!in.failed()) out[module.id] = {std::string(path), module};
    }
  });
  return out;
}

using Addresses = std::map<std::string, std::set<uint64_t>>;  ///< by module path

template <class Record, class Use>
void for_each_record(Bytes payload, Use use) {
  ByteReader in(payload);
  while (in.remaining() >= sizeof(Record)) use(in.read<Record>());
}

void gather_addresses(const std::string& folder, Addresses& out) {
  const auto modules = modules_of(folder);
  const auto names = list_directory(folder);
  if (!names) return;
  const auto add = [&](uint32_t module, uint64_t address) {
    if (const auto at = modules.find(module); at != modules.end())
      out[at->second.path].insert(address);
  };
  for (const auto& name : *names) {
    if (!starts_with(name, "thread-") && name != kNumaFile) continue;
    for_each_chunk(folder + "/" + name, [&](ChunkType type, Bytes payload) {
      if (type == ChunkType::call_path_node)
        for_each_record<record::CallPathNode>(
            payload, [&](const auto& node) { add(node.module, node.address); });
      if (type == ChunkType::numa_thread)
        for_each_record<record::NumaThread>(
            payload, [&](const auto& thread) { add(thread.start_module, thread.start_address); });
      if (type == ChunkType::numa_place)
        for_each_record<record::NumaPlace>(
            payload, [&](const auto& place) { add(place.module, place.address); });
    });
  }
}

constexpr uint64_t kPage = 4096;

/// The pages of each module's file in which accesses were recorded, by its path.
void gather_pages(const std::string& folder, Addresses& out) {
  std::map<uint64_t, const Module*> by_start;
  const auto modules = modules_of(folder);
  for (const auto& [id, module] : modules) by_start[module.at.start] = &module;
  const auto add = [&](uint64_t address) {
    const auto after = by_start.upper_bound(address);
    if (after == by_start.begin()) return;
    const Module& module = *std::prev(after)->second;
    if (address < module.at.end) out[module.path].insert((address - module.at.bias) / kPage);
  };
  for_each_chunk(folder + "/" + kNumaFile, [&](ChunkType type, Bytes payload) {
    if (type == ChunkType::numa_page)
      for_each_record<record::NumaPage>(payload, [&](const auto& page) { add(page.address); });
    if (type == ChunkType::numa_line)
      for_each_record<record::NumaLine>(payload, [&](const auto& line) { add(line.address); });
  });
}

/// What the last snapshot of a process holds.
void count_numa(const std::string& folder, Recorded& out) {
  Recorded open, last;
  for_each_chunk(folder + "/" + kNumaFile, [&](ChunkType type, Bytes payload) {
    if (type == ChunkType::numa_module)
      open.numa_modules += payload.size() / sizeof(record::NumaModule);
    if (type == ChunkType::numa_thread)
      open.numa_threads += payload.size() / sizeof(record::NumaThread);
    if (type == ChunkType::numa_object)
      open.numa_objects += payload.size() / sizeof(record::NumaObject);
    if (type != ChunkType::numa_snapshot) return;
    last = std::exchange(open, {});
    last.numa_snapshots = 1;
  });
  out.numa_snapshots += last.numa_snapshots;
  out.numa_modules += last.numa_modules;
  out.numa_threads += last.numa_threads;
  out.numa_objects += last.numa_objects;
}

}  // namespace

Recorded count_recorded(const std::string& directory) {
  Recorded out;
  for (const auto& folder : process_folders(directory)) {
    ++out.processes;
    const bool has_numa = is_regular_file(folder + "/" + kNumaFile);
    if (!has_numa || is_regular_file(folder + "/gpu.fathom")) ++out.gpu_processes;
    if (has_numa) {
      ++out.numa_processes;
      count_numa(folder, out);
    }
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
  std::set<std::pair<std::string, std::string>> told;
  for (const auto& folder : process_folders(directory)) gather_addresses(folder, wanted);
  for (const auto& [path, addresses] : wanted) {
    const std::vector<uint64_t> list(addresses.begin(), addresses.end());
    const auto symbols = resolve_cpu_addresses(path, list);
    for (size_t i = 0; i < list.size(); ++i)
      for (uint32_t depth = 0; depth < symbols[i].size(); ++depth) {
        const auto& level = symbols[i][depth];
        out.add_text(ChunkType::symbol, record::Symbol{list[i], depth, level.line},
                     {path, level.function, level.file});
        if (level.returned == Returned::other || !told.emplace(path, level.function).second)
          continue;
        const bool to_void = level.returned == Returned::pointer_to_void;
        out.add_text(ChunkType::pointer_function, record::PointerFunction{to_void, 0},
                     {path, level.function});
      }
  }
}

void write_variables(const std::string& directory, record::ChunkWriter& out) {
  Addresses pages;
  for (const auto& folder : process_folders(directory)) gather_pages(folder, pages);
  for (const auto& [path, wanted] : pages)
    for (const DataSymbol& symbol : read_data_symbols(path)) {
      const auto page = wanted.lower_bound(symbol.address / kPage);
      if (page == wanted.end() || *page > (symbol.address + symbol.size - 1) / kPage) continue;
      out.add_text(
          ChunkType::data_symbol,
          record::DataSymbol{symbol.address, symbol.size, symbol.line, symbol.element_size},
          {path, symbol.name, symbol.file, symbol.type});
    }
}

}  // namespace fathom
